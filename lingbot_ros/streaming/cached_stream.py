# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The network over its caches: frames of one size in, raw outputs out.

Who decides what a frame is (anchor, keyframe, transient), and when a segment ends, stands above.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import logging
from typing import Any

from lingbot_ros.attention.backend import make_backend
from lingbot_ros.cache.spec import FrameKind, PageSpec
from lingbot_ros.config import StreamConfig
from lingbot_ros.errors import CacheError
from lingbot_ros.model.aggregator import FrameRole
from lingbot_ros.model.network import Network
from lingbot_ros.streaming.anchor_pass import AnchorPass
from lingbot_ros.streaming.caches import cache_sizes, Caches, CacheSizes
from lingbot_ros.streaming.inference import inference
from lingbot_ros.streaming.stage_times import StageTimes
import numpy as np
from numpy.typing import NDArray
import torch
from torch import Tensor

logger = logging.getLogger(__name__)

#: Numbers about a frame, computed on the device: (pose encodings [frames, 9], depth and
#: confidence [frames, H, W]) to a float32 vector, which travels with the pose.
Measure = Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class RawOutput:
    """
    Outputs for the frames of one call.

    Attributes
    ----------
    pose_encoding : ndarray of float32, shape [frames, 9]
        On the host.
    device_encoding : Tensor of float32, shape [frames, 9]
        The same on the network's device.
    depth, depth_confidence : Tensor of float32, shape [frames, H, W], or None
        On the network's device; None when the depth head did not run.
    measures : ndarray of float32, shape [n]
        What `Measure` said, on the host; empty without one.

    """

    pose_encoding: NDArray[np.float32]
    device_encoding: Tensor
    depth: Tensor | None
    depth_confidence: Tensor | None
    measures: NDArray[np.float32]


def stream_sizes(network: Network, config: StreamConfig, size: tuple[int, int],
                 window: int) -> tuple[CacheSizes, CacheSizes | None]:
    """
    Sizes of the caches of a stream; their `total_bytes` are known before allocation.

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
    main, aside : CacheSizes
        Of the segment in service, and of the anchors of the next one; None where none follows.

    """
    sizes = network.config
    rows, columns = network.grid(size)

    def spec(anchors: int, window: int, kept: int) -> CacheSizes:
        pages = PageSpec(
            patches=rows * columns, special_tokens=sizes.special_tokens, anchor_frames=anchors,
            window=window, max_keyframes=kept, layers=sizes.blocks, heads=sizes.heads,
            head_dim=sizes.head_dim, element_bytes=network.dtype.itemsize)
        return cache_sizes(sizes, pages, config.camera_iterations)

    anchors = config.most_anchors
    main = spec(anchors, window, config.kept_frames)
    return main, spec(anchors, 1, anchors) if config.hands_over else None


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

    Attributes
    ----------
    times : StageTimes
        Of encoder, aggregator and heads.

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
        self.times = StageTimes(network.device)
        main, aside = stream_sizes(network, config, size, window)
        need = main.total_bytes + (aside.total_bytes if aside else 0)
        logger.info('caches for %d x %d images: %.1f MB on %s', size[1], size[0], need / 1e6,
                    network.device)
        self._frame_tokens = main.pages.tokens_per_frame
        self._backend = make_backend(backend, main.pages.heads, main.pages.head_dim,
                                     main.pages.page_size, network.dtype, network.device)
        self.caches = Caches(main, network.dtype, network.device)
        self._aside = Caches(aside, network.dtype, network.device) if aside else None
        self.next: AnchorPass | None = None

    @property
    def kept(self) -> int:
        """Frames kept in the segment."""
        return self.caches.table.kept

    @property
    def blocks(self) -> int:
        """Aggregator blocks of the network."""
        return self._network.config.blocks

    @property
    def nbytes(self) -> int:
        """Bytes of all caches."""
        return self.caches.nbytes + (self._aside.nbytes if self._aside else 0)

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
        with inference(self._network), self.times.stage('encoder'):
            return self._network.encode(images)

    def run(self, patches: Tensor, kind: FrameKind, measure: Measure | None = None) -> RawOutput:
        """
        Run frames and leave them open, to be committed or discarded.

        Parameters
        ----------
        patches : Tensor, shape [frames, patches, width]
            From `encode`; one frame, or all anchors together.
        kind : {'anchor', 'keyframe', 'transient'}
            What they are.
        measure : callable, optional
            Needs the depth head.

        Returns
        -------
        RawOutput
            Poses, depth and measures.

        Raises
        ------
        CacheFullError
            If no further keyframe fits; nothing is open then.

        """
        network, caches, frames = self._network, self.caches, patches.shape[0]
        kept = self.kept
        anchor = kind == 'anchor'
        roles = [FrameRole(kept + i, kept + i == 0, anchor) for i in range(frames)]
        prepared = caches.begin(kind, frames)
        try:
            with inference(network):
                with self.times.stage('aggregator'):
                    self._backend.plan(caches.table.visible(), frames * self._frame_tokens)
                    taps = network.aggregate(patches, self.size, roles,
                                             caches.attention(self._backend, prepared))
                with self.times.stage('camera head'):
                    pose = network.pose(
                        taps, self._config.camera_iterations, caches.camera.extend)
                depth = confidence = None
                if self._config.needs_depth:
                    with self.times.stage('depth head'):
                        depth, confidence = network.depth(taps, self.size)
                told = pose.flatten()
                if measure is not None:
                    assert depth is not None and confidence is not None
                    with self.times.stage('measures'):
                        told = torch.cat((told, measure(pose, depth, confidence)))
                # The one synchronisation of a frame: the pose is what everybody waits for.
                numbers = told.cpu().numpy()
                return RawOutput(numbers[:9 * frames].reshape(frames, 9), pose, depth,
                                 confidence, numbers[9 * frames:])
        except BaseException:
            self.discard()
            raise

    def promote(self) -> None:
        """Keep the open transient after all; see `PageTable.promote`."""
        self.caches.table.promote()

    def commit(self) -> None:
        """Keep the open frames; an open transient leaves nothing behind."""
        self.caches.commit()

    def discard(self) -> None:
        """Drop the open frames: the state is that before `run`."""
        self.caches.discard()

    def begin_next(self, patches: Tensor) -> AnchorPass:
        """
        Begin a segment aside: `advance` its pass, then `hand_over` to it.

        Parameters
        ----------
        patches : Tensor, shape [frames, patches, width]
            Patch tokens of its anchors.

        Returns
        -------
        AnchorPass
            Nothing of it has run yet.

        """
        assert self._aside is not None
        self.next = AnchorPass(self._network, self._config.camera_iterations, self.size,
                               self._aside, self._backend, patches)
        return self.next

    def hand_over(self) -> None:
        """
        Forget the segment in service, and serve with the one prepared aside.

        Raises
        ------
        CacheError
            If none is ready.

        """
        if self.next is None or not self.next.done:
            raise CacheError('hand_over needs a finished anchor pass; begin_next and advance it')
        assert self._aside is not None
        self.caches.adopt(self._aside)
        self.next = None

    def set_window(self, window: int) -> None:
        """Change the window; a larger one than ever before allocates pages."""
        self.caches.set_window(window)

    def reset(self) -> None:
        """Forget every frame; memory stays allocated."""
        self.caches.reset()
        self.next = None

    def state(self) -> dict[str, Any]:
        """Return all that `restore` needs; no frame may be open."""
        anchors = self.next
        return {'caches': self.caches.state(), 'next': None if anchors is None else [
            anchors.patches, anchors.advanced]}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""
        self.reset()
        self.caches.restore(state['caches'])
        if state['next'] is not None:
            patches, advanced = state['next']
            anchors = self.begin_next(patches)
            # What the pass had done follows from its tokens.
            for _ in range(advanced):
                anchors.advance()
