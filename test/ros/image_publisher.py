# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Camera process of the tests: publishes textures at a rate, stamped with the time of publishing.

    python image_publisher.py TOPIC COUNT RATE_HZ WIDTH HEIGHT [jpeg]
"""

import array
import sys
import time

import cv2
import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy
from ros_harness import image_message, texture
from sensor_msgs.msg import CompressedImage, Image


def main() -> None:
    topic, count, rate, width, height = sys.argv[1], *map(int, sys.argv[2:6])
    compressed = sys.argv[6:] == ['jpeg']
    rclpy.init()
    node = rclpy.create_node('camera')
    publisher = node.create_publisher(
        CompressedImage if compressed else Image, topic,
        QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT))
    picture = texture(height, width)
    while not publisher.get_subscription_count():
        time.sleep(0.02)
    time.sleep(0.2)
    message = image_message(picture, 'rgb8', 0)
    if compressed:
        message = CompressedImage(header=message.header, format='rgb8; jpeg compressed bgr8')
        message.data = array.array('B', cv2.imencode('.jpg', picture)[1].tobytes())
    begin = time.monotonic()
    for number in range(count):
        stamp_ns = time.time_ns()
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 10**9)
        publisher.publish(message)
        print(stamp_ns, flush=True)
        time.sleep(max(0.0, begin + (number + 1) / rate - time.monotonic()))
    time.sleep(0.5)
    node.destroy_node()
    rclpy.shutdown()


if __name__ == '__main__':
    main()
