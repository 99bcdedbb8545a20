# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The node: wiring only.

Callbacks only store. One worker thread loads the network, decodes, runs the session and
publishes, so that services and parameters answer while a frame is in the network.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import logging
import threading
from typing import Any

from lingbot_ros.errors import ImageError, LingbotError, NonFinitePoseError
from lingbot_ros.ros.declare import declare_parameters, read_dynamic
from lingbot_ros.ros.decode import decode_message
from lingbot_ros.ros.diagnostics import DiagnosticsPublisher, Status
from lingbot_ros.ros.engine import Engine, open_engine
from lingbot_ros.ros.publishers import Publishers, stamp_to_ns
from lingbot_ros.ros.qos import image_qos
from lingbot_ros.ros.tracker import Tracker
from lingbot_ros.ros.worker import Worker
import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import CompressedImage, Image
from std_srvs.srv import Trigger

THROTTLE_S = 5.0
"""Repeated errors are logged once in this time, seconds; the counters count them all."""

_KIND_LENGTH = 48  # enough for "image dropped: unknown encoding 'bayer_...'"
_MOST_KINDS = 64  # a sender of ever new encodings must not fill the memory

NO_CHECKPOINT = (
    'no checkpoint: set the parameter checkpoint to embedded (the small network in the package), '
    'to a .pt or .safetensors file (for example --ros-args -p '
    'checkpoint:=/path/to/lingbot-map.pt), or to random for a test whose poses mean nothing')

Received = tuple[Any, float]  # the message, and the steady time of its arrival in seconds


class RosLogHandler(logging.Handler):
    """
    Sends the records of Python's logging to the node's logger.

    Parameters
    ----------
    node : Node
        Whose logger is used.

    """

    def __init__(self, node: Node) -> None:
        super().__init__()
        self._logger = node.get_logger()

    def emit(self, record: logging.LogRecord) -> None:
        """Forward one record."""
        text = record.getMessage()
        if record.levelno >= logging.ERROR:
            self._logger.error(text)
        elif record.levelno >= logging.WARNING:
            self._logger.warning(text)
        else:
            self._logger.info(text)


class StreamNode(Node):
    """
    Images in, poses out.

    Parameters
    ----------
    finished : threading.Event
        Set when the node cannot go on; `exit_code` says why.
    engine : callable, optional
        Opens network and session from the parameter values; called in the worker thread.

    Raises
    ------
    ConfigError
        If a parameter is refused.

    """

    def __init__(self, finished: threading.Event,
                 engine: Callable[[Mapping[str, object]], Engine] = open_engine,
                 **options: Any) -> None:
        super().__init__('lingbot', **options)
        self.exit_code = 0
        self._finished = finished
        self._open_engine = engine
        self._logged_s: dict[str, float] = {}
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._values = declare_parameters(self)
        if not self._values['checkpoint']:
            raise LingbotError(NO_CHECKPOINT)
        self._compressed = self._values['image_transport'] == 'compressed'
        # Remapping `image` does not move `image/compressed`, so the name is resolved first.
        topic = self.resolve_topic_name('image') + ('/compressed' if self._compressed else '')
        self._status = Status(str(self._values['checkpoint']), topic)
        self._counters = self._status.counters
        self._tracker: Tracker | None = None
        self._outputs = Publishers(
            self, str(self._values['odom_frame']), str(self._values['camera_frame']),
            bool(self._values['publish_depth']), bool(self._values['endless']))
        self._diagnostics = DiagnosticsPublisher(self, self._status)
        self._log_handler = RosLogHandler(self)
        logging.getLogger('lingbot_ros').addHandler(self._log_handler)
        logging.getLogger('lingbot_ros').setLevel(logging.INFO)
        self._worker: Worker[Received] = Worker(
            self._load, self._process, self._refuse, self._recover)
        self._subscription = self.create_subscription(
            CompressedImage if self._compressed else Image, topic, self._on_image, image_qos())
        self._reset_service = self.create_service(Trigger, '~/reset', self._on_reset)
        self._worker.start()

    def stop(self, timeout_s: float) -> bool:
        """
        End the worker.

        Parameters
        ----------
        timeout_s : float
            How long to wait for a frame in the network, seconds.

        Returns
        -------
        bool
            Whether the worker ended.

        """
        ended = self._worker.stop(timeout_s)
        logging.getLogger('lingbot_ros').removeHandler(self._log_handler)
        return ended

    # Callbacks of the executor: they only store.

    def _on_image(self, message: Image | CompressedImage) -> None:
        now_s = self._now_s()
        self._counters.frames_in += 1
        self._status.last_image_s = now_s
        if self._worker.put((message, now_s)):
            self._counters.dropped['busy'] += 1

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = self._tracker is not None
        if self._tracker is None:
            response.message = 'the network is still loading; there is nothing to reset'
        else:
            self._tracker.request_reset('service call')
            response.message = 'the cache is dropped before the next frame; the pose goes on'
        return response

    # The worker thread.

    def _load(self) -> None:
        engine = self._open_engine(self._values)
        self._tracker = Tracker(engine.session, self._counters)
        self._status.engine = engine
        self.get_logger().info(
            f'ready: images from {self._status.image_topic}, device {engine.device}, dtype '
            f'{engine.dtype}, back end {engine.backend}, {engine.settings}; lengths in scene '
            'units, not metres')

    def _process(self, received: Received) -> None:
        message, received_s = received
        tracker, engine = self._tracker, self._status.engine
        assert tracker is not None and engine is not None
        try:
            image = decode_message(message)
            # Before the tracker resets for a new size: an image of no use must change nothing.
            engine.original_K(np.eye(3), image.shape[:2])
        except ImageError as error:
            self._counters.dropped['bad_image'] += 1
            self._log_throttled(f'image dropped: {error}')
            return
        dynamic = read_dynamic(self)
        try:
            tracker.set_window(dynamic.window or engine.trained.window)
        except LingbotError as error:
            self.get_logger().error(f'window stays {engine.session.window}: {error}')
        resets, late = self._counters.resets, self._counters.dropped['out_of_order']
        try:
            poses = tracker.push(image, stamp_to_ns(message.header.stamp), message.header)
        except (ImageError, NonFinitePoseError) as error:  # counted by the tracker
            self._log_throttled(f'image dropped: {error}')
            return
        finally:
            self._status.waiting = tracker.waiting
            if self._counters.resets > resets:
                self._log_throttled(f'reset: {self._counters.last_reset_reason}')
        if self._counters.dropped['out_of_order'] > late:
            self._log_throttled('image dropped: its stamp is not later than the one before')
        if self._worker.stopping or not poses:
            return
        for pose in poses:
            K = engine.original_K(pose.estimate.K, pose.original_size)
            self._outputs.publish(pose, K, dynamic)
        tracking = poses[-1].estimate.tracking
        if poses[-1].lost and tracking is not None:
            self._log_throttled(f'lost, nothing published: {tracking.reason}')
            return
        self._outputs.publish_path()
        self._status.processing_s.append(self._now_s() - received_s)
        stamp_ns = poses[-1].estimate.stamp_ns
        self._status.latency_s.append((self.get_clock().now().nanoseconds - stamp_ns) / 1e9)

    def _recover(self, error: Exception) -> None:
        assert self._tracker is not None
        self._tracker.abandon(error)
        self._status.waiting = self._tracker.waiting
        self._log_throttled(f'frame lost, the stream starts anew at the last pose: '
                            f'{type(error).__name__}: {error}')

    def _refuse(self, error: Exception) -> None:
        name = '' if isinstance(error, LingbotError) else f'{type(error).__name__}: '
        self.get_logger().fatal(f'cannot start: {name}{error}')
        self.exit_code = 2
        self._finished.set()

    def _log_throttled(self, text: str) -> None:
        # By what it begins with, so that one fault does not silence another.
        kind, now_s = text[:_KIND_LENGTH], self._now_s()
        if now_s - self._logged_s.get(kind, -THROTTLE_S) >= THROTTLE_S:
            self.get_logger().error(text)
            if len(self._logged_s) == _MOST_KINDS:
                self._logged_s.clear()
            self._logged_s[kind] = now_s

    def _now_s(self) -> float:
        return self._steady.now().nanoseconds / 1e9
