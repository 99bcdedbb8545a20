# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The ROS 2 node and its wiring; the only room that imports rclpy."""
