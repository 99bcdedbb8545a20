# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The network over its caches: frames of one size in, raw outputs out.

One page table serves all global blocks, and the camera head's cache opens, commits and discards
with it. Who decides what a frame is (anchor, keyframe, transient) is the session.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

from lingbot_ros.attention.backend import make_backend
from lingbot_ros.cache.dense import DenseCache
from lingbot_ros.cache.paged import PagedCache
from lingbot_ros.cache.spec import PageSpec
from lingbot_ros.cache.table import FrameKind, PageTable
from lingbot_ros.config import StreamConfig
from lingbot_ros.errors import CacheFullError
from lingbot_ros.model.aggregator import FrameRole
from lingbot_ros.model.network import Network
import numpy as np
from numpy.typing import NDArray
import psutil
import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class RawOutput:
    """
    Outputs for the frames of one call.

    Attributes
    ----------
    pose_encoding : ndarray of float32, shape [frames, 9]
        On the host.
    depth, depth_confidence : Tensor of float32, shape [frames, H, W], or None
        On the network's device; None without the depth head.

    """

    pose_encoding: NDArray[np.float32]
    depth: Tensor | None
    depth_confidence: Tensor | None


def page_spec(network: Network, config: StreamConfig, size: tuple[int, int],
              window: int) -> PageSpec:
    """
    Sizes of the paged cache of a stream; `total_bytes` tells its memory before allocation.

    Parameters
    ----------
    network : Network
        Gives layers, heads and dtype.
    config : StreamConfig
        Gives anchors and keyframes.
    size : tuple of int
        Height and width of the network input, pixels.
    window : int
        Largest window.

    Returns
    -------
    PageSpec
        The sizes.

    """
    sizes = network.config
    rows, columns = network.grid(size)
    return PageSpec(
        patches=rows * columns, special_tokens=sizes.special_tokens,
        anchor_frames=config.anchor_frames, window=window, max_keyframes=config.max_keyframes,
        layers=sizes.blocks, heads=sizes.heads, head_dim=sizes.head_dim,
        element_bytes=network.dtype.itemsize)


# On a CPU torch's allocator raises a plain RuntimeError; torch.OutOfMemoryError is one as well.
_NO_MEMORY = (RuntimeError, MemoryError)


def _too_large(need_bytes: int, device: torch.device) -> CacheFullError:
    free_bytes = (torch.cuda.mem_get_info(device)[0] if device.type == 'cuda'
                  else psutil.virtual_memory().available)
    return CacheFullError(f'page pool does not fit: need {need_bytes / 1e9:.2f} GB, have '
                          f'{free_bytes / 1e9:.2f} GB free on {device}; lower window, '
                          'max_keyframes or image_size')


class CachedStream:
    """
    Caches and attention back end for one image size.

    Parameters
    ----------
    network : Network
        Ready to run.
    config : StreamConfig
        Settings.
    size : tuple of int
        Height and width of the network input, pixels.
    window : int
        Window to begin with.
    backend : str
        Attention back end by name.

    Raises
    ------
    CacheFullError
        If the device has too little memory.

    """

    def __init__(self, network: Network, config: StreamConfig, size: tuple[int, int],
                 window: int, backend: str) -> None:
        self._network = network
        self._config = config
        self.size = size
        spec = page_spec(network, config, size, window)
        self._frame_tokens = spec.tokens_per_frame
        self._backend = make_backend(backend, spec.heads, spec.head_dim, spec.page_size,
                                     network.dtype, network.device)
        self._table = PageTable(spec)
        camera = network.config.camera
        try:
            self._pages = PagedCache(spec, network.dtype, network.device)
            self._camera = DenseCache(
                config.camera_iterations * camera.blocks, config.max_keyframes + 1, camera.heads,
                2 * network.config.width // camera.heads, torch.float32, network.device)
        except _NO_MEMORY as error:
            raise _too_large(spec.total_bytes, network.device) from error

    @property
    def kept(self) -> int:
        """Frames kept since reset."""
        return self._table.kept

    @property
    def nbytes(self) -> int:
        """Bytes of all caches."""
        return self._pages.nbytes + self._camera.nbytes

    def encode(self, images: Tensor) -> Tensor:
        """
        Encode frames; needs no cache, so several frames may go at once.

        Parameters
        ----------
        images : Tensor of float32, shape [frames, 3, H, W]
            RGB in [0, 1], on the network's device.

        Returns
        -------
        Tensor, shape [frames, patches, width]
            Patch tokens.

        """
        with torch.no_grad(), self._exact_convolutions():
            return self._network.encode(images)

    def run(self, patches: Tensor, kind: FrameKind) -> RawOutput:
        """
        Run frames and leave them open, to be committed or discarded.

        Parameters
        ----------
        patches : Tensor, shape [frames, patches, width]
            From `encode`; one frame, or all anchors together.
        kind : {'anchor', 'keyframe', 'transient'}
            What they are.

        Returns
        -------
        RawOutput
            Poses and depth.

        Raises
        ------
        CacheFullError
            If no further keyframe fits; nothing is open then.

        """
        frames = patches.shape[0]
        kept = self._table.kept
        anchor = kind == 'anchor'
        roles = [FrameRole(kept + i, kept + i == 0, anchor) for i in range(frames)]
        slots = self._table.begin(kind, frames)
        try:
            self._camera.begin(frames)
            with torch.no_grad(), self._exact_convolutions():
                prepared = self._pages.prepare(slots)
                self._backend.plan(self._table.visible(), frames * self._frame_tokens)

                def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
                    self._pages.write(layer, prepared, k, v)
                    return self._backend.run(q, self._pages.layers[layer])

                taps = self._network.aggregate(patches, self.size, roles, attend)
                pose = self._network.pose(
                    taps, self._config.camera_iterations, self._camera.extend)
                depth, confidence = (self._network.depth(taps, self.size) if self._config.depth
                                     else (None, None))
                # The one synchronisation of a frame: the pose is what everybody waits for.
                return RawOutput(pose.cpu().numpy(), depth, confidence)
        except BaseException:
            self.discard()
            raise

    def commit(self) -> None:
        """Keep the open frames; an open transient leaves nothing behind."""
        keep = self._table.kept
        self._table.commit()
        if self._table.kept > keep:
            self._camera.commit()
        else:
            self._camera.discard()

    def discard(self) -> None:
        """Drop the open frames: the state is that before `run`."""
        self._table.discard()
        self._camera.discard()

    def set_window(self, window: int) -> None:
        """Change the window; a larger one than ever before allocates pages."""
        pages = self._table.pages_for(window)
        if pages > self._table.pages:
            # Tensors first: when memory runs out the table still numbers what there is.
            try:
                self._pages.resize(pages)
            except _NO_MEMORY as error:
                growth = (pages - self._table.pages) * self._pages.nbytes // self._table.pages
                raise _too_large(growth, self._network.device) from error
            self._table.grow(window)
        self._table.set_window(window)

    def reset(self) -> None:
        """Forget every frame; memory stays allocated."""
        self._table.reset()
        self._camera.reset()

    def _exact_convolutions(self) -> AbstractContextManager[None]:
        # In fp32 a stream promises the numbers of a CPU; TF32 convolutions would break that.
        return torch.backends.cudnn.flags(
            enabled=True, allow_tf32=self._network.dtype != torch.float32)
