# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rotations as unit quaternions (order x, y, z, w) and 3 x 3 matrices, float64."""

from __future__ import annotations

from lingbot_ros.errors import ShapeError
import numpy as np
from numpy.typing import ArrayLike, NDArray


def matrix_from_quat_xyzw(quat_xyzw: ArrayLike) -> NDArray[np.float64]:
    """
    Rotation matrices of quaternions, which need not be normalised.

    Parameters
    ----------
    quat_xyzw : array_like, shape [..., 4]
        Quaternions in the order x, y, z, w; of nonzero norm.

    Returns
    -------
    ndarray of float64, shape [..., 3, 3]
        Rotation matrices.

    Raises
    ------
    ShapeError
        If the last axis is not 4 long.

    """
    quat = np.asarray(quat_xyzw, dtype=np.float64)
    if quat.ndim == 0 or quat.shape[-1] != 4:
        raise ShapeError(f'expected quaternions [..., 4], got shape {quat.shape}')
    x, y, z, w = np.moveaxis(quat / np.linalg.norm(quat, axis=-1, keepdims=True), -1, 0)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quat_xyzw_from_matrix(rotation: ArrayLike) -> NDArray[np.float64]:
    """
    Quaternion of one rotation matrix, with w >= 0.

    Parameters
    ----------
    rotation : array_like, shape [3, 3]
        Rotation matrix.

    Returns
    -------
    ndarray of float64, shape [4]
        Unit quaternion in the order x, y, z, w.

    Raises
    ------
    ShapeError
        If the matrix is not 3 x 3.

    """
    m = np.asarray(rotation, dtype=np.float64)
    if m.shape != (3, 3):
        raise ShapeError(f'expected a rotation matrix [3, 3], got shape {m.shape}')
    # The eigenvector of the largest eigenvalue of this symmetric matrix is the quaternion; unlike
    # the formulas by the trace it has no bad branch near half turns (Bar-Itzhack 2000).
    k = np.array([
        [m[0, 0] - m[1, 1] - m[2, 2], 0, 0, 0],
        [m[0, 1] + m[1, 0], m[1, 1] - m[0, 0] - m[2, 2], 0, 0],
        [m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], m[2, 2] - m[0, 0] - m[1, 1], 0],
        [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], np.trace(m)],
    ]) / 3
    quat = np.linalg.eigh(k)[1][:, -1]
    return -quat if quat[3] < 0 else quat
