# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Prints transforms and odometry as JSON lines until it is terminated."""

import json
import signal
import sys

from nav_msgs.msg import Odometry
import rclpy
from rclpy.signals import SignalHandlerOptions
from tf2_msgs.msg import TFMessage


def show(topic, header, child, position, turn):
    print(json.dumps([topic, header.stamp.sec, header.stamp.nanosec, header.frame_id, child,
                      position.x, position.y, position.z, turn.x, turn.y, turn.z, turn.w]),
          flush=True)


def on_tf(message):
    for transform in message.transforms:
        show('tf', transform.header, transform.child_frame_id, transform.transform.translation,
             transform.transform.rotation)


def on_odometry(message):
    show('odometry', message.header, message.child_frame_id, message.pose.pose.position,
         message.pose.pose.orientation)


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('tf_listener')
    node.create_subscription(TFMessage, '/tf', on_tf, 100)
    node.create_subscription(Odometry, '/lingbot/odometry', on_odometry, 100)
    while True:
        rclpy.spin_once(node, timeout_sec=0.05)


if __name__ == '__main__':
    main()
