# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Attention through FlashInfer, which reads the pages where they lie. CUDA, fp16 and bf16.

The one file that imports flashinfer, and only when a back end is built.
"""

from __future__ import annotations

from typing import Any

from lingbot_ros.attention.checks import check_run, check_visible
from lingbot_ros.cache.spec import VisiblePages
from lingbot_ros.errors import BackendError
import torch

DTYPES = (torch.float16, torch.bfloat16)
HEAD_DIMS = (64, 128)
INSTALL = "pip install 'lingbot_ros[flashinfer]'"
_WORKSPACE_BYTES = 128 * 1024 * 1024


class FlashInferBackend:
    """
    Paged back end.

    Parameters
    ----------
    heads, head_dim, page_size : int
        Of the pools; head_dim 64 or 128, any page size.
    dtype : torch.dtype
        fp16 or bf16.
    device : torch.device
        A CUDA device.
    kernel : {'fa2', 'fa3', None}
        Which kernels; None means FA3 on compute capability 9.x and FA2 elsewhere.

    Raises
    ------
    BackendError
        If device, dtype, head_dim or kernel cannot be served, flashinfer is not installed, or
        its kernels cannot be built here. They are built (or loaded) at once, not at the first
        frame.

    """

    def __init__(self, heads: int, head_dim: int, page_size: int, dtype: torch.dtype,
                 device: torch.device, kernel: str | None = None) -> None:
        if device.type != 'cuda':
            raise BackendError('the flashinfer back end needs a CUDA device, got '
                               f"'{device}'; choose backend 'sdpa'")
        if dtype not in DTYPES:
            raise BackendError(f'the flashinfer back end takes {DTYPES}, got {dtype}; choose '
                               "another dtype or backend 'sdpa'")
        if head_dim not in HEAD_DIMS:
            raise BackendError(f'the flashinfer back end takes head_dim {HEAD_DIMS}, got '
                               f"{head_dim}; choose backend 'sdpa'")
        capability = torch.cuda.get_device_capability(device)
        if kernel == 'fa3' and capability[0] != 9:
            raise BackendError('FA3 needs compute capability 9.x, this device has '
                               f"{capability[0]}.{capability[1]}; choose 'flashinfer_fa2'")
        kernel = kernel or ('fa3' if capability[0] == 9 else 'fa2')
        self.name = f'flashinfer_{kernel}'
        self._page = (page_size, heads, head_dim)
        self._dtype = dtype
        self._device = device
        self._queries = 0
        self._visible: VisiblePages | None = None
        self._planned: torch.cuda.Event | None = None
        try:
            self._wrapper = _wrapper(device, kernel)
            self._prepare(VisiblePages((0,), 1, page_size), 1)
        except ImportError as error:
            raise BackendError(f'flashinfer cannot be imported ({error}); {INSTALL}') from error
        except (RuntimeError, OSError) as error:
            raise BackendError(f'flashinfer cannot build or load its {kernel} kernels ({error}); '
                               "it needs a CUDA toolkit with nvcc, or choose backend 'sdpa'"
                               ) from error

    def plan(self, visible: VisiblePages, queries: int) -> None:
        """
        Fix what the queries of this frame see, once for all layers; does not synchronise.

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
        self._prepare(visible, queries)
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
        check_run(q, self._dtype, self._visible, self._queries, pages, self._page, self._dtype,
                  self._device)
        q = q.contiguous()
        return self._wrapper.run(q, pages, out=torch.empty_like(q))

    def _prepare(self, visible: VisiblePages, queries: int) -> None:
        size, heads, head_dim = self._page
        if self._planned is not None:
            # The wrapper copies its schedule from one pinned buffer; a plan that overtakes the
            # copy of the plan before would corrupt it. The event lies a frame back, so the wait
            # is over at once unless the host runs more than a frame ahead.
            self._planned.synchronize()
        # Host tensors: what lies on the device would be read back, and that would synchronise.
        self._wrapper.plan(
            torch.tensor([0, queries], dtype=torch.int32),
            torch.tensor([0, len(visible.pages)], dtype=torch.int32),
            torch.tensor(visible.pages, dtype=torch.int32),
            torch.tensor([visible.last_page_len], dtype=torch.int32),
            heads, heads, head_dim, size,
            causal=False, q_data_type=self._dtype, kv_data_type=self._dtype)
        self._planned = torch.cuda.Event()
        self._planned.record(torch.cuda.current_stream(self._device))


def _wrapper(device: torch.device, kernel: str) -> Any:
    """Import flashinfer and make its paged prefill wrapper."""
    import flashinfer

    workspace = torch.zeros(_WORKSPACE_BYTES, dtype=torch.uint8, device=device)
    return flashinfer.BatchPrefillWithPagedKVCacheWrapper(workspace, 'NHD', backend=kernel)
