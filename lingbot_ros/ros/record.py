# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
`lingbot_ros record`: a pose topic to a TUM file, a line as each message comes.

The type and the reliability are taken from the publisher, so the caller names only the topic. The
file is readable at any moment and complete when the process ends, also by a signal.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
import logging
from pathlib import Path
import time
from types import TracebackType
from typing import Any

from geometry_msgs.msg import Pose, PoseStamped, PoseWithCovarianceStamped
from lingbot_ros.errors import ConfigError, SourceError
from lingbot_ros.geometry.rotation import matrix_from_quat_xyzw
from lingbot_ros.streaming.trajectory import LateFile, tum_line
from nav_msgs.msg import Odometry
import numpy as np
import rclpy
from rclpy.exceptions import InvalidTopicNameException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

_log = logging.getLogger(__name__)

_POSES: dict[str, tuple[type, Callable[[Any], Pose]]] = {
    'geometry_msgs/msg/PoseStamped': (PoseStamped, lambda message: message.pose),
    'geometry_msgs/msg/PoseWithCovarianceStamped': (
        PoseWithCovarianceStamped, lambda message: message.pose.pose),
    'nav_msgs/msg/Odometry': (Odometry, lambda message: message.pose.pose),
}
_DEPTH = 100
_POLL_S = 0.1


@dataclass(frozen=True)
class Recording:
    """
    What was recorded.

    Attributes
    ----------
    poses : int
        Lines written.
    skipped : int
        Messages left out because their stamp was not later than the one before.

    """

    poses: int
    skipped: int


class Recorder:
    """
    Subscribe to one pose topic and append to one file.

    Parameters
    ----------
    node : Node
        Owner of the subscription.
    topic : str
        Fully qualified topic.
    output : Path
        TUM file; an existing one is replaced when the first pose comes.

    """

    def __init__(self, node: Node, topic: str, output: Path) -> None:
        self._node = node
        self._topic = topic
        self._output = output
        self._file: LateFile | None = None
        self._pose: Callable[[Any], Pose] | None = None
        self._last_ns: int | None = None
        self.poses = 0
        self.skipped = 0
        self.heard_at = time.monotonic()

    def __enter__(self) -> Recorder:
        """Return the recorder itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.__exit__(kind, error, trace)

    @property
    def subscribed(self) -> bool:
        """Whether a publisher was found."""
        return self._pose is not None

    def look(self) -> None:
        """
        Subscribe once the topic has a publisher.

        Raises
        ------
        SourceError
            If the topic carries something other than poses.

        """
        publishers = self._node.get_publishers_info_by_topic(self._topic)
        if not publishers:
            return
        name = publishers[0].topic_type
        if name not in _POSES:
            raise SourceError(f'{self._topic} carries {name}, expected one of {", ".join(_POSES)}')
        message_type, self._pose = _POSES[name]
        reliable = all(publisher.qos_profile.reliability == ReliabilityPolicy.RELIABLE
                       for publisher in publishers)
        profile = QoSProfile(depth=_DEPTH, reliability=ReliabilityPolicy.RELIABLE if reliable
                             else ReliabilityPolicy.BEST_EFFORT)
        self._node.create_subscription(message_type, self._topic, self._store, profile)
        self._node.get_logger().info(f'recording {self._topic} ({name})')

    def _store(self, message: Any) -> None:
        assert self._pose is not None
        self.heard_at = time.monotonic()
        stamp_ns = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
        if self._last_ns is not None and stamp_ns <= self._last_ns:
            self.skipped += 1
            return
        self._last_ns = stamp_ns
        pose = self._pose(message)
        position, q = pose.position, pose.orientation
        transform = np.eye(4)
        transform[:3, :3] = matrix_from_quat_xyzw(np.array([q.x, q.y, q.z, q.w]))
        transform[:3, 3] = position.x, position.y, position.z
        if self._file is None:
            self._file = LateFile(self._output, (
                f'# {self._topic} as published, poses in {message.header.frame_id}\n'
                '# timestamp tx ty tz qx qy qz qw\n'))
        self._file.write(f'{tum_line(stamp_ns, transform)}\n')
        self.poses += 1


def record(topic: str, output: Path, wait_s: float = 0.0, idle_s: float = 0.0) -> Recording:
    """
    Record until interrupted, or until the topic falls silent.

    Parameters
    ----------
    topic : str
        Topic of PoseStamped, PoseWithCovarianceStamped or Odometry messages.
    output : Path
        TUM file, poses as published: the frame of the message's header is the world.
    wait_s : float
        Seconds to wait for a publisher; 0 waits for ever.
    idle_s : float
        Seconds of silence after the first pose that end the recording; 0 means never.

    Returns
    -------
    Recording
        Counts.

    Raises
    ------
    SourceError
        If no publisher came in time, or the topic carries no poses.
    ConfigError
        If the topic is no valid name, or the file cannot be created.

    """
    rclpy.init()
    node = Node('lingbot_record')
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    started = time.monotonic()
    try:
        resolved = node.resolve_topic_name(topic)
    except InvalidTopicNameException as error:
        rclpy.try_shutdown()
        raise ConfigError(f'expected a topic name, got {topic!r}: {error.args[0]}') from error
    with Recorder(node, resolved, output) as recorder:
        try:
            while True:
                executor.spin_once(timeout_sec=_POLL_S)
                now = time.monotonic()
                if not recorder.subscribed:
                    recorder.look()
                    if wait_s and now - started > wait_s and not recorder.subscribed:
                        raise SourceError(f'no publisher on {topic} within {wait_s:g} s; is the '
                                          'node running, in this ROS_DOMAIN_ID, under this name?')
                elif idle_s and recorder.poses and now - recorder.heard_at > idle_s:
                    break
        except (KeyboardInterrupt, ExternalShutdownException):
            pass
        finally:
            executor.shutdown()
            node.destroy_node()
            rclpy.try_shutdown()
    return Recording(recorder.poses, recorder.skipped)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `lingbot_ros record`."""
    parser.add_argument('topic', metavar='TOPIC', nargs='?', default='/lingbot/pose',
                        help='PoseStamped, PoseWithCovarianceStamped or Odometry '
                        '(default /lingbot/pose)')
    parser.add_argument('--output', type=Path, default=Path('recorded.tum'), metavar='FILE',
                        help='TUM trajectory (default recorded.tum)')
    parser.add_argument('--wait', type=float, default=0.0, metavar='SECONDS',
                        help='give up when the topic has no publisher by then (default: never)')
    parser.add_argument('--idle', type=float, default=0.0, metavar='SECONDS',
                        help='end after this much silence behind the last pose (default: end by '
                        'Ctrl-C alone)')


def run(args: argparse.Namespace) -> int:
    """Run the command; 1 when nothing was recorded."""
    recording = record(args.topic, args.output, args.wait, args.idle)
    _log.info('%d poses in %s, %d messages with old stamps left out', recording.poses,
              args.output, recording.skipped)
    return 0 if recording.poses else 1
