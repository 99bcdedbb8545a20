# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A network with a stem that trains in moments."""

from lingbot_ros.config import CameraHeadConfig, DepthHeadConfig, EncoderConfig, NetworkConfig

SMALL = NetworkConfig(
    width=64, blocks=4, heads=1, taps=(0, 1, 2, 3), patch_px=8,
    encoder=EncoderConfig(kind='stem', grid=5, channels=(8, 16)),
    camera=CameraHeadConfig(blocks=1, heads=1),
    depth=DepthHeadConfig(channels=(8, 8, 16, 16), features=16))
