# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Paths that saw no image: what they are, and that nothing of their kind is nearer."""

from __future__ import annotations

from curves import helix, line, similar, turned
from lingbot_ros.evaluation.baselines import constant_velocity, standing_still
from lingbot_ros.evaluation.score import score_trajectory
import numpy as np
import pytest


def test_a_constant_velocity_truth_is_found_again():
    truth = similar(turned(line(60, 0.3), 1.5 * np.arange(60), 'y'))
    np.testing.assert_allclose(constant_velocity(truth), truth, atol=1e-9)
    score = score_trajectory(constant_velocity(truth), truth)
    assert score.ate_sim3 == pytest.approx(0, abs=1e-9)
    assert score.rotation_8_deg == pytest.approx(0, abs=1e-5)
    assert score.direction_8_deg == pytest.approx(0, abs=1e-5)


def test_it_moves_evenly():
    path = constant_velocity(helix())
    steps = np.diff(path[:, :3, 3], axis=0)
    np.testing.assert_allclose(steps, np.broadcast_to(steps[0], steps.shape), atol=1e-12)
    rotations = path[:, :3, :3]
    turns = rotations[:-1].transpose(0, 2, 1) @ rotations[1:]
    np.testing.assert_allclose(turns, np.broadcast_to(turns[0], turns.shape), atol=1e-12)


def test_no_other_line_is_nearer():
    truth = helix()
    best = score_trajectory(constant_velocity(truth), truth).ate_sim3
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = constant_velocity(truth)
        other[:, :3, 3] += np.outer(np.arange(100) - 49.5, rng.normal(scale=1e-3, size=3))
        # Compared without a fit, which would only undo the change.
        error = np.sqrt(((other - truth)[:, :3, 3] ** 2).sum(1).mean())
        assert error > best
    assert best < score_trajectory(standing_still(truth), truth).ate_sim3


def test_standing_still_is_the_spread():
    truth = helix()
    spread = np.sqrt(((truth[:, :3, 3] - truth[:, :3, 3].mean(0)) ** 2).sum(1).mean())
    assert score_trajectory(standing_still(truth), truth).ate_sim3 == pytest.approx(spread)


def test_a_path_without_a_trend_leaves_no_velocity():
    # Even in time about its middle: the best line stands still.
    truth = np.tile(np.eye(4), (100, 1, 1))
    truth[:, 0, 3] = np.cos(2 * np.pi * (np.arange(100) - 49.5) / 100)
    score = score_trajectory(constant_velocity(truth), truth)
    assert score.ate_sim3 == pytest.approx(
        score_trajectory(standing_still(truth), truth).ate_sim3)
