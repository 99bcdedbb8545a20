# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two-stream paged cache: page arithmetic apart from tensors."""

from __future__ import annotations

import importlib
from typing import Any, TYPE_CHECKING

from lingbot_ros.cache.dense import DenseCache
from lingbot_ros.cache.paged import PagedCache, PreparedSlots
from lingbot_ros.cache.pool import PagePool
from lingbot_ros.cache.spec import FrameKind, FrameSlots, PageSpec, VisiblePages
from lingbot_ros.cache.table import PageTable

if TYPE_CHECKING:
    from lingbot_ros.attention.manager import FlashInferKVCacheManager

__all__ = ['DenseCache', 'FlashInferKVCacheManager', 'FrameKind', 'FrameSlots', 'PagePool',
           'PageSpec', 'PageTable', 'PagedCache', 'PreparedSlots', 'VisiblePages']


def __getattr__(name: str) -> Any:
    # The compatibility manager is known by this address, but it runs attention, and attention
    # stands above the cache. Resolved at first use, so that importing the cache imports nothing
    # from above.
    if name == 'FlashInferKVCacheManager':
        return importlib.import_module('lingbot_ros.attention.manager').FlashInferKVCacheManager
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
