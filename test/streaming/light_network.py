# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A network with hardly any arithmetic: its caches are real, so a long stream can be run in CI.

Each block attends once and does nothing else; the pose follows from the camera's tokens, and depth
is flat. Images decide the answers, so frames differ and keyframes come.
"""

from __future__ import annotations

from lingbot_ros import CameraHeadConfig, DepthHeadConfig, EncoderConfig, Network, NetworkConfig
from lingbot_ros.model.random_weights import fill_random
import torch

LIGHT = NetworkConfig(
    width=16, blocks=4, heads=1, taps=(0, 1, 2, 3), encoder=EncoderConfig(kind='conv'),
    camera=CameraHeadConfig(blocks=1, heads=1),
    depth=DepthHeadConfig(channels=(4, 4, 4, 4), features=8))


class LightNetwork(Network):
    """Blocks that only attend."""

    def __init__(self):
        super().__init__(LIGHT)
        fill_random(self)
        self._still = torch.tensor([0, 0, 0, 0, 0, 0, 1, 0.8, 0.8])

    def aggregate_steps(self, patches, size, roles, attend, taps):
        x = torch.cat((self.aggregator.special_tokens(roles), patches), dim=1)
        frames, tokens, width = x.shape
        for layer in range(self.config.blocks):
            flat = x.reshape(frames * tokens, 1, width)
            x = x + 0.1 * attend(layer, flat, flat, flat).view(frames, tokens, width)
            taps.append(torch.cat((x, x), dim=-1))
            yield

    def aggregate(self, patches, size, roles, attend):
        taps = []
        for _ in self.aggregate_steps(patches, size, roles, attend, taps):
            pass
        return taps

    def pose(self, taps, iterations, memory):
        token = taps[-1][:, 0]
        for entry in range(iterations):
            keys, _ = memory(entry, token[:, None], token[:, None])
        out = self._still.repeat(len(token), 1)
        out[:, :6] += 0.02 * torch.tanh(token[:, :6] - keys[0, 0, :6])
        return out

    def depth(self, taps, size):
        depth = torch.ones(len(taps[-1]), *size)
        return depth, 1 + depth
