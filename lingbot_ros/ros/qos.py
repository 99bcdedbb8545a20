# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Quality of service of every topic, a fresh profile each time.

rclpy's module constants are shared objects: overriding one changes it for the whole process.
"""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy


def _keep_last(depth: int, reliability: ReliabilityPolicy) -> QoSProfile:
    return QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=depth, reliability=reliability,
                      durability=DurabilityPolicy.VOLATILE)


def image_qos() -> QoSProfile:
    """Subscribe best effort: that hears reliable and best-effort cameras alike."""
    return _keep_last(5, ReliabilityPolicy.BEST_EFFORT)


def pose_qos() -> QoSProfile:
    """Publish small results that nobody should miss."""
    return _keep_last(10, ReliabilityPolicy.RELIABLE)


def latest_qos() -> QoSProfile:
    """Publish large results of which only the newest matters; reliable, as RViz asks for."""
    return _keep_last(1, ReliabilityPolicy.RELIABLE)


def tf_qos() -> QoSProfile:
    """Match tf2's own broadcaster."""
    return _keep_last(100, ReliabilityPolicy.RELIABLE)
