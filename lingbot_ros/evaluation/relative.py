# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Relative pose errors over frames, metres or seconds, and KITTI's drift over segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math
import re

from lingbot_ros.checks import require
from lingbot_ros.errors import ConfigError
from lingbot_ros.evaluation.engine import Pairs, pairs_apart, relative_errors
import numpy as np
from numpy.typing import NDArray

# Pairs in metres and seconds may be longer or shorter by this part; evo's default.
TOLERANCE = 0.1
KITTI_LENGTHS = (100.0, 200.0, 300.0, 400.0, 500.0, 600.0, 700.0, 800.0)
KITTI_STEP = 10

_UNITS = {'f': 'frames', 'm': 'metres', 's': 'seconds'}


@dataclass(frozen=True)
class Delta:
    """
    How far the two poses of a pair are apart.

    Attributes
    ----------
    value : float
        Above 0; a whole number of frames.
    unit : str
        'frames', 'metres' (along the path) or 'seconds'.

    """

    value: float
    unit: str

    def __post_init__(self) -> None:
        """Check both fields."""
        require(self.unit in _UNITS.values(),
                f'unit must be one of {", ".join(_UNITS.values())}, got {self.unit!r}')
        require(0 < self.value < math.inf, f'delta must be above 0, got {self.value!r}')
        require(self.unit != 'frames' or self.value == int(self.value),
                f'a delta in frames must be a whole number, got {self.value!r}')

    @classmethod
    def parse(cls, text: str) -> Delta:
        """Read '8f', '10m' or '0.5s'."""
        match = re.fullmatch(r'\s*([0-9.eE+-]+)\s*([fms])\s*', text)
        try:
            if match is None:
                raise ValueError
            return cls(float(match[1]), _UNITS[match[2]])
        except ValueError as error:
            raise ConfigError('expected a number above 0 with f (whole frames), m (metres) or s '
                              f'(seconds), like 8f, 10m or 0.5s, got {text!r}') from error

    def __str__(self) -> str:
        """Return what `parse` reads."""
        return f'{self.value:g} {self.unit[0]}'


def find_pairs(poses: NDArray[np.float64], delta: Delta, all_pairs: bool,
               seconds: NDArray[np.float64] | None) -> Pairs:
    """
    Return index pairs that lie `delta` apart.

    Parameters
    ----------
    poses : ndarray of float64, shape [N, 4, 4]
        The path along which metres count.
    delta : Delta
        How far.
    all_pairs : bool
        From every pose, to the pose nearest to the delta if it is within `TOLERANCE`; else from
        where the last pair ended, to the first pose at least the delta away.
    seconds : ndarray of float64, shape [N], or None
        Stamps; without them no pairs lie seconds apart.

    """
    if delta.unit != 'seconds':
        return pairs_apart(poses, delta.value, delta.unit, all_pairs, TOLERANCE)
    if seconds is None:
        return []
    if all_pairs:
        targets = seconds + delta.value
        after = np.clip(np.searchsorted(seconds, targets), 1, len(seconds) - 1)
        ends = np.where(targets - seconds[after - 1] < seconds[after] - targets, after - 1, after)
        close = np.abs(seconds[ends] - targets) <= TOLERANCE * delta.value
        return [(int(i), int(ends[i])) for i in np.flatnonzero(close) if ends[i] > i]
    pairs: Pairs = []
    start = 0
    while True:
        # A nanosecond of play: stamps that are meant to be a delta apart are rounded.
        end = int(np.searchsorted(seconds, seconds[start] + delta.value - 1e-9))
        if end >= len(seconds):
            return pairs
        pairs.append((start, max(end, start + 1)))
        start = pairs[-1][1]


def segment_drift(estimate: NDArray[np.float64], truth: NDArray[np.float64],
                  lengths: Sequence[float] = KITTI_LENGTHS, step: int = KITTI_STEP,
                  numbers: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
    """
    Return the drift over segments of given lengths, as the KITTI odometry benchmark defines it.

    Segments begin at every `step`-th frame and end with the first frame that is further along
    the truth than the length. evo has no such metric; its errors of the segments are used.

    Parameters
    ----------
    estimate, truth : ndarray of float64, shape [N, 4, 4]
        Corresponding poses; the estimate has the truth's scale.
    lengths : sequence of float
        Path lengths of segments, truth's unit.
    step : int
        Frames between the beginnings of segments.
    numbers : ndarray of int64, shape [N], or None
        Frame numbers, of which every step-th begins segments; counted from 0 by default.

    Returns
    -------
    ndarray of float64, shape [S, 3]
        One row a segment: length, translation error in percent of it, rotation error in degrees
        per 100 units of length. Empty where the path is too short.

    """
    steps = np.linalg.norm(np.diff(truth[:, :3, 3], axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    frames = np.arange(len(truth)) if numbers is None else numbers
    pairs: Pairs = []
    sizes: list[float] = []
    for start in np.flatnonzero(frames % step == 0):
        for length in lengths:
            end = int(np.searchsorted(along, along[start] + length, side='right'))
            if end < len(along):
                pairs.append((int(start), end))
                sizes.append(length)
    if not pairs:
        return np.empty((0, 3))
    translation, rotation = relative_errors(estimate, truth, pairs)
    size = np.array(sizes)
    return np.stack([size, 100 * translation / size, 100 * rotation / size], axis=1)
