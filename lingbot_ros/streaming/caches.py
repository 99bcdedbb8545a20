# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What one segment remembers: page table, page tensors and the camera head's cache, in step.

A frame is begun, then committed or discarded, in all three. `adopt` takes over the frames of
another set of caches, which is how a segment that was prepared aside comes into service.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lingbot_ros.attention.backend import AttentionBackend
from lingbot_ros.cache.dense import DenseCache
from lingbot_ros.cache.paged import PagedCache, PreparedSlots
from lingbot_ros.cache.spec import FrameKind, PageSpec
from lingbot_ros.cache.table import PageTable
from lingbot_ros.config import NetworkConfig
from lingbot_ros.errors import CacheFullError
from lingbot_ros.model.aggregator import GlobalAttention
import psutil
import torch
from torch import Tensor

# On a CPU torch's allocator raises a plain RuntimeError; torch.OutOfMemoryError is one as well.
_NO_MEMORY = (RuntimeError, MemoryError)


def _too_large(need_bytes: int, device: torch.device) -> CacheFullError:
    free_bytes = (torch.cuda.mem_get_info(device)[0] if device.type == 'cuda'
                  else psutil.virtual_memory().available)
    return CacheFullError(f'page pool does not fit: need {need_bytes / 1e9:.2f} GB, have '
                          f'{free_bytes / 1e9:.2f} GB free on {device}; lower window, '
                          'max_keyframes, segment_keyframes or image_size')


@dataclass(frozen=True)
class CacheSizes:
    """
    Sizes of one set of caches.

    Attributes
    ----------
    pages : PageSpec
        Of the paged cache.
    camera_entries, camera_heads, camera_head_dim : int
        Of the camera head's cache, which has room for one frame more than the pages keep.

    """

    pages: PageSpec
    camera_entries: int
    camera_heads: int
    camera_head_dim: int

    @property
    def camera_bytes(self) -> int:
        """Bytes of the camera head's cache, in float32."""
        return (self.camera_entries * 2 * self.camera_heads * (self.pages.max_keyframes + 1)
                * self.camera_head_dim * torch.float32.itemsize)

    @property
    def total_bytes(self) -> int:
        """Bytes of everything, before it is allocated."""
        return self.pages.total_bytes + self.camera_bytes


def cache_sizes(network: NetworkConfig, pages: PageSpec, iterations: int) -> CacheSizes:
    """
    Sizes of the caches of a network.

    Parameters
    ----------
    network : NetworkConfig
        Gives the camera head.
    pages : PageSpec
        Of the paged cache.
    iterations : int
        Refinement iterations of the camera head.

    Returns
    -------
    CacheSizes

    """
    camera = network.camera
    return CacheSizes(pages, iterations * camera.blocks, camera.heads,
                      2 * network.width // camera.heads)


class Caches:
    """
    Paged cache and camera cache of one segment.

    Parameters
    ----------
    sizes : CacheSizes
        Their `total_bytes` are allocated here, and no more later but by `set_window`.
    dtype : torch.dtype
        Of paged keys and values.
    device : torch.device
        Where they live.

    Raises
    ------
    CacheFullError
        If the device has too little memory.

    """

    def __init__(self, sizes: CacheSizes, dtype: torch.dtype, device: torch.device) -> None:
        self._device = device
        self.table = PageTable(sizes.pages)
        try:
            self.pages = PagedCache(sizes.pages, dtype, device)
            self.camera = DenseCache(
                sizes.camera_entries, sizes.pages.max_keyframes + 1, sizes.camera_heads,
                sizes.camera_head_dim, torch.float32, device)
        except _NO_MEMORY as error:
            raise _too_large(sizes.total_bytes, device) from error

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors."""
        return self.pages.nbytes + self.camera.nbytes

    @property
    def pages_used(self) -> int:
        """Pages of one layer that hold a frame."""
        table = self.table
        return table.pages - table.free_patch_pages - table.free_special_pages

    def begin(self, kind: FrameKind, frames: int) -> PreparedSlots:
        """Open frames in all caches; see `PageTable.begin`."""
        slots = self.table.begin(kind, frames)
        try:
            self.camera.begin(frames)
            return self.pages.prepare(slots)
        except BaseException:
            self.discard()
            raise

    def attention(self, backend: AttentionBackend, prepared: PreparedSlots) -> GlobalAttention:
        """
        Global attention of the open frames; the back end must have planned what they see.

        Parameters
        ----------
        backend : AttentionBackend
            Planned with the table's `visible()`.
        prepared : PreparedSlots
            From `begin`.

        Returns
        -------
        callable
            Writes keys and values of a layer, then attends.

        """
        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            self.pages.write(layer, prepared, k, v)
            return backend.run(q, self.pages.layers[layer])

        return attend

    def commit(self) -> None:
        """Keep the open frames; an open transient leaves nothing behind."""
        kept = self.table.kept
        self.table.commit()
        if self.table.kept > kept:
            self.camera.commit()
        else:
            self.camera.discard()

    def discard(self) -> None:
        """Drop the open frames: the state is that before `begin`."""
        if self.table.is_open:
            self.table.discard()
        if self.camera.is_open:
            self.camera.discard()

    def reset(self) -> None:
        """Forget every frame; memory stays allocated."""
        self.table.reset()
        self.camera.reset()

    def set_window(self, window: int) -> None:
        """Change the window; a larger one than ever before allocates pages."""
        pages = self.table.pages_for(window)
        if pages > self.table.pages:
            # Tensors first: when memory runs out the table still numbers what there is.
            try:
                self.pages.resize(pages)
            except _NO_MEMORY as error:
                growth = (pages - self.table.pages) * self.pages.nbytes // self.table.pages
                raise _too_large(growth, self._device) from error
            self.table.grow(window)
        self.table.set_window(window)

    def adopt(self, other: Caches) -> None:
        """Forget every frame and take over those of caches with the same page size."""
        held = other.table.held
        rows = torch.tensor(held.pages, device=self._device)
        # Layer by layer, so that only one layer's pages exist a third time.
        self.fill(len(held.anchors), len(held.recent), other.table.kept,
                  (layer[rows] for layer in other.pages.layers), other.camera.contents)

    def state(self) -> dict[str, Any]:
        """Return all that `restore` needs; no frame may be open."""
        held = self.table.held
        rows = torch.tensor(held.pages, dtype=torch.int64, device=self._device)
        return {'anchors': len(held.anchors), 'recent': len(held.recent),
                'kept': self.table.kept, 'layers': [layer[rows] for layer in self.pages.layers],
                'camera': self.camera.contents}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` of caches with the same sizes returned."""
        if state['kept']:
            self.fill(**state)
        else:
            self.reset()

    def fill(self, anchors: int, recent: int, kept: int, layers: Iterable[Tensor],
             camera: Tensor) -> None:
        """
        Forget every frame and take those that other caches held.

        Parameters
        ----------
        anchors, recent, kept : int
            Frames with patches, at least one anchor, and all kept frames.
        layers : iterable of Tensor, each [pages, 2, page_size, heads, head_dim]
            Held pages of each layer, in the order of `PageTable.held`.
        camera : Tensor
            `DenseCache.contents`.

        """
        self.reset()
        table, window = self.table, self.table.window
        table.begin('anchor', anchors)
        table.commit()
        if kept > anchors:
            # The pages end as if the frames had come one by one under the window they left.
            table.set_window(recent)
            for _ in range(kept - anchors):
                table.begin('keyframe')
                table.commit()
            table.set_window(window)
        rows = torch.tensor(table.held.pages, device=self._device)
        for mine, theirs in zip(self.pages.layers, layers, strict=True):
            mine[rows] = theirs.to(self._device)
        self.camera.fill(camera.to(self._device))
