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
    Quaternions of rotation matrices, with w >= 0.

    Parameters
    ----------
    rotation : array_like, shape [..., 3, 3]
        Rotation matrices.

    Returns
    -------
    ndarray of float64, shape [..., 4]
        Unit quaternions in the order x, y, z, w.

    Raises
    ------
    ShapeError
        If the matrices are not 3 x 3.

    """
    m = _matrices(rotation)
    # The eigenvector of the largest eigenvalue of this symmetric matrix is the quaternion; unlike
    # the formulas by the trace it has no bad branch near half turns (Bar-Itzhack 2000).
    k = np.zeros((*m.shape[:-2], 4, 4))
    trace = np.trace(m, axis1=-2, axis2=-1)
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        k[..., a, a] = 2 * m[..., a, a] - trace
        k[..., b, a] = k[..., a, b] = m[..., a, b] + m[..., b, a]
        k[..., 3, a] = k[..., a, 3] = m[..., c, b] - m[..., b, c]
    k[..., 3, 3] = trace
    quat = np.linalg.eigh(k)[1][..., -1]
    return np.where(quat[..., 3:] < 0, -quat, quat)


def rotation_vector(rotation: ArrayLike) -> NDArray[np.float64]:
    """
    Axis times angle of rotation matrices (the logarithm of SO(3)).

    Parameters
    ----------
    rotation : array_like, shape [..., 3, 3]
        Rotation matrices.

    Returns
    -------
    ndarray of float64, shape [..., 3]
        Radians, of norm 0 to pi; at half a turn either of the two axes.

    Raises
    ------
    ShapeError
        If the matrices are not 3 x 3.

    """
    quat = quat_xyzw_from_matrix(rotation)
    vector, w = quat[..., :3], quat[..., 3:]
    sine = np.linalg.norm(vector, axis=-1, keepdims=True)
    # Below this the quotient is 2 to within double precision.
    small = sine < 1e-9
    return vector * np.where(small, 2.0, 2 * np.arctan2(sine, w) / np.where(small, 1.0, sine))


def matrix_from_rotation_vector(vector: ArrayLike) -> NDArray[np.float64]:
    """
    Rotation matrices of axes times angles (the exponential of SO(3)).

    Parameters
    ----------
    vector : array_like, shape [..., 3]
        Radians.

    Returns
    -------
    ndarray of float64, shape [..., 3, 3]
        Rotation matrices.

    Raises
    ------
    ShapeError
        If the last axis is not 3 long.

    """
    turn = np.asarray(vector, dtype=np.float64)
    if turn.ndim == 0 or turn.shape[-1] != 3:
        raise ShapeError(f'expected rotation vectors [..., 3], got shape {turn.shape}')
    half = np.linalg.norm(turn, axis=-1, keepdims=True) / 2
    # numpy's sinc is sin(pi x) / (pi x), and 1 at 0.
    return matrix_from_quat_xyzw(
        np.concatenate([turn / 2 * np.sinc(half / np.pi), np.cos(half)], axis=-1))


def rotation_angle(rotation: ArrayLike) -> NDArray[np.float64]:
    """
    Angles of rotation matrices, exact near none and near half a turn.

    Parameters
    ----------
    rotation : array_like, shape [..., 3, 3]
        Rotation matrices.

    Returns
    -------
    ndarray of float64, shape [...]
        Radians, 0 to pi.

    Raises
    ------
    ShapeError
        If the matrices are not 3 x 3.

    """
    m = _matrices(rotation)
    skew = m - np.swapaxes(m, -1, -2)
    sine2 = np.sqrt(np.square(skew).sum((-2, -1)) / 2)
    return np.arctan2(sine2, np.trace(m, axis1=-2, axis2=-1) - 1)


def _matrices(rotation: ArrayLike) -> NDArray[np.float64]:
    m = np.asarray(rotation, dtype=np.float64)
    if m.ndim < 2 or m.shape[-2:] != (3, 3):
        raise ShapeError(f'expected rotation matrices [..., 3, 3], got shape {m.shape}')
    return m
