# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Camera images to a pose stream with a streaming vision transformer."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from lingbot_ros.config import (
    CameraHeadConfig,
    DepthHeadConfig,
    EncoderConfig,
    NetworkConfig,
    StreamConfig,
)
from lingbot_ros.records import Frame, PoseEstimate, Tracking, TrackingState
from lingbot_ros.stream_parts import (
    AnchorConfig,
    KeyframeConfig,
    SegmentConfig,
    TrackingConfig,
)

if TYPE_CHECKING:
    from lingbot_ros.model.checkpoint import load_network
    from lingbot_ros.model.network import Network
    from lingbot_ros.model.recommended import recommended_stream
    from lingbot_ros.streaming.session import StreamSession

__version__ = '0.1.0'

__all__ = [
    'AnchorConfig',
    'CameraHeadConfig',
    'DepthHeadConfig',
    'EncoderConfig',
    'Frame',
    'KeyframeConfig',
    'Network',
    'NetworkConfig',
    'PoseEstimate',
    'SegmentConfig',
    'StreamConfig',
    'StreamSession',
    'Tracking',
    'TrackingConfig',
    'TrackingState',
    '__version__',
    'load_network',
    'recommended_stream',
]

# These import torch, which takes seconds; commands that do without it should not wait for it.
_LAZY = {
    'Network': 'lingbot_ros.model.network',
    'StreamSession': 'lingbot_ros.streaming.session',
    'load_network': 'lingbot_ros.model.checkpoint',
    'recommended_stream': 'lingbot_ros.model.recommended',
}


def __getattr__(name: str) -> object:
    """Import what needs torch at first use (PEP 562)."""
    if name not in _LAZY:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    value = vars(importlib.import_module(_LAZY[name]))[name]
    globals()[name] = value
    return value
