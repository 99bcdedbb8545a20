# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Attention in plain torch: gather the visible pages, then dense scaled-dot-product attention.

Runs everywhere and is the oracle that other back ends are compared with.
"""

from __future__ import annotations

from lingbot_ros.attention.checks import check_run, check_visible
from lingbot_ros.cache.spec import VisiblePages
from lingbot_ros.errors import BackendError
import torch
import torch.nn.functional as functional

DTYPES = (torch.float32, torch.bfloat16, torch.float16)


class SdpaBackend:
    """
    Gathering back end.

    Parameters
    ----------
    heads, head_dim, page_size : int
        Of the pools.
    dtype : torch.dtype
        Of queries and pools: fp32, bf16 or fp16.
    device : torch.device
        Of queries and pools.
    compute_dtype : torch.dtype, optional
        What to compute in; `dtype` when left out. With fp32, queries of any floating dtype are
        taken and the answer comes back in theirs.

    Raises
    ------
    BackendError
        If the dtype is none of the three.

    """

    name = 'sdpa'

    def __init__(self, heads: int, head_dim: int, page_size: int, dtype: torch.dtype,
                 device: torch.device, compute_dtype: torch.dtype | None = None) -> None:
        if dtype not in DTYPES:
            raise BackendError(f'the sdpa back end takes {DTYPES}, got {dtype}')
        self._page = (page_size, heads, head_dim)
        self._dtype = dtype
        self._device = device
        self._compute_dtype = compute_dtype
        # Keys of all visible pages, then values; reused by every layer and frame.
        self._gathered = torch.empty((0, *self._page), dtype=dtype, device=device)
        self._rows = torch.empty(0, dtype=torch.int64, device=device)
        self._visible: VisiblePages | None = None
        self._queries = 0

    def plan(self, visible: VisiblePages, queries: int) -> None:
        """
        Fix what the queries of this frame see, once for all layers.

        Parameters
        ----------
        visible : VisiblePages
            From the page table.
        queries : int
            Query tokens.

        Raises
        ------
        ShapeError
            If the page size is another one or there are no queries.

        """
        check_visible(visible, self._page[0], queries)
        count = len(visible.pages)
        if self._gathered.shape[0] < 2 * count:
            # Some slack, so that a filling window does not allocate anew at every frame.
            self._gathered = torch.empty((2 * (count + count // 8 + 1), *self._page),
                                         dtype=self._dtype, device=self._device)
        pages = torch.tensor(visible.pages, dtype=torch.int64)
        rows = torch.cat((2 * pages, 2 * pages + 1))
        if self._device.type == 'cuda':
            rows = rows.pin_memory()  # so that the copy does not wait for the device
        self._rows = rows.to(self._device, non_blocking=True)
        self._visible = visible
        self._queries = queries

    def run(self, q: torch.Tensor, pages: torch.Tensor) -> torch.Tensor:
        """
        Attend to the planned pages of one layer.

        Parameters
        ----------
        q : Tensor, shape [queries, heads, head_dim]
            Queries; the scale 1 / sqrt(head_dim) is applied here.
        pages : Tensor, shape [pages, 2, page_size, heads, head_dim]
            Pool of the layer.

        Returns
        -------
        Tensor, shape [queries, heads, head_dim]
            In the dtype of the queries.

        Raises
        ------
        CacheError
            If nothing was planned.
        ShapeError
            If shape, dtype or device differ from the plan.

        """
        q_dtype = self._dtype if self._compute_dtype is None else q.dtype
        visible = check_run(q, q_dtype, self._visible, self._queries, pages, self._page,
                            self._dtype, self._device)
        heads, head_dim = self._page[1:]
        count, tokens = len(visible.pages), visible.tokens
        gathered = self._gathered[:2 * count]
        # Axis 1 folded into the pages: key pages are the even rows, value pages the odd ones.
        torch.index_select(pages.view(-1, *self._page), 0, self._rows, out=gathered)
        k = gathered[:count].view(-1, heads, head_dim)[:tokens].transpose(0, 1)
        v = gathered[count:].view(-1, heads, head_dim)[:tokens].transpose(0, 1)
        query = q.transpose(0, 1)
        if self._device.type == 'cpu':
            # The CPU kernel is about a fifth faster on head-major keys, the copies counted in.
            k, v = k.contiguous(), v.contiguous()
        if self._compute_dtype is not None:
            query, k, v = (x.to(self._compute_dtype) for x in (query, k, v))
        out = functional.scaled_dot_product_attention(query[None], k[None], v[None])[0]
        return out.transpose(0, 1).contiguous().to(q.dtype)
