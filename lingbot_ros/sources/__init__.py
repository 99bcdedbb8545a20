# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bags, folders and videos as streams of frames; no ROS import."""
