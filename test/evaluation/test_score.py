# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Scores of trajectories whose errors are known beforehand."""

from __future__ import annotations

import math

from curves import helix, similar, turned
from lingbot_ros.errors import ConfigError, EvaluationError
from lingbot_ros.evaluation.alignment import align
from lingbot_ros.evaluation.motion import direction_errors, rotation_errors
from lingbot_ros.evaluation.score import median_score, Score, score_trajectory
import numpy as np
import pytest


def test_a_similarity_costs_nothing():
    truth = helix()
    score = score_trajectory(similar(truth), truth)
    assert score.poses == 100
    assert score.scale == pytest.approx(1 / 0.37, rel=1e-9)
    assert score.ate_sim3 == pytest.approx(0, abs=1e-9)
    assert score.ate_percent == pytest.approx(0, abs=1e-9)
    assert score.end_percent == pytest.approx(0, abs=1e-9)
    assert score.rotation_8_deg == pytest.approx(0, abs=1e-5)
    assert score.direction_8_deg == pytest.approx(0, abs=1e-5)
    steps = np.linalg.norm(np.diff(truth[:, :3, 3], axis=0), axis=1)
    assert score.path_length == pytest.approx(steps.sum())
    # Without scale the curve is 0.37 times as large about its centre.
    spread = np.sqrt(((truth[:, :3, 3] - truth[:, :3, 3].mean(0)) ** 2).sum(1).mean())
    assert score.ate_se3 == pytest.approx(0.63 * spread, rel=1e-6)


def test_noise_is_found_again():
    truth = helix(4000)
    rng = np.random.default_rng(0)
    noisy = truth.copy()
    noisy[:, :3, 3] += rng.normal(scale=0.05, size=(4000, 3))
    score = score_trajectory(similar(noisy), truth)
    # Three axes of 0.05; seven of 12,000 degrees of freedom go to the fit.
    assert score.ate_sim3 == pytest.approx(0.05 * np.sqrt(3), rel=0.02)
    assert score.ate_percent == pytest.approx(100 * score.ate_sim3 / score.path_length)


def test_rotation_over_eight_frames():
    still = np.tile(np.eye(4), (100, 1, 1))
    turning = turned(still, 0.25 * np.arange(100))
    assert rotation_errors(turning, still, 8).shape == (92,)
    np.testing.assert_allclose(rotation_errors(turning, still, 8), 2.0, atol=1e-9)
    np.testing.assert_allclose(rotation_errors(turning, still, 20), 5.0, atol=1e-9)
    truth = helix()
    drifting = turned(truth, 0.25 * np.arange(100), 'y')
    assert score_trajectory(similar(drifting), truth).rotation_8_deg == pytest.approx(2)


def test_direction_over_eight_frames():
    truth = helix()
    # A camera mounted 7 degrees off sees each motion 7 degrees off, if it lies across its axis.
    level = truth.copy()
    level[:, 1, 3] = 0
    assert np.median(direction_errors(turned(level, 7, 'y'), level, 8)) == pytest.approx(7)
    assert np.median(direction_errors(similar(turned(level, 7, 'y')), level, 8)) == (
        pytest.approx(7))
    backwards = level.copy()
    backwards[:, :3, 3] *= -1
    np.testing.assert_allclose(direction_errors(backwards, level, 8), 180, atol=1e-9)


def test_standing_still():
    truth = helix()
    still = np.tile(np.eye(4), (100, 1, 1))
    score = score_trajectory(still, truth)
    spread = np.sqrt(((truth[:, :3, 3] - truth[:, :3, 3].mean(0)) ** 2).sum(1).mean())
    assert score.ate_sim3 == pytest.approx(spread) == score.ate_se3
    assert score.scale == 1.0
    assert score.direction_8_deg == 90.0
    assert score.rotation_8_deg == pytest.approx(8 * 360 * 1.5 / 99)
    # And a truth that stands still: no percentages, no direction.
    score = score_trajectory(truth, still)
    assert score.path_length == 0 and score.ate_sim3 == pytest.approx(0, abs=1e-9)
    assert math.isnan(score.ate_percent) and math.isnan(score.direction_8_deg)


def test_slow_pairs_have_no_direction():
    truth = helix()
    truth[60:, :3, 3] = truth[60, :3, 3]
    estimate = truth.copy()
    estimate[60:, :3, 3] += np.random.default_rng(0).normal(scale=0.01, size=(40, 3))
    # 60 moving pairs less the two whose last frame ends within a tenth of the mean.
    errors = direction_errors(estimate, truth, 8)
    assert 55 <= len(errors) <= 60 and np.median(errors) == 0


@pytest.mark.parametrize('kind', ['sim3', 'se3'])
def test_straight_lines_align(kind):
    truth = np.tile(np.eye(4), (10, 1, 1))
    truth[:, 0, 3] = np.arange(10.0)
    estimate = np.tile(np.eye(4), (10, 1, 1))
    estimate[:, 1, 3] = np.arange(10.0) * (2 if kind == 'sim3' else 1)
    alignment = align(estimate, truth, kind)
    np.testing.assert_allclose(alignment.apply(estimate)[:, :3, 3], truth[:, :3, 3], atol=1e-12)
    assert np.linalg.det(alignment.rotation) == pytest.approx(1)
    assert score_trajectory(estimate, truth).ate_sim3 == pytest.approx(0, abs=1e-12)


def test_alignments():
    truth = helix()
    estimate = truth.copy()
    estimate[:, :3, 3] *= 0.5
    assert align(estimate, truth, 'scale').scale == pytest.approx(2)
    np.testing.assert_allclose(align(estimate, truth, 'scale').apply(estimate), truth, atol=1e-9)
    np.testing.assert_array_equal(align(estimate, truth, 'none').apply(estimate), estimate)
    with pytest.raises(ConfigError, match="one of sim3, se3, scale, none, got 'SIM'"):
        align(estimate, truth, 'SIM')


def test_a_mirror_is_not_a_rotation():
    truth = helix()
    mirrored = truth.copy()
    mirrored[:, 0, 3] *= -1
    assert np.linalg.det(align(mirrored, truth, 'sim3').rotation) == pytest.approx(1)
    assert score_trajectory(mirrored, truth).ate_percent > 1


def test_short_sequences():
    truth = helix()[:5]
    score = score_trajectory(similar(truth), truth)
    assert score.ate_sim3 == pytest.approx(0, abs=1e-9)
    assert math.isnan(score.rotation_8_deg) and math.isnan(score.direction_8_deg)


def test_rounded_rotations_are_taken():
    truth = helix()
    rounded = truth.copy()
    rounded[:, :3, :3] = np.round(truth[:, :3, :3], 4)
    assert score_trajectory(rounded, truth).rotation_8_deg < 0.02
    assert score_trajectory(truth.astype(np.float32), truth).rotation_8_deg < 1e-4


@pytest.mark.parametrize('change, message', [
    (lambda p: p[:-1], 'as many estimated as true poses, got 99 and 100'),
    (lambda p: p[:, :3], r'estimate: expected poses \[N, 4, 4\], got shape \(100, 3, 4\)'),
    (lambda p: p[:0], 'estimate: expected poses, got none'),
    (lambda p: np.where(np.arange(100)[:, None, None] == 3, np.nan, p),
     'estimate: 1 of 100 poses are not finite .* first number 3'),
    (lambda p: p * 1.01, 'estimate: 100 of 100 poses hold no rotation'),
    (lambda p: p * np.array([-1, 1, 1, 1]), 'estimate: 100 of 100 poses hold no rotation'),
])
def test_refusals(change, message):
    with pytest.raises(EvaluationError, match=message):
        score_trajectory(change(helix()), helix())


def test_one_pose_is_refused():
    with pytest.raises(EvaluationError, match='at least 2 poses to compare, got 1'):
        score_trajectory(helix()[:1], helix()[:1])


def test_median_over_sequences():
    scores = [Score(64, 10.0, 1.0, a, a, 10 * a, 1.0, a, math.nan) for a in (0.1, 0.5, 0.2)]
    middle = median_score([*scores, Score(32, 10.0, 1.0, 0.2, 0.2, 2.0, 1.0, 0.2, 12.0)])
    assert middle.ate_sim3 == pytest.approx(0.2) and middle.direction_8_deg == 12.0
    assert middle.poses == 64
    with pytest.raises(EvaluationError, match='at least one sequence'):
        median_score([])
