# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Errors of the motion over k frames: its rotation, and the direction of its translation.

Both compare relative poses, camera i to camera i + k, so neither needs an alignment or a scale.
"""

from __future__ import annotations

from lingbot_ros.evaluation.engine import pairs_apart, relative_errors
import numpy as np
from numpy.typing import NDArray

# Of the mean distance over k frames: below it the direction of the truth is mostly its noise.
MIN_PART_OF_MEAN = 0.1
# What a translation that has no direction is taken to be off: the mean over random directions.
NO_DIRECTION_DEG = 90.0


def rotation_errors(estimate: NDArray[np.float64], truth: NDArray[np.float64],
                    frames: int) -> NDArray[np.float64]:
    """
    Return the angles by which relative rotations over k frames differ, degrees, 0 to 180.

    Parameters
    ----------
    estimate, truth : ndarray of float64, shape [N, 4, 4]
        Corresponding poses, `T_world_camera`.
    frames : int
        k, at least 1.

    Returns
    -------
    ndarray of float64, shape [max(N - k, 0)]
        One for each i; the relative pose error of evo over all pairs.

    """
    return relative_errors(estimate, truth, pairs_apart(truth, frames, 'frames', True))[1]


def direction_errors(estimate: NDArray[np.float64], truth: NDArray[np.float64],
                     frames: int) -> NDArray[np.float64]:
    """
    Return the angles between true and estimated directions of travel over k frames, degrees.

    The direction is that of the translation from camera i to camera i + k, in the axes of camera
    i. Pairs over which the truth moves less than a tenth of its mean over k frames are left out.
    An estimate that does not move at all has no direction, and counts as 90 degrees.

    Parameters
    ----------
    estimate, truth : ndarray of float64, shape [N, 4, 4]
        Corresponding poses, `T_world_camera`.
    frames : int
        k, at least 1.

    Returns
    -------
    ndarray of float64, shape [P]
        0 to 180; empty where the truth stands still.

    """
    if len(truth) <= frames:
        return np.empty(0)
    moves = [np.einsum('nji,nj->ni', poses[:-frames, :3, :3],
                       poses[frames:, :3, 3] - poses[:-frames, :3, 3])
             for poses in (truth, estimate)]
    lengths = [np.linalg.norm(move, axis=1) for move in moves]
    used = (lengths[0] >= MIN_PART_OF_MEAN * lengths[0].mean()) & (lengths[0] > 0)
    true, found = moves[0][used], moves[1][used]
    # By the arc tangent, which is exact for small angles where the arc cosine is not.
    angles = np.degrees(np.arctan2(np.linalg.norm(np.cross(true, found), axis=1),
                                   (true * found).sum(axis=1)))
    return np.where(lengths[1][used] > 0, angles, NO_DIRECTION_DEG)
