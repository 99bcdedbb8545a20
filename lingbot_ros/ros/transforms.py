# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Coordinate frames, twist and covariance of what the node publishes; numpy only.

Axes: the network's world and camera are optical (x right, y down, z forward), odom is x forward,
y left, z up (REP 103). `T_a_b` maps points of b to a. The picture is in docs/conventions.md.
"""

from __future__ import annotations

from lingbot_ros.geometry.rigid import invert_transform
from lingbot_ros.geometry.rotation import quat_xyzw_from_matrix
import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

UNKNOWN_VARIANCE = 1e4
"""Variance that says a value means nothing; finite, because filters misread larger ones."""

REANCHOR_INFLATION = 100.0
"""Factor on the pose variances of the first pose after a reset; halves with every further one."""


def _rotation_vector(R: Matrix) -> Matrix:
    """Axis times angle (rad, 0 to pi) of a rotation matrix; shape [3]."""
    x, y, z, w = quat_xyzw_from_matrix(R)
    vector = np.array([x, y, z])
    sine = float(np.linalg.norm(vector))
    return vector * (2 * np.arctan2(sine, w) / sine if sine > 1e-9 else 2.0)


def body_twist(T_odom_before: Matrix, T_odom_after: Matrix, seconds: float) -> Matrix:
    """
    Constant twist that carries one pose into the next.

    It is the logarithm of the relative transform (not the difference of positions), so that a
    camera on a circle has a constant forward speed and no sideways one.

    Parameters
    ----------
    T_odom_before, T_odom_after : ndarray of float64, shape [4, 4]
        Two poses of the same body.
    seconds : float
        Time between them, > 0.

    Returns
    -------
    ndarray of float64, shape [6]
        Linear velocity (scene units/s), then angular velocity (rad/s), in body axes.

    """
    step = invert_transform(T_odom_before) @ T_odom_after
    turn = _rotation_vector(step[:3, :3])
    x, y, z = turn
    hat = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    angle = float(np.linalg.norm(turn))
    # Inverse of the left Jacobian of SO(3); the cotangent form is regular up to half a turn.
    factor = 1 / 12 if angle < 1e-4 else (1 - angle / 2 / np.tan(angle / 2)) / angle**2
    linear = (np.eye(3) - hat / 2 + factor * hat @ hat) @ step[:3, 3]
    return np.concatenate([linear, turn]) / seconds


def pose_covariance(position_stddev: float, rotation_stddev: float,
                    poses_since_reset: int | None) -> Matrix:
    """
    Covariance of a pose: diagonal, constant, larger right after a reset.

    Parameters
    ----------
    position_stddev, rotation_stddev : float
        Scene units and radians, each axis.
    poses_since_reset : int or None
        0 for the first pose after a reset; None when the stream never was reset.

    Returns
    -------
    ndarray of float64, shape [6, 6]
        Order x, y, z, rotation about x, y, z.

    """
    inflation = 1.0
    if poses_since_reset is not None:
        inflation = max(1.0, REANCHOR_INFLATION * 0.5**min(poses_since_reset, 64))
    variances = np.repeat([position_stddev**2, rotation_stddev**2], 3) * inflation
    return np.diag(variances)


def raise_variances(covariance: Matrix, least: Matrix) -> Matrix:
    """
    Raise the variances of a covariance where they are below those of another one.

    Parameters
    ----------
    covariance, least : ndarray of float64, shape [6, 6]
        Positive; of `least` only the diagonal counts.

    Returns
    -------
    ndarray of float64, shape [6, 6]
        Positive still: nothing is added but to the diagonal.

    """
    return covariance + np.diag(np.maximum(np.diag(least) - np.diag(covariance), 0.0))


def twist_covariance(position_stddev: float, rotation_stddev: float,
                     seconds: float | None) -> Matrix:
    """
    Covariance of a twist from two poses with independent errors.

    Parameters
    ----------
    position_stddev, rotation_stddev : float
        Of each pose: scene units and radians, each axis.
    seconds : float or None
        Time between the poses; None when there was no pose before.

    Returns
    -------
    ndarray of float64, shape [6, 6]
        Linear, then angular; at most `UNKNOWN_VARIANCE` on the diagonal.

    """
    if seconds is None:
        return np.eye(6) * UNKNOWN_VARIANCE
    variances = 2 * np.repeat([position_stddev**2, rotation_stddev**2], 3) / seconds**2
    # A robot that stands for hours between two frames must not look perfectly known.
    return np.diag(np.clip(variances, 1e-6, UNKNOWN_VARIANCE))
