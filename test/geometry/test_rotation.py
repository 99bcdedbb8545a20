# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
from lingbot_ros.errors import ShapeError
from lingbot_ros.geometry.rigid import invert_transform, make_transform
from lingbot_ros.geometry.rotation import matrix_from_quat_xyzw, quat_xyzw_from_matrix
import numpy as np
import pytest


def test_known_rotation():
    # A quarter turn about z takes x to y.
    quat = [0, 0, np.sqrt(0.5), np.sqrt(0.5)]
    np.testing.assert_allclose(matrix_from_quat_xyzw(quat) @ [1, 0, 0], [0, 1, 0], atol=1e-12)


def test_round_trip_near_every_half_turn():
    rng = np.random.default_rng(1)
    quats = rng.standard_normal((500, 4))
    quats[:100, 3] = 0
    quats[100:200, 3] = 1e-9 * rng.standard_normal(100)
    for quat in quats / np.linalg.norm(quats, axis=1, keepdims=True):
        back = quat_xyzw_from_matrix(matrix_from_quat_xyzw(quat))
        assert back[3] >= 0
        assert abs(abs(quat @ back) - 1) < 1e-12


def test_scale_of_quaternion_does_not_matter():
    quat = np.array([0.1, -0.5, 0.3, 0.8])
    np.testing.assert_allclose(matrix_from_quat_xyzw(7 * quat), matrix_from_quat_xyzw(quat))


def test_inverse():
    transform = make_transform(matrix_from_quat_xyzw([1, 2, 3, 4]), [5, 6, 7])
    np.testing.assert_allclose(transform @ invert_transform(transform), np.eye(4), atol=1e-12)


def test_wrong_shapes_are_refused():
    with pytest.raises(ShapeError, match=r'expected quaternions .* got shape \(3,\)'):
        matrix_from_quat_xyzw([1, 2, 3])
    with pytest.raises(ShapeError, match=r'expected rotation matrices .* got shape \(4, 4\)'):
        quat_xyzw_from_matrix(np.eye(4))
