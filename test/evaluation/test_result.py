# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The whole record of one comparison."""

from __future__ import annotations

import json

from curves import helix, line, matched, similar
from lingbot_ros.errors import ConfigError
from lingbot_ros.evaluation.relative import Delta
from lingbot_ros.evaluation.result import evaluate, Settings, statistics
import numpy as np
import pytest


def noisy_line(count=400, noise=0.05):
    truth = line(count)
    truth[:, 0, 3] = 10 * np.sin(np.arange(count) / 50)
    estimate = truth.copy()
    estimate[:, :3, 3] += np.random.default_rng(0).normal(scale=noise, size=(count, 3))
    return estimate, truth


def test_a_similarity_is_perfect_under_sim3():
    truth = helix(200)
    result = evaluate(matched(similar(truth), truth, 0.05 * np.arange(200)))
    assert result.ate['sim3'].rmse == pytest.approx(0, abs=1e-9)
    assert result.ate['se3'].rmse > 1
    assert result.rotation_deg.max == pytest.approx(0, abs=1e-5)
    assert result.scale == pytest.approx(1 / 0.37)
    by_delta = {str(one.delta): one for one in result.relative}
    assert list(by_delta) == ['1 f', '8 f', '10 m', '1 s']
    for one in by_delta.values():
        assert one.translation.rmse == pytest.approx(0, abs=1e-9)
        assert one.rotation_deg.rmse == pytest.approx(0, abs=1e-5)
    assert by_delta['1 f'].translation.count == 199
    # 180, and two more whose partner at the end is within a tenth.
    assert by_delta['1 s'].translation.count == 182
    assert result.drift is None and result.drift_by_length == {}


def test_noise_shows_in_relative_errors_and_drift():
    result = evaluate(matched(*noisy_line()), Settings(deltas=(Delta(1, 'frames'),)))
    (one,) = result.relative
    # Two noisy ends of three axes each.
    assert one.translation.rmse == pytest.approx(0.05 * np.sqrt(6), rel=0.05)
    assert result.drift.segments == sum(d.segments for d in result.drift_by_length.values())
    assert set(result.drift_by_length) == {100.0, 200.0, 300.0, 400.0}
    assert result.drift_by_length[100.0].translation_percent == pytest.approx(
        100 * 0.05 * np.sqrt(6) * 0.92 / 100, rel=0.2)


def test_alignment_is_as_asked_for():
    truth = helix(100)
    half = truth.copy()
    half[:, :3, 3] *= 0.5
    for kind, error in (('sim3', 0), ('scale', 0), ('none', None), ('se3', None)):
        result = evaluate(matched(half, truth), Settings(alignment=kind))
        assert set(result.ate) == {'sim3', 'se3', kind}
        assert result.distances.mean() == pytest.approx(result.ate[kind].mean)
        if error == 0:
            assert result.ate[kind].rmse == pytest.approx(0, abs=1e-9)
            assert result.relative[0].translation.rmse == pytest.approx(0, abs=1e-9)
        else:
            assert result.ate[kind].rmse > 1 and result.scale == 1
            assert result.relative[0].translation.rmse > 0.01


def test_pairs_may_be_counted_along_the_estimate():
    truth = line(100)
    estimate = truth.copy()
    estimate[:, :3, 3] *= 2
    settings = Settings(alignment='none', deltas=(Delta(10, 'metres'),), all_pairs=False)
    assert evaluate(matched(estimate, truth), settings).relative[0].translation.count == 9
    settings = Settings(alignment='none', deltas=(Delta(10, 'metres'),), all_pairs=False,
                        pairs_from='estimate')
    assert evaluate(matched(estimate, truth), settings).relative[0].translation.count == 19


def test_baselines_only_when_asked_for():
    pair = matched(*noisy_line())
    assert evaluate(pair).baselines == {}
    baselines = evaluate(pair, Settings(baselines=True)).baselines
    assert list(baselines) == ['standing still', 'constant velocity']
    assert baselines['constant velocity'].ate_sim3 < baselines['standing still'].ate_sim3


def test_json_holds_no_nan():
    still = np.tile(np.eye(4), (5, 1, 1))
    result = evaluate(matched(still, still))
    text = json.dumps(result.as_dict(), allow_nan=False)
    record = json.loads(text)
    assert record['score']['ate_percent'] is None and record['score']['ate_sim3'] == 0
    assert record['rpe']['8 f'] == {'translation': None, 'rotation_deg': None}
    assert record['poses']['matched'] == 5 and record['drift'] is None


def test_statistics_are_those_of_numpy():
    values = np.array([1.0, 2.0, 6.0])
    found = statistics(values)
    assert (found.count, found.mean, found.median, found.min, found.max) == (3, 3, 2, 1, 6)
    assert found.rmse == pytest.approx(np.sqrt(41 / 3)) and found.std == pytest.approx(
        values.std())
    assert statistics(np.empty(0)) is None


@pytest.mark.parametrize('changes, message', [
    ({'alignment': 'x'}, 'alignment must be one of'),
    ({'pairs_from': 'x'}, "pairs_from must be 'truth' or 'estimate', got 'x'"),
    ({'segments': (0.0,)}, 'segment lengths must be above 0'),
    ({'segment_step': 0}, 'segment_step must be an integer >= 1'),
    ({'lag': 0}, 'lag must be an integer >= 1'),
])
def test_settings_are_checked(changes, message):
    with pytest.raises(ConfigError, match=message):
        Settings(**changes)
