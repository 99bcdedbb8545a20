# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Waits for what a node says of each image: its pose, or on `~/tracking` that there is none."""

from __future__ import annotations

from collections import deque
import threading
import time

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from lingbot_ros.ros.qos import pose_qos
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

_POLL_S = 0.05
_KEPT = 2  # a pose and its state; a recording that loops has the same stamps again


class Answers:
    """
    Subscribes to the answers of a node.

    Parameters
    ----------
    node : Node
        Owns the subscription; nothing else spins it.
    name : str
        Of the stream_node, with its namespace.

    """

    def __init__(self, node: Node, name: str) -> None:
        self._stamps_ns: deque[int] = deque(maxlen=_KEPT)
        self._subscriptions = (
            node.create_subscription(PoseStamped, f'{name}/pose', self._on_pose, pose_qos()),
            node.create_subscription(DiagnosticStatus, f'{name}/tracking', self._on_tracking,
                                     pose_qos()))
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(node)
        self.missing = 0

    def wait_for(self, stamp_ns: int, limit_s: float, stop: threading.Event) -> None:
        """
        Return when the image with a stamp was answered, the time is up, or playing was stopped.

        Parameters
        ----------
        stamp_ns : int
            Of the image.
        limit_s : float
            How long to wait, seconds; images without an answer are counted in `missing`.
        stop : threading.Event
            Ends the wait.

        """
        end = time.monotonic() + limit_s
        while stamp_ns not in self._stamps_ns and not stop.is_set():
            if time.monotonic() >= end:
                self.missing += 1
                return
            self._executor.spin_once(timeout_sec=_POLL_S)

    def close(self) -> None:
        """End the executor, before its node goes."""
        self._executor.shutdown()

    def _on_pose(self, message: PoseStamped) -> None:
        stamp = message.header.stamp
        self._stamps_ns.append(stamp.sec * 1_000_000_000 + stamp.nanosec)

    def _on_tracking(self, message: DiagnosticStatus) -> None:
        self._stamps_ns.extend(int(value.value) for value in message.values
                               if value.key == 'stamp_ns' and value.value.isdecimal())
