# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
from hypothesis import given, settings
from hypothesis import strategies as st
from lingbot_ros.errors import AlignmentError, ShapeError
from lingbot_ros.geometry.joining import robust_similarity
from lingbot_ros.geometry.rigid import make_transform
from lingbot_ros.geometry.robust import mean_rotation, robust_scale, weighted_median
from lingbot_ros.geometry.rotation import (
    matrix_from_rotation_vector,
    rotation_angle,
    rotation_vector,
)
from lingbot_ros.geometry.similarity import Similarity
import numpy as np
import pytest

seeds = st.integers(0, 2**32 - 1)


def random_similarity(rng) -> Similarity:
    return Similarity(float(np.exp(rng.uniform(-2, 2))),
                      matrix_from_rotation_vector(rng.uniform(-1.7, 1.7, 3)),
                      rng.uniform(-20, 20, 3))


def walk(rng, frames: int, step: float = 0.1) -> np.ndarray:
    """Poses of a camera that walks and looks about, [N, 4, 4]."""
    centres = np.cumsum(step * (rng.standard_normal((frames, 3)) + [0, 0, 1]), axis=0)
    turns = np.cumsum(0.05 * rng.standard_normal((frames, 3)), axis=0)
    return np.stack([make_transform(matrix_from_rotation_vector(turn), centre)
                     for turn, centre in zip(turns, centres, strict=True)])


def shaken(rng, poses, rotation_rad: float, length: float) -> np.ndarray:
    out = poses.copy()
    out[:, :3, :3] = poses[:, :3, :3] @ matrix_from_rotation_vector(
        rotation_rad * rng.standard_normal((len(poses), 3)))
    out[:, :3, 3] += length * rng.standard_normal((len(poses), 3))
    return out


def spoiled(rng, poses, count: int) -> np.ndarray:
    """Return poses of which some are somewhere else altogether."""
    out = poses.copy()
    for index in rng.permutation(len(poses))[:count]:
        out[index] = make_transform(matrix_from_rotation_vector(rng.uniform(-2, 2, 3)),
                                    rng.uniform(-50, 50, 3))
    return out


def error_of(found: Similarity, true: Similarity, poses_b) -> tuple[float, float, float]:
    """Scale (log), rotation (deg) and worst centre error (units of a)."""
    return (abs(np.log(found.scale / true.scale)),
            float(np.degrees(rotation_angle(found.rotation @ true.rotation.T))),
            float(np.linalg.norm(found.pose(poses_b)[:, :3, 3]
                                 - true.pose(poses_b)[:, :3, 3], axis=1).max()))


@settings(deadline=None, max_examples=30)
@given(seeds, st.integers(1, 16))
def test_exact_data_give_the_exact_similarity(seed, frames):
    rng = np.random.default_rng(seed)
    true, poses_b = random_similarity(rng), walk(rng, frames)
    fit = robust_similarity(true.pose(poses_b), poses_b, depth_ratios=[true.scale] * 10)
    scale, rotation, centre = error_of(fit.similarity, true, poses_b)
    assert (scale < 1e-9, rotation < 1e-6, centre < 1e-6) == (True, True, True)
    assert fit.inlier_fraction == 1
    assert fit.scale_source == 'depth'
    assert fit.rotation_deg < 1e-6
    assert fit.translation_relative < 1e-6
    if frames > 1:
        assert fit.baseline_scale == pytest.approx(true.scale)


@settings(deadline=None, max_examples=30)
@given(seeds)
def test_forty_percent_outliers(seed):
    rng = np.random.default_rng(seed)
    true, clean = random_similarity(rng), walk(rng, 10)
    noisy_a = spoiled(rng, shaken(rng, true.pose(clean), 1e-3, 1e-3 * true.scale), 4)
    ratios = true.scale * np.exp(0.02 * rng.standard_normal(2000))
    ratios[:800] *= np.exp(rng.uniform(-3, 3, 800))
    fit = robust_similarity(noisy_a, clean, depth_ratios=ratios, scene_length=true.scale)
    scale, rotation, centre = error_of(fit.similarity, true, clean)
    assert scale < 0.01
    assert rotation < 0.2
    assert centre < 0.02 * true.scale
    assert 0.5 <= fit.inlier_fraction <= 0.7
    assert fit.rotation_deg < 0.3


@settings(deadline=None, max_examples=30)
@given(seeds)
def test_a_coherent_minority_does_not_win(seed):
    # Four of ten frames agree on another world.
    rng = np.random.default_rng(seed)
    true, other, clean = random_similarity(rng), random_similarity(rng), walk(rng, 10)
    poses_a = true.pose(clean)
    poses_a[3:7] = other.pose(clean)[3:7]
    fit = robust_similarity(poses_a, clean, scale=true.scale)
    scale, rotation, centre = error_of(fit.similarity, true, clean)
    assert (scale, rotation < 1e-5, centre < 1e-5) == (0, True, True)
    assert fit.inlier_fraction <= 0.7


@settings(deadline=None, max_examples=30)
@given(seeds)
def test_scale_by_baselines_holds_forty_percent_outliers(seed):
    rng = np.random.default_rng(seed)
    true, clean = random_similarity(rng), walk(rng, 10)
    fit = robust_similarity(spoiled(rng, true.pose(clean), 4), clean,
                            scene_length=true.scale)
    assert fit.scale_source == 'baseline'
    assert abs(np.log(fit.similarity.scale / true.scale)) < 0.02


@settings(deadline=None, max_examples=30)
@given(seeds)
def test_residuals_tell_the_noise(seed):
    rng = np.random.default_rng(seed)
    clean = walk(rng, 200)
    true = random_similarity(rng)
    noisy = shaken(rng, true.pose(clean), 0.01, 0.05 * true.scale)
    fit = robust_similarity(noisy, clean, scale=true.scale)
    # Root mean square over three axes; the furthest 1 % are cut.
    assert fit.rotation_deg == pytest.approx(np.degrees(0.01 * np.sqrt(3)), rel=0.15)
    assert fit.translation == pytest.approx(0.05 * true.scale * np.sqrt(3), rel=0.15)
    # A mean of 200: better than each by about 14; five standard deviations in space.
    assert error_of(fit.similarity, true, clean)[1] < np.degrees(0.01) * 6 / np.sqrt(200)


def test_a_camera_that_stood_still_needs_depths():
    rng = np.random.default_rng(0)
    true = random_similarity(rng)
    still = np.repeat(walk(rng, 1), 8, axis=0)
    with_depth = robust_similarity(true.pose(still), still, depth_ratios=[true.scale])
    assert error_of(with_depth.similarity, true, still)[2] < 1e-9
    assert with_depth.baseline_scale is None
    assert with_depth.extent == pytest.approx(0, abs=1e-9)
    assert with_depth.translation_relative == pytest.approx(0, abs=1e-6)
    without = robust_similarity(true.pose(still), still)
    assert (without.scale_source, without.similarity.scale) == ('none', 1.0)
    # The camera's pose is right all the same, only lengths are not.
    np.testing.assert_allclose(without.similarity.pose(still), true.pose(still), atol=1e-9)


def test_one_frame_is_met_exactly():
    rng = np.random.default_rng(1)
    true, pose = random_similarity(rng), walk(rng, 1)
    fit = robust_similarity(true.pose(pose), pose, scale=true.scale)
    np.testing.assert_allclose(fit.similarity.pose(pose), true.pose(pose), atol=1e-9)
    assert (fit.inlier_fraction, fit.baseline_scale, fit.extent) == (1, None, 0)


def test_frames_that_are_not_finite_are_left_out_and_counted():
    rng = np.random.default_rng(2)
    true, clean = random_similarity(rng), walk(rng, 8)
    poses_a, poses_b = true.pose(clean), clean.copy()
    poses_a[1, 0, 3] = np.nan
    poses_b[5, 2, 2] = np.inf
    fit = robust_similarity(poses_a, poses_b, depth_ratios=[true.scale, np.nan, -1, np.inf, 0])
    assert error_of(fit.similarity, true, clean)[2] < 1e-6
    assert fit.inlier_fraction == 0.75


def test_depths_without_a_valid_pixel_leave_the_baselines():
    rng = np.random.default_rng(3)
    true, clean = random_similarity(rng), walk(rng, 8)
    for ratios, weights in (([np.nan, 0.0], None), ([], None), ([1.0, 2.0], [0.0, np.nan])):
        fit = robust_similarity(true.pose(clean), clean, depth_ratios=ratios, weights=weights)
        assert fit.scale_source == 'baseline'
        assert fit.similarity.scale == pytest.approx(true.scale)


def test_what_cannot_be_aligned_is_refused():
    nothing = np.full((3, 4, 4), np.nan)
    with pytest.raises(AlignmentError, match='got 3 frames of which none is'):
        robust_similarity(nothing, nothing, scale=1.0)
    with pytest.raises(AlignmentError, match='got 0 frames'):
        robust_similarity(np.zeros((0, 4, 4)), np.zeros((0, 4, 4)), scale=1.0)
    with pytest.raises(ShapeError, match='got 2 and 3'):
        robust_similarity(nothing[:2], nothing, scale=1.0)
    with pytest.raises(AlignmentError, match='positive scene_length, got 0'):
        robust_similarity(np.eye(4), np.eye(4), scale=1.0, scene_length=0)
    with pytest.raises(AlignmentError, match='positive scale'):
        robust_similarity(np.eye(4), np.eye(4), scale=-2.0)


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=50))
def test_scale_of_inverse_ratios_is_inverse(ratios):
    there, back = robust_scale(ratios), robust_scale(1 / np.array(ratios))
    assert there.scale * back.scale == pytest.approx(1)
    assert there.samples == len(ratios)
    assert min(ratios) * (1 - 1e-9) <= there.scale <= max(ratios) * (1 + 1e-9)


def test_scale_holds_with_a_wild_minority_and_tells_the_spread():
    rng = np.random.default_rng(4)
    ratios = 3 * np.exp(0.05 * rng.standard_normal(5000))
    clean = robust_scale(ratios)
    assert clean.scale == pytest.approx(3, rel=0.005)
    assert clean.spread == pytest.approx(0.05, rel=0.1)
    ratios[:2000] = rng.uniform(10, 100, 2000)
    assert robust_scale(ratios).scale == pytest.approx(3, rel=0.08)


def test_weights_decide():
    assert robust_scale([1, 1, 1, 5], [0.1, 0.1, 0.1, 9]).scale == pytest.approx(5)
    assert weighted_median([1, 2], [1, 1]) == 1.5
    assert weighted_median([3, 1, 2], [1, 1, 1]) == 2
    assert weighted_median([7], [0.2]) == 7


def test_scale_without_samples_is_refused():
    with pytest.raises(AlignmentError, match='got 3 samples of which none'):
        robust_scale([np.nan, -1, 0])
    with pytest.raises(ShapeError, match='as the ratios'):
        robust_scale([1, 2], [1])


@settings(deadline=None, max_examples=30)
@given(seeds)
def test_rotations_opposite_to_each_other(seed):
    # Half turns away there are two logarithms; the majority must win nevertheless.
    rng = np.random.default_rng(seed)
    axis = rng.standard_normal(3)
    half = matrix_from_rotation_vector(np.pi * axis / np.linalg.norm(axis))
    base = matrix_from_rotation_vector(rng.standard_normal(3))
    mean, near = mean_rotation(np.stack([base] * 4 + [half @ base] * 3), 1e-3)
    np.testing.assert_allclose(mean, base, atol=1e-8)
    assert near.tolist() == [True] * 4 + [False] * 3


@given(st.tuples(*[st.floats(-1.8, 1.8)] * 3).map(np.array))
def test_rotation_vector_round_trip(turn):
    matrix = matrix_from_rotation_vector(turn)
    np.testing.assert_allclose(rotation_vector(matrix), turn, atol=1e-9)
    assert rotation_angle(matrix) == pytest.approx(np.linalg.norm(turn), abs=1e-9)
