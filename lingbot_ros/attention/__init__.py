# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Attention back ends over the paged cache, behind one protocol."""

from lingbot_ros.attention.backend import (
    AttentionBackend,
    BACKENDS,
    choose_backend,
    make_backend,
)
from lingbot_ros.attention.manager import FlashInferKVCacheManager

__all__ = ['BACKENDS', 'AttentionBackend', 'FlashInferKVCacheManager', 'choose_backend',
           'make_backend']
