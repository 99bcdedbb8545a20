# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Argument checks that all back ends share."""

from __future__ import annotations

from lingbot_ros.cache.paged import check_tensor
from lingbot_ros.cache.spec import VisiblePages
from lingbot_ros.errors import CacheError, ShapeError
import torch


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


def check_run(q: torch.Tensor, q_dtype: torch.dtype, visible: VisiblePages | None, queries: int,
              pages: torch.Tensor, page: tuple[int, int, int], dtype: torch.dtype,
              device: torch.device) -> VisiblePages:
    """
    Check the arguments of ``run`` against the plan.

    Parameters
    ----------
    q, pages : Tensor
        The arguments: queries, and the pool of a layer.
    q_dtype, dtype : torch.dtype
        Expected of the queries and of the pool.
    visible, queries
        The plan; None when there is none.
    page : tuple of int
        Page size, heads, head_dim of the back end.
    device : torch.device
        Expected of both.

    Returns
    -------
    VisiblePages
        The planned ones.

    Raises
    ------
    CacheError
        If nothing was planned.
    ShapeError
        Naming expected and got.

    """
    if visible is None:
        raise CacheError('run needs a plan; call plan once a frame before')
    check_tensor('q', q, (queries, *page[1:]), q_dtype, device)
    count = pages.shape[0] if pages.ndim else 0
    check_tensor('pages', pages, (count, 2, *page), dtype, device)
    if not pages.is_contiguous():
        raise ShapeError('pages must be contiguous, got strides '
                         f'{pages.stride()}; pass the pool itself')
    if visible.highest >= count:
        raise ShapeError(f'pages must hold the planned page {visible.highest}, got {count} '
                         'pages; resize the cache when the table grows')
    return visible
