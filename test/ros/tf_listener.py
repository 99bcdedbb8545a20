# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Prints transforms and odometry of the node /lingbot as JSON lines until it is terminated.

The line "ready" comes first, when the node knows this listener.
"""

import json
import signal
import sys
import time

from nav_msgs.msg import Odometry
import rclpy
from rclpy.signals import SignalHandlerOptions
from ros_harness import Probe
from tf2_msgs.msg import TFMessage


def show(topic, header, child, position, turn):
    print(json.dumps([topic, header.stamp.sec, header.stamp.nanosec, header.frame_id, child,
                      position.x, position.y, position.z, turn.x, turn.y, turn.z, turn.w]),
          flush=True)


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    probe = Probe('tf_listener')
    heard = [probe.listen('/tf', TFMessage), probe.listen('/lingbot/odometry', Odometry)]
    probe.meet('/lingbot')
    print('"ready"', flush=True)
    shown = [0, 0]
    while True:
        for message in heard[0][shown[0]:]:
            shown[0] += 1
            for transform in message.transforms:
                show('tf', transform.header, transform.child_frame_id,
                     transform.transform.translation, transform.transform.rotation)
        for message in heard[1][shown[1]:]:
            shown[1] += 1
            show('odometry', message.header, message.child_frame_id, message.pose.pose.position,
                 message.pose.pose.orientation)
        time.sleep(0.02)


if __name__ == '__main__':
    main()
