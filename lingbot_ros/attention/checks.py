# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Argument checks that all back ends share."""

from __future__ import annotations

import torch

from lingbot_ros.cache.paged import check_tensor
from lingbot_ros.cache.spec import VisiblePages
from lingbot_ros.errors import ShapeError


def check_visible(visible: VisiblePages, page_size: int, queries: int) -> None:
    """
    Check the arguments of ``plan``.

    Raises
    ------
    ShapeError
        If the page size is not the back end's, or there are no queries.

    """
    if visible.page_size != page_size:
        raise ShapeError(f'pages must hold {page_size} tokens, got {visible.page_size}; make the '
                         'back end with the page size of the cache')
    if queries < 1:
        raise ShapeError(f'queries must be >= 1, got {queries}')


def check_queries(q: torch.Tensor, shape: tuple[int, int, int], dtype: torch.dtype,
                  device: torch.device) -> None:
    """
    Check the queries of ``run`` against the plan.

    Raises
    ------
    ShapeError
        Naming expected and got.

    """
    check_tensor('q', q, shape, dtype, device)


def check_pool(pages: torch.Tensor, page: tuple[int, int, int], dtype: torch.dtype,
               device: torch.device) -> None:
    """
    Check the pool of ``run``: ``[pages, 2, page_size, heads, head_dim]``, contiguous.

    Raises
    ------
    ShapeError
        Naming expected and got.

    """
    check_tensor('pages', pages, (pages.shape[0], 2, *page), dtype, device)
