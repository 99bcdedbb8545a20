# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The anchors of the next segment, run a slice at a time beside the stream.

Anchors see each other in full, so they go through the network together, which takes as long as
several frames. To keep the latency of every frame low the pass stops after some blocks, and goes
on when the next frame has been answered. The result is that of one uninterrupted pass.
"""

from __future__ import annotations

from collections.abc import Iterator

from lingbot_ros.attention.backend import AttentionBackend
from lingbot_ros.model.aggregator import FrameRole
from lingbot_ros.model.network import Network
from lingbot_ros.streaming.caches import Caches
from lingbot_ros.streaming.inference import inference
import numpy as np
from numpy.typing import NDArray
from torch import Tensor

# Frames that go through the depth head in one slice.
_DEPTHS = 2


def slices_of(blocks: int, frames: int) -> int:
    """
    Slices of a pass: about as many as frames, so that one costs no more than a frame.

    Parameters
    ----------
    blocks : int
        Aggregator blocks of the network.
    frames : int
        Anchors.

    Returns
    -------
    int

    """
    return -(-blocks // _blocks_per_slice(blocks, frames)) + -(-frames // _DEPTHS)


def _blocks_per_slice(blocks: int, frames: int) -> int:
    return -(-blocks // frames)


class AnchorPass:
    """
    One pass of the anchors of a segment into caches of their own.

    Parameters
    ----------
    network : Network
        Ready to run.
    iterations : int
        Refinement iterations of the camera head.
    size : tuple of int
        Height and width of the network input, pixels.
    caches : Caches
        Reset here; hold the anchors when the pass is done.
    backend : AttentionBackend
        May serve others between two slices.
    patches : Tensor, shape [frames, patches, width]
        Patch tokens of the anchors.

    Attributes
    ----------
    poses : ndarray of float32, shape [frames, 9]
        Pose encodings in the world of the new segment; empty until done.
    device_poses : Tensor of float32, shape [frames, 9]
        The same on the network's device.
    depths, confidences : list of Tensor of float32, each of shape [H, W]
        One a frame; empty until done.
    advanced : int
        Slices done.

    """

    def __init__(self, network: Network, iterations: int, size: tuple[int, int], caches: Caches,
                 backend: AttentionBackend, patches: Tensor) -> None:
        self._network = network
        self._iterations = iterations
        self._size = size
        self._caches = caches
        self._backend = backend
        self.patches = patches
        self.poses: NDArray[np.float32] = np.empty((0, 9), np.float32)
        self.device_poses = patches.new_empty(0, 9)
        self.depths: list[Tensor] = []
        self.confidences: list[Tensor] = []
        self.advanced = 0
        self.done = False
        self._slices = self._run()

    def advance(self) -> bool:
        """
        Run one slice; nothing once all are done.

        Returns
        -------
        bool
            Whether the pass is done.

        """
        if not self.done:
            with inference(self._network):
                self.done = not next(self._slices)
            self.advanced += 1
        return self.done

    def _run(self) -> Iterator[bool]:
        """Yield True after each slice but the last."""
        network, caches, frames = self._network, self._caches, len(self.patches)
        caches.reset()
        roles = [FrameRole(i, i == 0, True) for i in range(frames)]
        attend = caches.attention(self._backend, caches.begin('anchor', frames))
        visible = caches.table.visible()
        queries = frames * (network.config.special_tokens + self.patches.shape[1])
        taps: list[Tensor] = []
        steps = network.aggregate_steps(self.patches, self._size, roles, attend, taps)
        blocks = network.config.blocks
        per_slice = _blocks_per_slice(blocks, frames)
        for first in range(0, blocks, per_slice):
            # The frames in between have planned for themselves.
            self._backend.plan(visible, queries)
            for _ in range(first, min(first + per_slice, blocks)):
                next(steps)
            yield True
        pose = network.pose(taps, self._iterations, caches.camera.extend)
        depths: list[Tensor] = []
        confidences: list[Tensor] = []
        for first in range(0, frames, _DEPTHS):
            some = [tap[first:first + _DEPTHS] for tap in taps]
            depth, confidence = network.depth(some, self._size)
            depths += depth.unbind()
            confidences += confidence.unbind()
            if first + _DEPTHS < frames:
                yield True
        caches.commit()
        self.poses, self.device_poses = pose.cpu().numpy(), pose
        self.depths, self.confidences = depths, confidences
        yield False
