# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
from hypothesis import given
from hypothesis import strategies as st
from lingbot_ros.geometry.axes import T_ODOM_OPTICAL
from lingbot_ros.geometry.rigid import invert_transform, make_transform
from lingbot_ros.geometry.rotation import matrix_from_quat_xyzw
from lingbot_ros.ros.transforms import (
    body_twist,
    pose_covariance,
    REANCHOR_INFLATION,
    twist_covariance,
    UNKNOWN_VARIANCE,
)
import numpy as np
import pytest


def turn(axis, angle):
    axis = np.asarray(axis, float) / np.linalg.norm(axis)
    return matrix_from_quat_xyzw([*(axis * np.sin(angle / 2)), np.cos(angle / 2)])


@pytest.mark.parametrize(('optical', 'odom'), [
    ((0, 0, 1), (1, 0, 0)),  # ahead
    ((1, 0, 0), (0, -1, 0)),  # right
    ((0, 1, 0), (0, 0, -1)),  # down
])
def test_optical_axes_in_odom(optical, odom):
    np.testing.assert_array_equal(T_ODOM_OPTICAL[:3, :3] @ optical, odom)
    assert np.linalg.det(T_ODOM_OPTICAL[:3, :3]) == 1


def test_yaw_to_the_right_is_negative_about_odom_z():
    T = T_ODOM_OPTICAL @ make_transform(turn((0, 1, 0), 0.3), np.zeros(3))  # about optical down
    view = T[:3, :3] @ [0, 0, 1]
    assert np.arctan2(view[1], view[0]) == pytest.approx(-0.3)


def test_circle_has_constant_forward_speed():
    def pose(angle):  # on a circle of radius 2, looking along the tangent, optical axes
        R = turn((0, 1, 0), angle)
        return T_ODOM_OPTICAL @ make_transform(
            R, [2 - 2 * np.cos(angle), 0, 2 * np.sin(angle)])
    for start in np.linspace(0, 6, 13):
        twist = body_twist(pose(start), pose(start + 0.2), 0.1)
        np.testing.assert_allclose(twist, [0, 0, 4, 0, 2, 0], atol=1e-9)


vectors = st.lists(st.floats(-1, 1), min_size=3, max_size=3).map(np.array)


@given(vectors, vectors, vectors, st.floats(1e-8, 3.1), st.floats(0.01, 2))
def test_twist_integrates_to_the_next_pose(position, step, axis, angle, seconds):
    if np.linalg.norm(axis) < 1e-2:
        axis = np.array([0.0, 0, 1])
    before = make_transform(turn((1, 2, 3), 0.5), position)
    after = before @ make_transform(turn(axis, angle), step)
    twist = body_twist(before, after, seconds) * seconds
    pose, parts = before, 2000  # many small steps of the constant twist
    small = make_transform(turn(twist[3:], np.linalg.norm(twist[3:]) / parts), twist[:3] / parts)
    # Half a turn on both sides of each translation makes the integration second order.
    half = make_transform(turn(twist[3:], np.linalg.norm(twist[3:]) / parts / 2), np.zeros(3))
    small = half @ make_transform(np.eye(3), twist[:3] / parts) @ half
    pose = before @ np.linalg.matrix_power(small, parts)
    np.testing.assert_allclose(pose, after, atol=1e-5)


def test_no_motion_is_no_twist():
    T = make_transform(turn((1, 2, 3), 1), [1, 2, 3])
    np.testing.assert_allclose(body_twist(T, T, 0.1), 0, atol=1e-12)


@given(st.floats(0.001, 1000), st.floats(0.001, 3.2), st.one_of(st.none(), st.integers(0, 10**6)),
       st.one_of(st.none(), st.floats(1e-9, 1e9)))
def test_covariances_are_what_filters_accept(position, rotation, poses, seconds):
    for covariance in (pose_covariance(position, rotation, poses),
                       twist_covariance(position, rotation, seconds)):
        assert covariance.shape == (6, 6)
        np.testing.assert_array_equal(covariance, covariance.T)
        assert np.linalg.eigvalsh(covariance).min() >= 0.99e-6
        assert np.isfinite(covariance).all()


def test_covariance_is_larger_after_a_reset_and_comes_back():
    quiet = pose_covariance(0.1, 0.2, None)
    np.testing.assert_allclose(np.diag(quiet), [0.01] * 3 + [0.04] * 3)
    np.testing.assert_allclose(pose_covariance(0.1, 0.2, 0), REANCHOR_INFLATION * quiet)
    np.testing.assert_allclose(pose_covariance(0.1, 0.2, 1), REANCHOR_INFLATION / 2 * quiet)
    np.testing.assert_allclose(pose_covariance(0.1, 0.2, 20), quiet)
    np.testing.assert_array_equal(twist_covariance(1, 1, None), np.eye(6) * UNKNOWN_VARIANCE)


def test_inverse_used_for_anchoring():
    T = make_transform(turn((3, 1, 2), 1.1), [1, -2, 3])
    np.testing.assert_allclose(T @ invert_transform(T), np.eye(4), atol=1e-15)
