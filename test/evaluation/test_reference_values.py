# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Published tools' values on real trajectories, where these are present."""

from __future__ import annotations

import json
import os
from pathlib import Path

from lingbot_ros.evaluation.alignment import align
from lingbot_ros.evaluation.association import associate
from lingbot_ros.evaluation.engine import absolute_errors, relative_errors
from lingbot_ros.evaluation.files import read_track
from lingbot_ros.evaluation.relative import Delta, segment_drift
from lingbot_ros.evaluation.result import evaluate, Settings
from lingbot_ros.evaluation.score import root_mean_square, score_trajectory
from lingbot_ros.geometry.rotation import matrix_from_quat_xyzw
import numpy as np
import pytest

DATA = Path(os.environ.get('LINGBOT_DATA', '/nonexistent')) / 'trajectories'
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason='LINGBOT_DATA is not set')


@pytest.fixture(scope='module')
def expected():
    return json.loads((DATA / 'expected.json').read_text())


def pair(estimate, truth):
    return associate(read_track(DATA / estimate), read_track(DATA / truth))


@pytest.mark.parametrize('estimate, truth, kind, name', [
    ('KITTI_00_ORB', 'KITTI_00_gt', 'se3', 'KITTI_00_ORB vs KITTI_00_gt, SE(3) Umeyama'),
    ('freiburg1_xyz-ORB_kf_mono', 'freiburg1_xyz-groundtruth', 'sim3',
     'freiburg1_xyz-ORB_kf_mono vs freiburg1_xyz-groundtruth, Sim(3) (-as)'),
    ('freiburg1_xyz-rgbdslam', 'freiburg1_xyz-groundtruth', 'se3',
     'freiburg1_xyz-rgbdslam vs freiburg1_xyz-groundtruth, SE(3) (-a)'),
    ('fr2_desk_ORB_kf_mono', 'fr2_desk_groundtruth', 'sim3',
     'fr2_desk_ORB_kf_mono vs fr2_desk_groundtruth, Sim(3) (-as)'),
])
def test_evo_ape(expected, estimate, truth, kind, name):
    matched = pair(f'evo/{estimate}.txt', f'evo/{truth}.txt')
    # Only the alignment under test is measured here: relative errors of 4,541 poses take long.
    errors = absolute_errors(align(matched.estimate, matched.truth, kind).apply(
        matched.estimate), matched.truth)
    values = expected['evo_ape'][name]
    found = {'rmse': root_mean_square(errors), 'mean': errors.mean(),
             'median': np.median(errors), 'max': errors.max()}
    for key in set(values) & set(found):
        assert found[key] == pytest.approx(values[key], abs=5e-6), key
    assert len(set(values) & set(found)) >= 3


def test_evo_rpe_over_ten_metres(expected):
    matched = pair('evo/KITTI_00_ORB.txt', 'evo/KITTI_00_gt.txt')
    result = evaluate(matched, Settings(
        alignment='none', deltas=(Delta(10, 'metres'),), all_pairs=False, pairs_from='estimate'))
    values = expected['evo_rpe']['KITTI_00_ORB vs gt, 10 m consecutive, not aligned']
    (one,) = result.relative
    assert one.translation.rmse == pytest.approx(values['rerun_evo_1.38.1']['rmse'], rel=0.05)
    assert one.translation.mean == pytest.approx(values['rerun_evo_1.38.1']['mean'], rel=0.05)


@pytest.mark.parametrize('sequence', ['09', '10'])
def test_kitti_odometry(expected, sequence):
    matched = pair(f'kitti_odom_eval/example_0_{sequence}.txt',
                   f'kitti_odom_eval/gt_{sequence}.txt')
    result = evaluate(matched, Settings(deltas=(Delta(1, 'frames'),)))
    values = expected['kitti_odom_eval example_0 --align 7dof'][sequence]
    assert result.drift.translation_percent == pytest.approx(values['t_err_percent'], rel=1e-5)
    assert result.ate['sim3'].rmse == pytest.approx(values['ate_m'], rel=1e-5)
    (one,) = result.relative
    assert one.translation.mean == pytest.approx(values['rpe_m'], rel=1e-5)
    # That tool takes the arc cosine of a trace that may exceed 3 by rounding, which turns small
    # angles into 0.
    assert result.drift.rotation_deg_per_100 == pytest.approx(values['r_err_deg_per_100m'],
                                                              rel=1e-4)
    assert one.rotation_deg.mean == pytest.approx(values['rpe_deg'], rel=0.01)


def test_tartanair(expected):
    def read(name):
        rows = np.loadtxt(DATA / 'tartanair' / name)
        poses = np.tile(np.eye(4), (len(rows), 1, 1))
        poses[:, :3, 3] = rows[:, :3]
        poses[:, :3, :3] = matrix_from_quat_xyzw(rows[:, 3:])
        return poses

    truth, estimate = read('pose_gt.txt'), read('pose_est.txt')
    values = expected['tartanair_evaluator scale=True']
    # That evaluator lays the truth over the estimate, and the error then in the truth's unit.
    back = align(truth, estimate, 'sim3')
    errors = absolute_errors(back.apply(truth), estimate)
    assert 1 / back.scale == pytest.approx(values['scale'], rel=1e-6)
    assert root_mean_square(errors) / back.scale == pytest.approx(values['ate'], rel=1e-6)
    # Which is a little larger than that of the estimate laid over the truth.
    forward = score_trajectory(estimate, truth)
    assert forward.ate_sim3 < values['ate'] < 1.01 * forward.ate_sim3
    # Its relative errors use the mean ratio of the steps as scale. The recorded values stand
    # under each other's names: it returns (rotation, translation), rotation in radians for
    # random pairs and degrees a metre for segments.
    steps = [np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1)
             for poses in (truth, estimate)]
    moving = steps[0] > 1e-4
    scaled = estimate.copy()
    scaled[:, :3, 3] /= (steps[1][moving] / steps[0][moving]).mean()
    lengths = [5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0]
    drift = segment_drift(scaled, truth, lengths, 1)
    means = np.array([drift[drift[:, 0] == length].mean(axis=0) for length in lengths])
    assert means[:, 1].mean() / 100 == pytest.approx(values['kitti_rot'], abs=2e-6)
    assert means[:, 2].mean() / 100 == pytest.approx(values['kitti_trans'], abs=2e-6)
    chosen = np.random.default_rng(0).integers(0, len(truth), (4000, 2)).tolist()
    translation, rotation = relative_errors(scaled, truth, [(i, j) for i, j in chosen])
    assert translation.mean() == pytest.approx(values['rpe_rot'], rel=0.05)
    assert np.radians(rotation).mean() == pytest.approx(values['rpe_trans'], rel=0.05)


def test_euroc_truth_of_another_camera_is_read():
    matched = pair('evo/V102.txt', 'euroc/V102_GT_left_cam.csv')
    # A key-frame trajectory with its own noise: only that the two belong together.
    assert len(matched.truth) > 700
    assert score_trajectory(matched.estimate, matched.truth).ate_percent < 1
