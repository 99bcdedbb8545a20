# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The tensors of the paged cache: one pool a layer, and the write of a frame's keys and values.

Layout of a pool: ``[pages, 2, page_size, heads, head_dim]``, axis 1 = key, value (FlashInfer's
NHD). Which page belongs to whom is the page table's business.
"""

from __future__ import annotations

from dataclasses import dataclass

from lingbot_ros.cache.spec import FrameSlots, PageSpec
from lingbot_ros.errors import ShapeError
import torch


@dataclass(frozen=True, eq=False)
class PreparedSlots:
    """
    Rows of a pool (seen as ``[pages * 2 * page_size, heads, head_dim]``) for a frame's tokens.

    Attributes
    ----------
    keys, values : Tensor of int64, shape [frames * tokens_per_frame]
        Row of each token, on the device of the cache.

    """

    keys: torch.Tensor
    values: torch.Tensor


def check_tensor(name: str, tensor: torch.Tensor, shape: tuple[int, ...], dtype: torch.dtype,
                 device: torch.device) -> None:
    """
    Raise ShapeError unless a tensor is as expected.

    Parameters
    ----------
    name : str
        What the tensor is called in the message.
    tensor : Tensor
        To check.
    shape, dtype, device
        Expected.

    Raises
    ------
    ShapeError
        Naming expected and got.

    """
    if tuple(tensor.shape) != shape or tensor.dtype != dtype or tensor.device != device:
        raise ShapeError(f'{name} must be {list(shape)} {dtype} on {device}, got '
                         f'{list(tensor.shape)} {tensor.dtype} on {tensor.device}')


class PagedCache:
    """
    Pools of all layers.

    Parameters
    ----------
    spec : PageSpec
        Sizes.
    dtype : torch.dtype
        Of keys and values; its size must be the spec's element_bytes.
    device : torch.device or str
        Where the pools live.

    Raises
    ------
    ShapeError
        If dtype and element_bytes contradict each other.

    """

    def __init__(self, spec: PageSpec, dtype: torch.dtype, device: torch.device | str) -> None:
        if dtype.itemsize != spec.element_bytes:
            raise ShapeError(f'{dtype} has {dtype.itemsize} bytes, the page spec says '
                             f'element_bytes={spec.element_bytes}; make them agree')
        self._spec = spec
        self.dtype = dtype
        self.layers: list[torch.Tensor] = [self._empty(spec.pages, device)
                                           for _ in range(spec.layers)]
        self.device = self.layers[0].device

    @property
    def pages(self) -> int:
        """Pages that every layer has."""
        return min(layer.shape[0] for layer in self.layers)

    @property
    def nbytes(self) -> int:
        """Bytes of all pools."""
        return sum(layer.nbytes for layer in self.layers)

    def prepare(self, slots: FrameSlots) -> PreparedSlots:
        """
        Turn slots into row numbers on the device, once a frame for all layers.

        Parameters
        ----------
        slots : FrameSlots
            From the page table.

        Returns
        -------
        PreparedSlots
            For ``write``.

        Raises
        ------
        ShapeError
            If a page is beyond the pools: the table has grown, the cache was not resized.

        """
        highest = max(slots.patch_pages + slots.special_pages)
        if highest >= self.pages:
            raise ShapeError(f'slots name page {highest}, the cache has {self.pages} pages; '
                             'resize the cache when the table grows')
        size, special = self._spec.page_size, self._spec.special_tokens
        rows: list[int] = []
        for index, page in enumerate(slots.patch_pages):
            own = slice(index * special, (index + 1) * special)
            rows.extend(2 * size * special_page + offset for special_page, offset
                        in zip(slots.special_pages[own], slots.special_offsets[own], strict=True))
            rows.extend(range(2 * size * page, 2 * size * page + size))
        host = torch.tensor(rows, dtype=torch.int64)
        if self.device.type == 'cuda':
            host = host.pin_memory()  # so that the copy does not wait for the device
        keys = host.to(self.device, non_blocking=True)
        return PreparedSlots(keys, keys + size)

    def write(self, layer: int, prepared: PreparedSlots, k: torch.Tensor, v: torch.Tensor) -> None:
        """
        Store keys and values of the open frames in one layer.

        Parameters
        ----------
        layer : int
            Index of the layer.
        prepared : PreparedSlots
            From ``prepare``.
        k, v : Tensor of the cache's dtype, shape [frames * tokens_per_frame, heads, head_dim]
            Frame by frame, each frame's special tokens before its patches.

        Raises
        ------
        ShapeError
            If shape, dtype or device differ, or there is no such layer.

        """
        if not 0 <= layer < len(self.layers):
            raise ShapeError(f'layer must be 0 .. {len(self.layers) - 1}, got {layer}')
        shape = (prepared.keys.shape[0], self._spec.heads, self._spec.head_dim)
        check_tensor('k', k, shape, self.dtype, self.device)
        check_tensor('v', v, shape, self.dtype, self.device)
        rows = self.layers[layer].view(-1, *shape[1:])
        rows.index_copy_(0, prepared.keys, k)
        rows.index_copy_(0, prepared.values, v)

    def resize(self, pages: int) -> None:
        """
        Grow every pool, one layer at a time: at most one layer exists twice.

        Parameters
        ----------
        pages : int
            Pages of one layer; existing pages keep their id and content. A layer that has them
            already is left alone, so a call that ran out of memory can be repeated.

        Raises
        ------
        ShapeError
            If fewer pages than now are asked for.

        """
        if pages < self.pages:
            raise ShapeError(f'a cache only grows: pages must be >= {self.pages}, got {pages}')
        for index, old in enumerate(self.layers):
            if old.shape[0] < pages:
                new = self._empty(pages, self.device)
                new[:old.shape[0]].copy_(old)
                self.layers[index] = new

    def _empty(self, pages: int, device: torch.device | str) -> torch.Tensor:
        spec = self._spec
        pool = torch.empty((pages, 2, spec.page_size, spec.heads, spec.head_dim),
                           dtype=self.dtype, device=device)
        # Slots that were never written are never read. Writing them once makes a CPU back the
        # memory now, so that a stream does not grow while it fills its pages.
        return pool.zero_()
