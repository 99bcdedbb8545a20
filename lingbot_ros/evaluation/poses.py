# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Checks that all metrics share: what came in are finite rigid poses, as many here as there."""

from __future__ import annotations

from lingbot_ros.errors import EvaluationError
import numpy as np
from numpy.typing import ArrayLike, NDArray

# Files hold six digits or more; a rotation further off than this is not one.
_ORTHOGONAL = 1e-3

#: Positions beyond this are none in any unit, and their squares leave no digits for the rest.
LARGEST_POSITION = 1e12


def checked_poses(poses: ArrayLike, what: str) -> NDArray[np.float64]:
    """
    Return poses with exact rotations, or refuse them.

    Parameters
    ----------
    poses : array_like, shape [N, 4, 4]
        Rigid transforms; rotations rounded in a file or computed in float32 are made orthogonal.
    what : str
        Whose poses they are, for the message.

    Returns
    -------
    ndarray of float64, shape [N, 4, 4]
        A copy.

    Raises
    ------
    EvaluationError
        A wrong shape, no poses, numbers that are not finite, positions beyond
        `LARGEST_POSITION`, or rotations that are none.

    """
    array = np.array(poses, np.float64)
    if array.ndim != 3 or array.shape[1:] != (4, 4):
        raise EvaluationError(f'{what}: expected poses [N, 4, 4], got shape {array.shape}')
    if not len(array):
        raise EvaluationError(f'{what}: expected poses, got none')
    broken = np.flatnonzero(~np.isfinite(array).all(axis=(1, 2)))
    if len(broken):
        raise EvaluationError(f'{what}: {len(broken)} of {len(array)} poses are not finite (NaN '
                              f'or infinity), first number {broken[0]}; remove these')
    broken = np.flatnonzero((np.abs(array[:, :3, 3]) > LARGEST_POSITION).any(axis=1))
    if len(broken):
        raise EvaluationError(f'{what}: {len(broken)} of {len(array)} positions are beyond '
                              f'{LARGEST_POSITION:g}, first number {broken[0]}; remove these')
    u, _, vt = np.linalg.svd(array[:, :3, :3])
    nearest = u @ vt
    error = np.abs(nearest - array[:, :3, :3]).max(axis=(1, 2))
    broken = np.flatnonzero((error > _ORTHOGONAL) | (np.linalg.det(nearest) < 0))
    if len(broken):
        raise EvaluationError(f'{what}: {len(broken)} of {len(array)} poses hold no rotation, '
                              f'first number {broken[0]}; expected orthogonal matrices of '
                              'determinant 1 (is this another format?)')
    array[:, :3, :3] = nearest
    array[:, 3] = (0.0, 0.0, 0.0, 1.0)
    return array


def checked_pair(estimate_T: ArrayLike, truth_T: ArrayLike) -> tuple[NDArray[np.float64],
                                                                    NDArray[np.float64]]:
    """Return both as `checked_poses` does, refusing different lengths and fewer than 2 poses."""
    estimate = checked_poses(estimate_T, 'estimate')
    truth = checked_poses(truth_T, 'truth')
    if len(estimate) != len(truth):
        raise EvaluationError(f'expected as many estimated as true poses, got {len(estimate)} '
                              f'and {len(truth)}; associate them first')
    if len(estimate) < 2:
        raise EvaluationError(f'expected at least 2 poses to compare, got {len(estimate)}')
    return estimate, truth


def path_length(poses: NDArray[np.float64]) -> float:
    """Return the sum of the steps between successive positions of poses [N, 4, 4]."""
    return float(np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1).sum())
