# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The nine numbers of the camera head, and what they mean.

Translation 3, quaternion xyzw 4 (not normalised), field of view 2 (vertical, horizontal; radians).
They are camera-to-world: the rotation turns camera axes into world axes and the translation is the
camera centre in the world. Axes are OpenCV's: x right, y down, z forward.
"""

from __future__ import annotations

from lingbot_ros.errors import NonFinitePoseError, ShapeError
from lingbot_ros.geometry.rigid import make_transform
from lingbot_ros.geometry.rotation import matrix_from_quat_xyzw
import numpy as np
from numpy.typing import ArrayLike, NDArray

# A quaternion this short has no direction worth trusting in float32.
MIN_QUATERNION_NORM = 1e-6


def _one_encoding(encoding: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(encoding, dtype=np.float64)
    if values.shape != (9,):
        raise ShapeError(f'expected one pose encoding of 9 numbers, got shape {values.shape}')
    return values


def decode_pose(encoding: ArrayLike) -> NDArray[np.float64]:
    """
    Camera-to-world transform of one pose encoding.

    Parameters
    ----------
    encoding : array_like, shape [9]
        Head output.

    Returns
    -------
    ndarray of float64, shape [4, 4]
        ``T_world_camera``.

    Raises
    ------
    ShapeError
        If there are not nine numbers.
    NonFinitePoseError
        If a number is not finite or the quaternion is (nearly) zero.

    """
    values = _one_encoding(encoding)
    if not np.isfinite(values).all():
        raise NonFinitePoseError(f'expected nine finite numbers, got {values.tolist()}')
    norm = float(np.linalg.norm(values[3:7]))
    if norm < MIN_QUATERNION_NORM:
        raise NonFinitePoseError(f'expected a quaternion with a direction, got norm {norm:g}')
    return make_transform(matrix_from_quat_xyzw(values[3:7]), values[:3])


def decode_intrinsics(encoding: ArrayLike, height: int, width: int) -> NDArray[np.float64]:
    """
    Intrinsic matrix of one pose encoding, principal point at the image centre.

    Parameters
    ----------
    encoding : array_like, shape [9]
        Head output; the last two are the vertical and the horizontal field of view, radians.
    height, width : int
        Size of the image the network saw, pixels.

    Returns
    -------
    ndarray of float64, shape [3, 3]
        K, pixels. A field of view of zero (the activation's floor) gives an infinite focal
        length, as the geometry says.

    """
    fov_y, fov_x = _one_encoding(encoding)[7:]
    with np.errstate(divide='ignore'):
        fy = np.float64(height / 2) / np.tan(fov_y / 2)
        fx = np.float64(width / 2) / np.tan(fov_x / 2)
    return np.array([[fx, 0, width / 2], [0, fy, height / 2], [0, 0, 1]])
