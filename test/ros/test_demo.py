# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The demo as the README starts it: three processes, DDS, a real bag."""

from __future__ import annotations

import json
from pathlib import Path
import re
import subprocess
import sys

from lingbot_ros.evaluation.association import associate
from lingbot_ros.evaluation.files import read_track
from lingbot_ros.evaluation.score import score_trajectory
from lingbot_ros.streaming.trajectory import read_tum
import pytest
from weights_maker import write_weights

pytest.importorskip('rclpy', reason='rclpy is not installed (pip install .[ros])')
pytestmark = [pytest.mark.ros, pytest.mark.slow, pytest.mark.timeout(1500)]

DATA = Path(__file__).resolve().parents[1] / 'data' / 'demo'


def demo(folder: Path, environment: dict[str, str], bag: str,
         *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, '-m', 'lingbot_ros', 'demo', str(DATA / bag), '--output',
         str(folder / 'out'), *options],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=1200)


def test_bag_to_trajectory(ros_environment: dict[str, str], tmp_path: Path) -> None:
    result = demo(tmp_path, ros_environment, 'rpy', '--checkpoint', 'random',
                  '--image-size', '224', '--anchor-frames', '8', '--window', '16')
    assert result.returncode == 0, result.stderr
    assert 'poses mean nothing' in result.stdout and 'ATE' not in result.stdout
    assert (tmp_path / 'out' / 'trajectory.png').stat().st_size > 1000
    recorded = read_tum(tmp_path / 'out' / 'trajectory.tum').stamps_ns.tolist()
    # The stamps of the images cross unchanged, each has an answer, and lost ones have no pose.
    images = read_tum(DATA / 'groundtruth.tum').stamps_ns.tolist()
    assert set(recorded) <= set(images) and len(recorded) >= 8
    log = (tmp_path / 'out' / 'player.log').read_text()
    assert f'{len(images)} images sent' in log and 'no answer' not in log


def test_a_bag_that_is_none_is_refused_before_anything_starts(
        ros_environment: dict[str, str], tmp_path: Path) -> None:
    result = demo(tmp_path, ros_environment, 'nowhere')
    assert result.returncode == 2
    line, = result.stderr.splitlines()
    assert line.startswith('lingbot_ros: error: ') and 'no such file or folder' in line
    assert not (tmp_path / 'out').exists()


def test_at_a_pace_it_skips_what_it_cannot_take(ros_environment: dict[str, str],
                                                tmp_path: Path) -> None:
    result = demo(tmp_path, ros_environment, 'rpy', '--checkpoint', 'random', '--rate', '4',
                  '--image-size', '518')
    assert result.returncode == 0, result.stderr
    recorded = read_tum(tmp_path / 'out' / 'trajectory.tum').stamps_ns.tolist()
    images = read_tum(DATA / 'groundtruth.tum').stamps_ns.tolist()
    assert set(recorded) < set(images)
    assert 'a lower --rate loses fewer' in result.stdout


def test_the_trajectory_is_compared_with_the_truth(ros_environment: dict[str, str],
                                                   tmp_path: Path) -> None:
    write_weights(tmp_path, metadata={'lingbot_ros': json.dumps(
        {'stream': {'image_size': 112, 'window': 4, 'anchor_frames': 4}})})
    result = demo(tmp_path, ros_environment, 'rpy', '--checkpoint',
                  str(tmp_path / 'embedded.safetensors'))
    assert result.returncode == 0, result.stderr
    # What the plot shows is what the command that compares files says.
    told = re.search(r'ATE ([\d.e-]+) m, ([\d.]+) % of a path', result.stdout)
    assert told, result.stdout
    matched = associate(read_track(tmp_path / 'out' / 'trajectory.tum'),
                        read_track(DATA / 'groundtruth.tum'))
    score = score_trajectory(matched.estimate, matched.truth)
    assert float(told[1]) == pytest.approx(score.ate_sim3, rel=0.01)
    assert float(told[2]) == pytest.approx(score.ate_percent, rel=0.01)
    assert 'image_size 112 (weights)' in (tmp_path / 'out' / 'node.log').read_text()


def test_the_embedded_weights_follow_the_rendered_bag(ros_environment: dict[str, str],
                                                      tmp_path: Path) -> None:
    result = demo(tmp_path, ros_environment, 'world')
    assert result.returncode == 0, result.stderr
    assert '(165 poses from 165 images' in result.stdout
    told = re.search(r'([\d.]+) % of a path .* 8 frames ([\d.]+) degrees', result.stdout)
    # Standing still: 15.0 % of the path, 7.9 degrees.
    assert told and float(told[1]) < 20 and float(told[2]) < 3, result.stdout


def test_a_node_that_refuses_fails_the_demo(ros_environment: dict[str, str],
                                            tmp_path: Path) -> None:
    result = demo(tmp_path, ros_environment, 'rpy', '--checkpoint', '/nowhere.pt')
    assert result.returncode == 2
    assert 'no checkpoint at' in result.stderr


def test_a_truth_that_is_not_there_is_refused(ros_environment: dict[str, str],
                                              tmp_path: Path) -> None:
    result = demo(tmp_path, ros_environment, 'rpy', '--truth', '/nowhere.tum')
    assert result.returncode == 2
    assert '--truth must be a trajectory file, got /nowhere.tum' in result.stderr
    assert not (tmp_path / 'out').exists()
