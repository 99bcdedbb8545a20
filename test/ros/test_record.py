# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The recorder in its own process: every pose type, stamps to the nanosecond, every way to end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import Any

from lingbot_ros.streaming.trajectory import read_tum
import numpy as np
import pytest
from ros_harness import PATIENCE_S, wait_until

pytest.importorskip('rclpy', reason='rclpy is not installed (pip install .[ros])')
pytestmark = pytest.mark.ros

STAMP_NS = 1_305_031_236_193_597_001
PERIOD_NS = 33_333_333


@pytest.fixture()
def start_recorder(ros_environment: dict[str, str], tmp_path: Path) -> Iterator:
    processes: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        code = ('import sys; from pathlib import Path; from lingbot_ros.ros.record import record; '
                'print(record(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), '
                'float(sys.argv[4])))')
        processes.append(subprocess.Popen(
            [sys.executable, '-c', code, *arguments], cwd=tmp_path, env=ros_environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()


def messages(kind: Any, count: int) -> Iterator[Any]:
    for i in range(count):
        message = kind()
        sec, nanosec = divmod(STAMP_NS + i * PERIOD_NS, 1_000_000_000)
        message.header.stamp.sec, message.header.stamp.nanosec = sec, nanosec
        pose = message.pose if kind.__name__ == 'PoseStamped' else message.pose.pose
        pose.position.x = float(i)
        # A quarter turn about z.
        pose.orientation.z = pose.orientation.w = float(np.sqrt(0.5))
        yield message


def send(probe: Any, kind: Any, reliable: bool, count: int, topic: str) -> Any:
    # Waits for the recorder, which subscribes when it knows the publisher.
    publisher = probe.publisher(topic, kind, reliable)
    for message in messages(kind, count):
        publisher.publish(message)
        time.sleep(0.005)
    return publisher


@pytest.mark.parametrize(('package', 'name', 'reliable'), [
    ('geometry_msgs', 'PoseStamped', True),
    ('geometry_msgs', 'PoseWithCovarianceStamped', False),
    ('nav_msgs', 'Odometry', True),
])
def test_records_every_pose_type(start_recorder: Any, probe: Any, tmp_path: Path, package: str,
                                 name: str, reliable: bool) -> None:
    kind = vars(__import__(f'{package}.msg', fromlist=['msg']))[name]
    recorder = start_recorder(f'/record/{name}', 'out.tum', str(PATIENCE_S), '3')
    send(probe, kind, reliable, 20, f'/record/{name}')
    output, _ = recorder.communicate(timeout=2 * PATIENCE_S)
    assert recorder.returncode == 0
    assert 'Recording(poses=20, skipped=0)' in output
    trajectory = read_tum(tmp_path / 'out.tum')
    assert trajectory.stamps_ns.tolist() == [STAMP_NS + i * PERIOD_NS for i in range(20)]
    np.testing.assert_allclose(trajectory.positions[:, 0], np.arange(20))
    np.testing.assert_allclose(trajectory.poses[3, :3, :3],
                               [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-8)


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_the_file_is_whole(start_recorder: Any, probe: Any, tmp_path: Path,
                                                number: int) -> None:
    from geometry_msgs.msg import PoseStamped
    topic = f'/record/signal{number}'
    recorder = start_recorder(topic, 'out.tum', str(PATIENCE_S), '0')
    publisher = send(probe, PoseStamped, True, 5, topic)
    # The same stamps again, as of a bag that is played twice, and a new one behind them.
    again = list(messages(PoseStamped, 6))
    for message in (*again[:2], again[5]):
        publisher.publish(message)
    file = tmp_path / 'out.tum'
    wait_until(lambda: file.exists() and len(read_tum(file)) == 6, 'the sixth pose')
    recorder.send_signal(number)
    output, _ = recorder.communicate(timeout=PATIENCE_S)
    assert recorder.returncode == 0, output
    assert 'Recording(poses=6, skipped=2)' in output


def test_no_publisher(start_recorder: Any) -> None:
    recorder = start_recorder('/record/nobody', 'out.tum', '1', '0')
    output, _ = recorder.communicate(timeout=PATIENCE_S)
    assert 'no publisher on /record/nobody within 1 s' in output


def test_other_type(start_recorder: Any, probe: Any) -> None:
    from std_msgs.msg import Header
    probe.node.create_publisher(Header, '/record/header', 1)
    recorder = start_recorder('/record/header', 'out.tum', str(PATIENCE_S), '0')
    output, _ = recorder.communicate(timeout=2 * PATIENCE_S)
    assert '/record/header carries std_msgs/msg/Header' in output
