# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
from hypothesis import given, settings
from hypothesis import strategies as st
from lingbot_ros.errors import AlignmentError, ShapeError
from lingbot_ros.geometry.rigid import invert_transform, make_transform
from lingbot_ros.geometry.rotation import matrix_from_rotation_vector, rotation_angle
from lingbot_ros.geometry.similarity import nearest_rotation, Similarity
import numpy as np
import pytest

numbers = st.floats(-10, 10, allow_nan=False)
vectors = st.tuples(numbers, numbers, numbers).map(np.array)
turns = st.tuples(*[st.floats(-1.8, 1.8)] * 3).map(np.array)
scales = st.floats(0.05, 20)
similarities = st.builds(
    lambda scale, turn, t: Similarity(scale, matrix_from_rotation_vector(turn), t),
    scales, turns, vectors)
poses = st.builds(
    lambda turn, t: make_transform(matrix_from_rotation_vector(turn), t), turns, vectors)


def assert_same(one: Similarity, other: Similarity) -> None:
    np.testing.assert_allclose(one.scale, other.scale, rtol=1e-9)
    np.testing.assert_allclose(one.rotation, other.rotation, atol=1e-9)
    np.testing.assert_allclose(one.translation, other.translation, atol=1e-6)


@given(similarities, similarities, vectors)
def test_composition_maps_points_one_after_the_other(ab, bc, point):
    np.testing.assert_allclose((ab @ bc).points(point), ab.points(bc.points(point)), atol=1e-8)


@given(similarities)
def test_inverse_undoes(ab):
    assert_same(ab @ ab.inverse, Similarity.identity())
    assert_same(ab.inverse @ ab, Similarity.identity())


@given(similarities, poses, vectors)
def test_a_mapped_camera_sees_the_mapped_world(ab, T_b_camera, point_b):
    # Seen from the camera, the scene is the same picture, only larger by the scale.
    in_camera = (invert_transform(T_b_camera) @ [*point_b, 1])[:3]
    T_a_camera = ab.pose(T_b_camera)
    seen = (invert_transform(T_a_camera) @ [*ab.points(point_b), 1])[:3]
    np.testing.assert_allclose(seen, ab.scale * in_camera, atol=1e-7)
    np.testing.assert_allclose(T_a_camera[:3, :3] @ T_a_camera[:3, :3].T, np.eye(3), atol=1e-9)


@given(poses, poses, scales)
def test_from_poses_is_exact_for_that_camera(T_a, T_b, scale):
    np.testing.assert_allclose(Similarity.from_poses(T_a, T_b, scale).pose(T_b), T_a, atol=1e-8)


@given(similarities, similarities, st.floats(0, 1))
def test_towards_ends_at_both_and_never_turns_further(one, other, fraction):
    assert_same(one.towards(other, 0), one)
    assert_same(one.towards(other, 1), other)
    between = one.towards(other, fraction)
    whole = rotation_angle(other.rotation @ one.rotation.T)
    assert rotation_angle(between.rotation @ one.rotation.T) <= whole * fraction + 1e-6
    assert min(one.scale, other.scale) * (1 - 1e-9) <= between.scale
    assert between.scale <= max(one.scale, other.scale) * (1 + 1e-9)


def test_many_poses_and_points_at_once():
    ab = Similarity(2.0, matrix_from_rotation_vector([0, 0, np.pi / 2]), [1.0, 0, 0])
    np.testing.assert_allclose(ab.points(np.eye(3)), [[1, 2, 0], [-1, 0, 0], [1, 0, 2]],
                               atol=1e-12)
    stacked = np.tile(np.eye(4), (5, 2, 1, 1))
    assert ab.pose(stacked).shape == (5, 2, 4, 4)
    np.testing.assert_allclose(ab.pose(stacked)[3, 1], ab.pose(np.eye(4)))


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_long_chains_stay_rotations(seed):
    rng = np.random.default_rng(seed)
    chain = Similarity.identity()
    for _ in range(300):
        turn = matrix_from_rotation_vector(0.3 * rng.standard_normal(3))
        chain = chain @ Similarity(1.0, turn, rng.standard_normal(3))
    np.testing.assert_allclose(chain.rotation @ chain.rotation.T, np.eye(3), atol=1e-14)


def test_nearest_rotation_is_never_a_reflection():
    assert np.linalg.det(nearest_rotation(np.diag([1.0, 1.0, -0.9]))) == pytest.approx(1)


def test_it_cannot_be_changed():
    ab = Similarity.identity()
    with pytest.raises(ValueError, match='read-only'):
        ab.rotation[0, 0] = 2
    with pytest.raises(AttributeError):
        ab.scale = 2.0


@pytest.mark.parametrize(('scale', 'rotation', 'translation', 'error', 'text'), [
    (0.0, np.eye(3), np.zeros(3), AlignmentError, 'positive scale'),
    (-1.0, np.eye(3), np.zeros(3), AlignmentError, 'positive scale'),
    (np.nan, np.eye(3), np.zeros(3), AlignmentError, 'positive scale'),
    (1.0, np.eye(3), [0, np.inf, 0], AlignmentError, 'finite translation'),
    (1.0, 2 * np.eye(3), np.zeros(3), AlignmentError, 'expected a rotation'),
    (1.0, np.diag([1, 1, -1]), np.zeros(3), AlignmentError, 'expected a rotation'),
    (1.0, np.full((3, 3), np.nan), np.zeros(3), AlignmentError, 'expected a rotation'),
    (1.0, np.eye(4), np.zeros(3), ShapeError, r'got \[4, 4\] and \[3\]'),
])
def test_what_is_no_similarity_is_refused(scale, rotation, translation, error, text):
    with pytest.raises(error, match=text):
        Similarity(scale, rotation, translation)


def test_wrong_arguments_are_refused():
    ab = Similarity.identity()
    with pytest.raises(ShapeError, match='expected points'):
        ab.points([1, 2])
    with pytest.raises(ShapeError, match='expected poses'):
        ab.pose(np.eye(3))
    with pytest.raises(AlignmentError, match='fraction from 0 to 1, got 1.5'):
        ab.towards(ab, 1.5)
    with pytest.raises(ShapeError, match='expected poses'):
        Similarity.from_poses(np.eye(3), np.eye(4), 1.0)
