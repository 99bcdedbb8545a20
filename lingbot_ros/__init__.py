# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Camera images to a pose stream with a streaming vision transformer."""

from lingbot_ros.config import (
    CameraHeadConfig,
    DepthHeadConfig,
    EncoderConfig,
    NetworkConfig,
    StreamConfig,
)
from lingbot_ros.model.checkpoint import load_network
from lingbot_ros.model.network import Network
from lingbot_ros.records import Frame, PoseEstimate
from lingbot_ros.streaming.session import StreamSession

__version__ = '0.1.0'

__all__ = [
    'CameraHeadConfig',
    'DepthHeadConfig',
    'EncoderConfig',
    'Frame',
    'Network',
    'NetworkConfig',
    'PoseEstimate',
    'StreamConfig',
    'StreamSession',
    '__version__',
    'load_network',
]
