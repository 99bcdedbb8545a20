# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a path scores that saw no image, made from the truth itself.

Standing still: the camera never moves. Constant velocity: of all paths along a straight line at
one speed, with one rotation repeated from frame to frame, the one nearest to the truth. No
estimate can be made this well without the truth, so a tracker should be better than both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def standing_still(truth: NDArray[np.float64]) -> NDArray[np.float64]:
    """
    Return poses that stay at the origin.

    Parameters
    ----------
    truth : ndarray of float64, shape [N, 4, 4]
        Only its length matters.

    Returns
    -------
    ndarray of float64, shape [N, 4, 4]
        Its ATE after any fit is the root mean square distance of the truth from its centroid.

    """
    return np.tile(np.eye(4), (len(truth), 1, 1))


def constant_velocity(truth: NDArray[np.float64]) -> NDArray[np.float64]:
    """
    Return the constant-velocity path with the smallest ATE after a Sim(3) fit.

    Positions are the least-squares line through the truth's, a + v i for frame i; a similarity
    of it is again such a path, so no fit makes it better. Rotations are R0 D^i: D is the mean of
    the truth's rotations from frame to frame, R0 the mean of what is left (both means are the
    rotation matrix nearest to the sum). Time counts in frames.

    Parameters
    ----------
    truth : ndarray of float64, shape [N, 4, 4]
        Poses, N >= 2.

    Returns
    -------
    ndarray of float64, shape [N, 4, 4]

    """
    count = len(truth)
    time = np.arange(count) - (count - 1) / 2
    positions = truth[:, :3, 3]
    velocity = time @ (positions - positions.mean(axis=0)) / (time @ time)
    rotations = truth[:, :3, :3]
    step = _nearest_rotation((rotations[:-1].transpose(0, 2, 1) @ rotations[1:]).sum(axis=0))
    powers = [np.eye(3)]
    for _ in range(count - 1):
        powers.append(_nearest_rotation(powers[-1] @ step))
    turns = np.stack(powers)
    first = _nearest_rotation((rotations @ turns.transpose(0, 2, 1)).sum(axis=0))
    path = np.tile(np.eye(4), (count, 1, 1))
    path[:, :3, 3] = positions.mean(axis=0) + time[:, None] * velocity
    path[:, :3, :3] = first @ turns
    return path


def _nearest_rotation(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    u, _, vt = np.linalg.svd(matrix)
    signs = np.array([1.0, 1.0, np.linalg.det(u) * np.linalg.det(vt)])
    return np.asarray((u * signs) @ vt)


BASELINES = {'standing still': standing_still, 'constant velocity': constant_velocity}
