# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which true pose belongs to which estimated one: by stamp, or by frame number."""

from __future__ import annotations

from dataclasses import dataclass

from lingbot_ros.errors import EvaluationError
from lingbot_ros.evaluation.engine import interpolated, match_stamps
from lingbot_ros.evaluation.track import Track
import numpy as np
from numpy.typing import NDArray

# evo's default as well.
MAX_DIFFERENCE_S = 0.01


@dataclass(frozen=True, eq=False)
class Matched:
    """
    Corresponding poses of two tracks.

    Attributes
    ----------
    estimate, truth : ndarray of float64, shape [N, 4, 4]
        Poses, N >= 2.
    seconds : ndarray of float64, shape [N], or None
        Stamps of the truth after the first one; None where frame numbers matched.
    numbers : ndarray of int64, shape [N], or None
        Frame numbers; None where stamps matched.
    estimates, truths : int
        Poses there were on either side.
    repeated : int
        Poses of either side that were left out because their stamp had come already.
    largest_difference_s : float
        Between two stamps of a pair.

    """

    estimate: NDArray[np.float64]
    truth: NDArray[np.float64]
    seconds: NDArray[np.float64] | None
    numbers: NDArray[np.int64] | None
    estimates: int
    truths: int
    repeated: int
    largest_difference_s: float = 0.0


def associate(estimate: Track, truth: Track, max_difference_s: float = MAX_DIFFERENCE_S,
              offset_s: float = 0.0, interpolate: bool = False) -> Matched:
    """
    Match the poses of two tracks.

    As in evo, each pose of the shorter track gets the nearest of the longer one.

    Parameters
    ----------
    estimate, truth : Track
        Both with stamps, or both with frame numbers.
    max_difference_s : float
        Largest difference of the stamps of a pair, seconds.
    offset_s : float
        Added to the stamps of the estimate, seconds.
    interpolate : bool
        Interpolate the longer track between its poses (linear, slerp) at the stamp of the
        shorter one, instead of taking the nearest.

    Returns
    -------
    Matched
        At least two pairs.

    Raises
    ------
    EvaluationError
        One track has stamps and the other numbers, or fewer than two poses match; says how far
        the stamps are apart.

    """
    if estimate.numbers is not None and truth.numbers is not None:
        return _by_number(estimate, truth)
    if estimate.stamps_ns is None or truth.stamps_ns is None:
        bare = estimate.name if estimate.stamps_ns is None else truth.name
        raise EvaluationError(f'{bare} is a KITTI file, which holds no stamps, and the other one '
                              'has stamps; give the stamps of its frames with --times, or both '
                              'in KITTI format')
    return _by_stamp(estimate, truth, max_difference_s, offset_s, interpolate)


def _by_number(estimate: Track, truth: Track) -> Matched:
    assert estimate.numbers is not None and truth.numbers is not None
    if estimate.by_row and len(estimate) != truth.numbers[-1] + 1:
        raise EvaluationError(
            f'expected as many poses in both KITTI files, got {len(estimate)} in {estimate.name} '
            f'and {truth.numbers[-1] + 1} in {truth.name}; put the frame number before the '
            'twelve numbers of each line of the estimate if frames are missing there')
    numbers, ours, theirs = np.intersect1d(estimate.numbers, truth.numbers, return_indices=True)
    if len(numbers) < 2:
        raise EvaluationError(
            f'expected frame numbers that both files have, got {estimate.numbers[0]} to '
            f'{estimate.numbers[-1]} in {estimate.name} and {truth.numbers[0]} to '
            f'{truth.numbers[-1]} in {truth.name}')
    return Matched(estimate.poses[ours], truth.poses[theirs], None, numbers, len(estimate),
                   len(truth), estimate.repeated + truth.repeated)


def _by_stamp(estimate: Track, truth: Track, max_difference_s: float, offset_s: float,
              interpolate: bool) -> Matched:
    assert estimate.stamps_ns is not None and truth.stamps_ns is not None
    # Small numbers, so that seconds as doubles keep their nanoseconds.
    base = truth.stamps_ns[0]
    ours = (estimate.stamps_ns - base) / 1e9 + offset_s
    theirs = (truth.stamps_ns - base) / 1e9
    estimate_longer = len(ours) > len(theirs)
    short, long = (theirs, ours) if estimate_longer else (ours, theirs)
    at_short, at_long = match_stamps(short, long, max_difference_s)
    if len(at_short) < 2:
        raise EvaluationError(_no_match(estimate, truth, short, long, len(at_short),
                                        max_difference_s, offset_s))
    short_track, long_track = (truth, estimate) if estimate_longer else (estimate, truth)
    short_poses, long_poses = short_track.poses[at_short], long_track.poses[at_long]
    if interpolate:
        long_poses = interpolated(long, long_track.poses, short[at_short])
    at_truth = at_short if estimate_longer else at_long
    seconds = short[at_short] if estimate_longer or interpolate else theirs[at_truth]
    return Matched(
        long_poses if estimate_longer else short_poses,
        short_poses if estimate_longer else long_poses, seconds - seconds[0], None,
        len(estimate), len(truth), estimate.repeated + truth.repeated,
        float(np.abs(short[at_short] - long[at_long]).max()))


def _no_match(estimate: Track, truth: Track, short: NDArray[np.float64],
              long: NDArray[np.float64], found: int, max_difference_s: float,
              offset_s: float) -> str:
    assert estimate.stamps_ns is not None and truth.stamps_ns is not None
    after = np.clip(np.searchsorted(long, short), 1, max(len(long) - 1, 1))
    nearest = np.minimum(np.abs(long[np.minimum(after, len(long) - 1)] - short),
                         np.abs(long[after - 1] - short)).min()
    ranges = [f'{track.stamps_ns[0] / 1e9:.6f} to {track.stamps_ns[-1] / 1e9:.6f} s in '
              f'{track.name}' for track in (estimate, truth) if track.stamps_ns is not None]
    start = (truth.stamps_ns[0] - estimate.stamps_ns[0]) / 1e9
    return (f'expected at least 2 stamps that lie within {max_difference_s:g} s of each other, '
            f'got {found}: {ranges[0]}, {ranges[1]}, offset {offset_s:g} s; the nearest two are '
            f'{nearest:.6f} s apart. Raise --max-difference, or shift the estimate with --offset '
            f'({start:.6f} lets both begin together)')
