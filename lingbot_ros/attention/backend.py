# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The protocol of an attention back end, and the choice of one by name.

A named back end that cannot serve raises; nothing falls back silently. 'auto' decides once and
says why.
"""

from __future__ import annotations

import importlib.util
import logging
from typing import Protocol

from lingbot_ros.attention import flashinfer
from lingbot_ros.attention.flashinfer import FlashInferBackend
from lingbot_ros.attention.sdpa import SdpaBackend
from lingbot_ros.cache.spec import VisiblePages
from lingbot_ros.errors import BackendError
import torch

logger = logging.getLogger(__name__)

BACKENDS = ('auto', 'sdpa', 'flashinfer', 'flashinfer_fa2', 'flashinfer_fa3')


class AttentionBackend(Protocol):
    """
    Non-causal attention of one frame's queries over the visible pages of a pool.

    Attributes
    ----------
    name : str
        The back end that runs ('flashinfer' is resolved to its kernels).

    """

    @property
    def name(self) -> str:
        """Name of the back end that runs."""
        ...

    def plan(self, visible: VisiblePages, queries: int) -> None:
        """Fix pages and query count, once a frame; holds until the next plan."""
        ...

    def run(self, q: torch.Tensor, pages: torch.Tensor) -> torch.Tensor:
        """
        Attend with q [queries, heads, head_dim] to one layer's pool, scale 1 / sqrt(head_dim).

        `pages` is [pages, 2, page_size, heads, head_dim], axis 1 = key, value. The answer has
        the shape and dtype of q. Any number of layers may run on one plan.
        """
        ...


def choose_backend(head_dim: int, dtype: torch.dtype,
                   device: torch.device | str) -> tuple[str, str]:
    """
    Decide what 'auto' means here.

    Parameters
    ----------
    head_dim : int
        Features of a head.
    dtype : torch.dtype
        Of queries and cache.
    device : torch.device or str
        Where attention runs.

    Returns
    -------
    name, reason : str
        A back end's name, and a clause for the log.

    """
    device = torch.device(device)
    if device.type != 'cuda':
        return 'sdpa', f"the device is '{device.type}', flashinfer needs CUDA"
    if dtype not in flashinfer.DTYPES:
        return 'sdpa', f'the dtype is {dtype}, flashinfer needs fp16 or bf16'
    if head_dim not in flashinfer.HEAD_DIMS:
        return 'sdpa', f'head_dim is {head_dim}, flashinfer needs one of {flashinfer.HEAD_DIMS}'
    if importlib.util.find_spec('flashinfer') is None:
        return 'sdpa', f'flashinfer is not installed ({flashinfer.INSTALL})'
    return 'flashinfer', f'CUDA, {dtype} and an installed flashinfer'


def make_backend(name: str, heads: int, head_dim: int, page_size: int, dtype: torch.dtype,
                 device: torch.device | str) -> AttentionBackend:
    """
    Build a back end.

    Parameters
    ----------
    name : str
        One of ``BACKENDS``. 'auto' is what ``choose_backend`` says; log its reason. 'flashinfer'
        means FA3 on compute capability 9.x and FA2 elsewhere.
    heads, head_dim, page_size : int
        Of the pools.
    dtype : torch.dtype
        Of queries and pools.
    device : torch.device or str
        Of queries and pools.

    Returns
    -------
    AttentionBackend
        Ready to plan.

    Raises
    ------
    BackendError
        If the name is unknown, or the back end cannot serve here; says what to install.

    """
    if name not in BACKENDS:
        raise BackendError(f'backend must be one of {", ".join(BACKENDS)}; got {name!r}')
    device = _indexed(torch.device(device))
    if name == 'auto':
        name, _ = choose_backend(head_dim, dtype, device)
    if name == 'sdpa':
        return SdpaBackend(heads, head_dim, page_size, dtype, device)
    kernel = name.removeprefix('flashinfer').removeprefix('_') or None
    return FlashInferBackend(heads, head_dim, page_size, dtype, device, kernel)


def resolve_backend(name: str, heads: int, head_dim: int, dtype: torch.dtype,
                    device: torch.device | str) -> tuple[str, str]:
    """
    Settle which back end will run, before there are pages; kernels are compiled if they must be.

    Parameters
    ----------
    name : str
        One of ``BACKENDS``.
    heads, head_dim : int
        Of the pools.
    dtype : torch.dtype
        Of queries and pools.
    device : torch.device or str
        Of queries and pools.

    Returns
    -------
    name, reason : str
        What runs, and why.

    Raises
    ------
    BackendError
        If the name is unknown, or the back end cannot serve here.

    """
    reason = 'chosen by name'
    if name == 'auto':
        name, reason = choose_backend(head_dim, dtype, device)
        logger.info('attention back end %s: %s', name, reason)
    # The page size does not matter to what can fail or take time here.
    return make_backend(name, heads, head_dim, 1, dtype, device).name, reason


def _indexed(device: torch.device) -> torch.device:
    """Give 'cuda' the index that its tensors will carry, so that devices compare equal."""
    if device.type == 'cuda' and device.index is None and torch.cuda.is_available():
        return torch.device('cuda', torch.cuda.current_device())
    return device
