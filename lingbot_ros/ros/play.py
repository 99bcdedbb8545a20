# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
`lingbot_ros play`: the images of a recording as sensor_msgs/Image, at the pace of the recording.

Stamps are the original ones. Images of rosbag2 bags are sent as the bytes that were recorded;
everything else is sent as Image too, compressed images and pictures decoded to rgb8. For other
topics, seeking and pausing use `ros2 bag play`.
"""

from __future__ import annotations

import argparse
import array
from collections.abc import Iterator
from dataclasses import dataclass
import logging
import signal
import threading
import time
from typing import Any

from lingbot_ros.errors import ConfigError, ImageError, LingbotError, SourceError
from lingbot_ros.records import Frame
from lingbot_ros.ros.answers import Answers
from lingbot_ros.sources import BagSource, open_source
from lingbot_ros.sources.bag import IMAGE_TYPE, ImageMessage
from lingbot_ros.sources.base import Source
import rclpy
from rclpy.duration import Duration
from rclpy.exceptions import InvalidTopicNameException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Image

_log = logging.getLogger(__name__)

_CLOCK_PERIOD_S = 0.01
_SETTLE_S = 0.5
_POLL_S = 0.05
_ACK_S = 2.0
_ANSWER_S = 10.0
# A second of camera images: a reliable subscriber that stalls for so long still gets them all.
_DEPTH = 30
_CLOCK_DEPTH = 100


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1e9:
        raise ValueError
    return value


_seconds.__name__ = 'number >= 0'  # how argparse calls it


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `lingbot_ros play`."""
    parser.add_argument('input', metavar='BAG', help='bag, folder of pictures, or video')
    parser.add_argument('--topic', help='image topic of a bag; needed when it has several')
    parser.add_argument('--to', default='image', metavar='TOPIC',
                        help='topic to publish on (default image)')
    parser.add_argument('--rate', type=_seconds, default=1.0, metavar='R',
                        help='times the original pace (default 1); 0: as fast as subscribers '
                        'acknowledge')
    parser.add_argument('--answers', metavar='NODE',
                        help='send each image when this node (/lingbot) has answered the one '
                        f'before, or {_ANSWER_S:g} s have passed: a slow node then skips none')
    parser.add_argument('--loop', action='store_true',
                        help='begin again at the end; stamps jump back then')
    parser.add_argument('--wait-for-subscriber', type=_seconds, default=0.0, metavar='SECONDS',
                        help='wait this long for a subscriber before the first image')
    parser.add_argument('--qos', choices=('reliable', 'best_effort'), default='reliable',
                        help='reliable (default) reaches every subscriber')
    parser.add_argument('--clock', action='store_true',
                        help='publish /clock: the time of the recording, 100 times a second')


@dataclass(frozen=True, eq=False)
class _Outgoing:
    """An image ready to send, its stamp, and the time of the recording when it is due."""

    due_ns: int
    stamp_ns: int
    payload: Any


def _image(stamp_ns: int, frame_id: str, **fields: Any) -> Image:
    data = fields.pop('data')
    message = Image(**fields)
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 1_000_000_000)
    message.header.frame_id = frame_id
    # An array.array is the only thing rclpy takes without looking at every byte.
    message.data = array.array('B', data.tobytes())
    return message


def _from_message(item: ImageMessage) -> Any:
    recorded = item.message
    if item.msgtype != IMAGE_TYPE:
        return _from_frame(Frame(item.decode(), item.stamp_ns, recorded.header.frame_id))
    if item.cdr is not None and (recorded.header.stamp.sec or recorded.header.stamp.nanosec):
        return item.cdr
    return _image(item.stamp_ns, recorded.header.frame_id, data=recorded.data,
                  height=int(recorded.height), width=int(recorded.width),
                  encoding=recorded.encoding, is_bigendian=int(recorded.is_bigendian),
                  step=int(recorded.step))


def _from_frame(frame: Frame) -> Image:
    height, width = frame.image.shape[:2]
    return _image(frame.stamp_ns, frame.frame_id, data=frame.image, height=height, width=width,
                  encoding='rgb8', is_bigendian=0, step=3 * width)


def _outgoing(source: Source) -> Iterator[_Outgoing]:
    if not isinstance(source, BagSource):
        for frame in source:
            yield _Outgoing(frame.stamp_ns, frame.stamp_ns, _from_frame(frame))
        return
    for number, item in enumerate(source.messages(), 1):
        try:
            yield _Outgoing(item.log_ns, item.stamp_ns, _from_message(item))
        except ImageError as error:
            _log.warning('image %d not sent: %s', number, error)


class _Player:
    """Publishes in time, and can be told to stop at any moment."""

    def __init__(self, node: Node, args: argparse.Namespace, stop: threading.Event) -> None:
        reliable = args.qos == 'reliable'
        self._images = node.create_publisher(Image, args.to, QoSProfile(
            history=HistoryPolicy.KEEP_LAST, depth=_DEPTH, durability=DurabilityPolicy.VOLATILE,
            reliability=ReliabilityPolicy.RELIABLE if reliable else
            ReliabilityPolicy.BEST_EFFORT))
        self._clock = (
            node.create_publisher(Clock, '/clock', _CLOCK_DEPTH) if args.clock else None)
        self.answers = Answers(node, args.answers) if args.answers else None
        self._reliable = reliable
        self._rate = args.rate
        self._stop = stop
        self.topic = self._images.topic_name

    def wait_for_subscriber(self, seconds: float) -> None:
        """Return when there is one or playing was stopped; raises LingbotError when none came."""
        end = time.monotonic() + seconds
        while not self._images.get_subscription_count() and not self._stop.is_set():
            if time.monotonic() >= end:
                raise LingbotError(f'no subscriber of {self.topic} within {seconds:g} s; start it '
                                   'first, or compare ROS_DOMAIN_ID and topic names')
            self._stop.wait(_POLL_S)
        # We know the subscriber now, but it may not know us yet: what is sent before it does is
        # lost to one that listens best effort.
        self._stop.wait(_SETTLE_S)

    def play(self, source: Source) -> int:
        """Publish a source once; returns how many images were sent."""
        sent = 0
        first_ns = begin = 0.0
        for item in _outgoing(source):
            if not sent:
                first_ns, begin = item.due_ns, time.monotonic()
            self._wait_until(item.due_ns, first_ns, begin)
            if self._stop.is_set():
                break
            self._images.publish(item.payload)
            sent += 1
            if self._rate == 0 and self._reliable:
                self._images.wait_for_all_acked(Duration(seconds=_ACK_S))
            if self.answers is not None:
                self.answers.wait_for(item.stamp_ns, _ANSWER_S, self._stop)
        return sent

    def finish(self) -> None:
        """Wait a moment for what was sent last; leaving at once would lose it."""
        if self._stop.is_set():
            return
        if self._reliable:
            self._images.wait_for_all_acked(Duration(seconds=_ACK_S))
        if self._clock is not None:
            self._clock.wait_for_all_acked(Duration(seconds=_ACK_S))
        # Best-effort subscribers acknowledge nothing; what they have not read yet goes with us.
        self._stop.wait(_SETTLE_S)

    def close(self) -> None:
        """Let go of the node."""
        if self.answers is not None:
            self.answers.close()

    def _wait_until(self, due_ns: int, first_ns: float, begin: float) -> None:
        while self._rate and not self._stop.is_set():
            left = begin + (due_ns - first_ns) / 1e9 / self._rate - time.monotonic()
            if left <= 0:
                break
            if self._clock is None:
                self._stop.wait(left)
            else:
                self._tell_time(due_ns - round(left * self._rate * 1e9))
                self._stop.wait(min(left, _CLOCK_PERIOD_S))
        if self._clock is not None:
            self._tell_time(due_ns)

    def _tell_time(self, now_ns: int) -> None:
        assert self._clock is not None
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(now_ns, 1_000_000_000)
        self._clock.publish(message)


def run(args: argparse.Namespace) -> int:
    """
    Play a recording.

    Returns
    -------
    int
        0 also when ended by SIGINT or SIGTERM.

    Raises
    ------
    LingbotError
        Nothing can be read, nothing was sent, or no subscriber came; one line.

    """
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with open_source(args.input, args.topic) as source:
        _log.info('%s', source.describe())
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        node = rclpy.create_node('lingbot_play', enable_rosout=False,
                                 start_parameter_services=False)
        try:
            try:
                player = _Player(node, args, stop)
            except InvalidTopicNameException as error:
                raise ConfigError('--to must be a topic and --answers a node, got '
                                  f'{args.to!r} and {args.answers!r}: {error.args[0]}') from error
            if args.wait_for_subscriber:
                player.wait_for_subscriber(args.wait_for_subscriber)
            begin, sent = time.monotonic(), 0
            while not stop.is_set():
                now = player.play(source)
                sent += now
                if not args.loop or not now:
                    break
            seconds = time.monotonic() - begin
            player.finish()
            player.close()
        finally:
            node.destroy_node()
            rclpy.shutdown()
    if not sent and not stop.is_set():
        raise SourceError(f'{args.input}: no image could be sent')
    _log.info('%d images sent on %s in %.1f s', sent, player.topic, seconds)
    if player.answers is not None and player.answers.missing:
        _log.warning('%d of them had no answer of %s', player.answers.missing, args.answers)
    return 0
