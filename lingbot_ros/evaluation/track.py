# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A trajectory as metrics want it: checked poses, and what tells which pose belongs to which."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from lingbot_ros.errors import EvaluationError
from lingbot_ros.evaluation.poses import checked_poses
import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class Track:
    """
    Poses with stamps or frame numbers; made by `make_track`.

    Attributes
    ----------
    name : str
        For messages: a file, or 'estimate'.
    poses : ndarray of float64, shape [N, 4, 4]
        `T_world_camera` (or of any body, the same in both tracks that are compared).
    stamps_ns : ndarray of int64, shape [N], or None
        Nanoseconds, ascending.
    numbers : ndarray of int64, shape [N], or None
        Frame numbers, ascending; of files without stamps.
    repeated : int
        Poses left out because their stamp or number had come already.
    by_row : bool
        Whether the numbers only count the rows of a file, so that a missing row shifts them.

    """

    name: str
    poses: NDArray[np.float64]
    stamps_ns: NDArray[np.int64] | None = None
    numbers: NDArray[np.int64] | None = None
    repeated: int = 0
    by_row: bool = False

    def __len__(self) -> int:
        """Return the number of poses."""
        return len(self.poses)

    def take(self, indices: ArrayLike) -> Track:
        """Return the poses with these indices."""
        chosen = np.asarray(indices, np.int64)
        return replace(
            self, poses=self.poses[chosen],
            stamps_ns=None if self.stamps_ns is None else self.stamps_ns[chosen],
            numbers=None if self.numbers is None else self.numbers[chosen])

    def stamped(self, stamps_ns: ArrayLike) -> Track:
        """
        Return the same poses with stamps, nanoseconds, one a frame number (counted from 0).

        Raises
        ------
        EvaluationError
            Fewer stamps than frames, or stamps that descend.

        """
        stamps = np.asarray(stamps_ns, np.int64)
        if self.numbers is None:
            raise EvaluationError(f'{self.name} has stamps of its own')
        if len(stamps) <= self.numbers[-1]:
            raise EvaluationError(f'{self.name}: expected a stamp for each of '
                                  f'{self.numbers[-1] + 1} frames, got {len(stamps)}')
        return make_track(self.name, self.poses, stamps[self.numbers])


def make_track(name: str, poses: ArrayLike, stamps_ns: ArrayLike | None = None,
               numbers: ArrayLike | None = None) -> Track:
    """
    Check poses and their order.

    Parameters
    ----------
    name : str
        For messages.
    poses : array_like, shape [N, 4, 4]
        Rigid transforms.
    stamps_ns, numbers : array_like of int, shape [N]
        One of both. Repeated ones keep their first pose: official truths repeat stamps.

    Raises
    ------
    EvaluationError
        Poses that are none, not finite or not rigid; stamps or numbers that descend.

    """
    checked = checked_poses(poses, name)
    what = 'stamps' if numbers is None else 'frame numbers'
    keys = np.asarray(stamps_ns if numbers is None else numbers, np.int64)
    if keys.shape != (len(checked),):
        raise EvaluationError(f'{name}: expected {len(checked)} {what}, got shape {keys.shape}')
    steps = np.diff(keys)
    if (steps < 0).any():
        at = int(np.flatnonzero(steps < 0)[0]) + 1
        got, before = (_shown(int(key), numbers is None) for key in (keys[at], keys[at - 1]))
        raise EvaluationError(f'{name}: expected ascending {what}, got {got} after {before} '
                              f'(pose {at}, counted from 0); sort the file')
    first = np.concatenate([[True], steps > 0])
    return Track(name, checked[first], keys[first] if numbers is None else None,
                 None if numbers is None else keys[first], int((~first).sum()))


def _shown(key: int, stamp: bool) -> str:
    # Files have seconds or nanoseconds; one of both can be searched for.
    return f'{Decimal(key).scaleb(-9):f} s ({key} ns)' if stamp else str(key)
