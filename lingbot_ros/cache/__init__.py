# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two-stream paged cache: page arithmetic apart from tensors."""

from lingbot_ros.cache.dense import DenseCache
from lingbot_ros.cache.paged import PagedCache
from lingbot_ros.cache.pool import PagePool
from lingbot_ros.cache.spec import FrameSlots, PageSpec, VisiblePages
from lingbot_ros.cache.table import PageTable

__all__ = ['DenseCache', 'FrameSlots', 'PagePool', 'PageSpec', 'PageTable', 'PagedCache',
           'VisiblePages']
