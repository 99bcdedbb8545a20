# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From message buffers and files to RGB images; no ROS import."""
