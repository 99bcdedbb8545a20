# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The demo as the README starts it: three processes, DDS, a real bag."""

from __future__ import annotations

from pathlib import Path
import subprocess
import sys

from lingbot_ros.streaming.trajectory import read_tum
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed (pip install .[ros])')
pytestmark = [pytest.mark.ros, pytest.mark.slow, pytest.mark.timeout(900)]

DATA = Path(__file__).resolve().parents[1] / 'data' / 'demo'


def demo(folder: Path, environment: dict[str, str],
         *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, '-m', 'lingbot_ros', 'demo', str(DATA / 'rpy'), '--output',
         str(folder / 'out'), *options],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=400)


def test_bag_to_trajectory(ros_environment: dict[str, str], tmp_path: Path) -> None:
    result = demo(tmp_path, ros_environment)
    assert result.returncode == 0, result.stderr
    assert 'poses mean nothing' in result.stdout
    assert (tmp_path / 'out' / 'trajectory.png').stat().st_size > 1000
    recorded = read_tum(tmp_path / 'out' / 'trajectory.tum').stamps_ns.tolist()
    # The stamps of the images cross unchanged. A busy machine may cost frames, anchors never.
    images = read_tum(DATA / 'groundtruth.tum').stamps_ns.tolist()
    assert set(recorded) <= set(images)
    assert len(recorded) >= 8


def test_a_node_that_refuses_fails_the_demo(ros_environment: dict[str, str],
                                            tmp_path: Path) -> None:
    result = demo(tmp_path, ros_environment, '--checkpoint', '/nowhere.pt')
    assert result.returncode == 2
    assert 'no checkpoint at' in result.stderr
