# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Camera process of the tests: publishes textures at a rate, stamped with the time of publishing.

    python image_publisher.py NODE TOPIC COUNT RATE_HZ WIDTH HEIGHT

It begins when NODE knows it, and prints the stamps.
"""

import sys
import time

import rclpy
from ros_harness import image_message, Probe, texture
from sensor_msgs.msg import Image


def main() -> None:
    target, topic, count, rate, width, height = *sys.argv[1:3], *map(int, sys.argv[3:])
    rclpy.init()
    probe = Probe('camera')
    publisher = probe.publisher(topic, Image)
    probe.meet(target)
    message = image_message(texture(height, width), 'rgb8', 0)
    begin = time.monotonic()
    for number in range(count):
        stamp_ns = time.time_ns()
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 10**9)
        publisher.publish(message)
        print(stamp_ns, flush=True)
        time.sleep(max(0.0, begin + (number + 1) / rate - time.monotonic()))
    # What is not read yet is lost when the publisher goes.
    time.sleep(1)
    probe.close()
    rclpy.shutdown()


if __name__ == '__main__':
    main()
