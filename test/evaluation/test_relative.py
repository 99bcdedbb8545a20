# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs, relative errors and drift of paths whose errors are known beforehand."""

from __future__ import annotations

from curves import helix, line, turns
from lingbot_ros.errors import ConfigError
from lingbot_ros.evaluation.engine import relative_errors
from lingbot_ros.evaluation.relative import Delta, find_pairs, segment_drift
import numpy as np
import pytest


@pytest.mark.parametrize('text, value, unit', [
    ('8f', 8, 'frames'), ('10m', 10, 'metres'), ('0.5s', 0.5, 'seconds'), (' 1 f ', 1, 'frames'),
    ('1e2m', 100, 'metres')])
def test_deltas_are_read(text, value, unit):
    assert Delta.parse(text) == Delta(value, unit)
    assert Delta.parse(str(Delta.parse(text))) == Delta.parse(text)


@pytest.mark.parametrize('text', ['', '8', 'f', '0f', '-1m', '1.5f', '8 frames', 'nanm', '1e-s',
                                  'infs', '1e999m'])
def test_broken_deltas_are_quoted(text):
    with pytest.raises(ConfigError, match=f"like 8f, 10m or 0.5s, got '{text}'"):
        Delta.parse(text)


def test_pairs_over_frames():
    poses = line(10)
    assert find_pairs(poses, Delta(4, 'frames'), True, None) == [(i, i + 4) for i in range(6)]
    assert find_pairs(poses, Delta(4, 'frames'), False, None) == [(0, 4), (4, 8)]
    assert find_pairs(poses, Delta(10, 'frames'), True, None) == []


def test_pairs_over_metres():
    poses = line(10, 0.5)
    assert find_pairs(poses, Delta(2, 'metres'), True, None) == [(i, i + 4) for i in range(6)]
    assert find_pairs(poses, Delta(2, 'metres'), False, None) == [(0, 4), (4, 8)]
    # No two poses lie 0.75 m apart to a tenth; the first at least as far is 1 m away.
    assert find_pairs(poses, Delta(0.75, 'metres'), True, None) == []
    assert find_pairs(poses, Delta(0.75, 'metres'), False, None)[0] == (0, 2)


def test_pairs_over_seconds():
    poses = line(10)
    seconds = 0.1 * np.arange(10)
    assert find_pairs(poses, Delta(0.4, 'seconds'), True, seconds) == [
        (i, i + 4) for i in range(6)]
    assert find_pairs(poses, Delta(0.4, 'seconds'), False, seconds) == [(0, 4), (4, 8)]
    assert find_pairs(poses, Delta(0.25, 'seconds'), True, seconds) == []
    assert find_pairs(poses, Delta(0.4, 'seconds'), True, None) == []
    gap = np.concatenate([seconds[:5], seconds[5:] + 10])
    assert find_pairs(poses, Delta(0.4, 'seconds'), True, gap) == [(0, 4), (5, 9)]
    # Consecutive pairs never stand still, however small the delta is.
    assert find_pairs(poses, Delta(0.01, 'seconds'), False, seconds) == [
        (i, i + 1) for i in range(9)]


def test_relative_errors_of_a_constant_slip():
    truth = line(50)
    estimate = truth.copy()
    estimate[:, 0, 3] = 0.02 * np.arange(50)
    estimate[:, :3, :3] = turns(0.5 * np.arange(50), 'z')
    translation, rotation = relative_errors(
        estimate, truth, find_pairs(truth, Delta(10, 'frames'), True, None))
    assert len(translation) == 40
    np.testing.assert_allclose(translation, 0.2, atol=1e-9)
    np.testing.assert_allclose(rotation, 5.0, atol=1e-9)


def test_drift_of_a_scale_error():
    truth = line(1001)
    estimate = truth.copy()
    estimate[:, :3, 3] *= 1.02
    drift = segment_drift(estimate, truth)
    # A segment ends with the first frame further along than its length: one metre beyond.
    np.testing.assert_allclose(drift[:, 1], 2 * (drift[:, 0] + 1) / drift[:, 0], atol=1e-9)
    np.testing.assert_allclose(drift[:, 2], 0, atol=1e-6)
    assert set(drift[:, 0]) == {100, 200, 300, 400, 500, 600, 700, 800}
    assert (drift[:, 0] == 800).sum() == 20 and (drift[:, 0] == 100).sum() == 90


def test_drift_of_a_turn():
    truth = line(1001)
    estimate = truth.copy()
    # One degree in a hundred metres about the direction of travel: no translation error.
    estimate[:, :3, :3] = turns(0.01 * np.arange(1001), 'z')
    drift = segment_drift(estimate, truth, (100.0,), 1)
    assert len(drift) == 900
    np.testing.assert_allclose(drift[:, 1], 0, atol=1e-9)
    np.testing.assert_allclose(drift[:, 2], 1.01, atol=1e-6)


def test_segments_begin_at_frame_numbers():
    truth = line(40)
    assert len(segment_drift(truth, truth, (5.0,), 10)) == 4
    numbers = np.arange(4, 44)  # begins at 10, 20, 30; the segment from 40 is too short
    assert len(segment_drift(truth, truth, (5.0,), 10, numbers)) == 3


def test_short_paths_have_no_segments():
    truth = helix()
    assert segment_drift(truth, truth).shape == (0, 3)
