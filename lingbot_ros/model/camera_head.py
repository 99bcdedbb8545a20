# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Camera head: refines a pose encoding from the camera token, attending to earlier frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from lingbot_ros.config import NetworkConfig
from lingbot_ros.model.layers import Block, Mlp
import torch
from torch import nn, Tensor
import torch.nn.functional as F

#: Keys and values of one entry: (entry, k, v), each [frames, heads, head_dim], to all that the
#: frames may see, each [heads, n, head_dim]. Entry = iteration * blocks + block.
CameraMemory = Callable[[int, Tensor, Tensor], tuple[Tensor, Tensor]]
#: Attention of one entry: (entry, q, k, v), each [frames, heads, head_dim] -> same shape.
CameraAttention = Callable[[int, Tensor, Tensor, Tensor], Tensor]


class CameraHead(nn.Module):
    """
    Iterative pose regression with adaptive layer norm.

    Parameters
    ----------
    config : NetworkConfig
        Sizes; the head is twice as wide as the network.

    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        width = 2 * config.width
        self.token_norm = nn.LayerNorm(width)
        self.empty_pose_tokens = nn.Parameter(torch.zeros(1, 1, 9))
        self.embed_pose = nn.Linear(9, width)
        self.poseLN_modulation = nn.Sequential(nn.SiLU(), nn.Linear(width, 3 * width))
        self.trunk = nn.ModuleList(
            Block(width, config.camera.heads) for _ in range(config.camera.blocks))
        self.trunk_norm = nn.LayerNorm(width)
        self.pose_branch = Mlp(width, width // 2, 9)

    def forward(self, tokens: Tensor, iterations: int, memory: CameraMemory) -> Tensor:
        """
        Estimate poses.

        Parameters
        ----------
        tokens : Tensor of float32, shape [frames, 2 * width]
            Camera token of the last tap, one a frame.
        iterations : int
            Refinement iterations.
        memory : callable
            Keys and values of the frames seen before, these ones appended.

        Returns
        -------
        Tensor of float32, shape [frames, 9]
            Pose encodings; see `lingbot_ros.geometry.pose_encoding`.

        """
        def attend(entry: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            keys, values = memory(entry, k, v)
            return F.scaled_dot_product_attention(
                q.transpose(0, 1), keys, values).transpose(0, 1)

        for total in self.refine(tokens, iterations, attend):
            pose = total
        return torch.cat((pose[:, :7], F.relu(pose[:, 7:])), dim=1)

    def refine(self, tokens: Tensor, iterations: int, attend: CameraAttention) -> Iterator[Tensor]:
        """
        Refine poses step by step: what `forward` does to the end.

        Parameters
        ----------
        tokens : Tensor of float32, shape [frames, 2 * width]
            See `forward`.
        iterations : int
            Refinement iterations.
        attend : callable
            Attention between the frames.

        Yields
        ------
        Tensor of float32, shape [frames, 9]
            Raw sums after each iteration; the field of view is not rectified yet.

        """
        tokens = self.token_norm(tokens)[None]
        normed = F.layer_norm(tokens, tokens.shape[-1:], eps=1e-6)
        raw = self.empty_pose_tokens.expand(1, tokens.shape[1], -1)
        total = torch.zeros_like(raw)
        for iteration in range(iterations):
            shift, scale, gate = self.poseLN_modulation(self.embed_pose(raw)).chunk(3, dim=-1)
            x = gate * (normed * (1 + scale) + shift) + tokens
            for index, block in enumerate(self.trunk):
                x = block(x, attend=partial(attend, iteration * len(self.trunk) + index))
            total = total + self.pose_branch(self.trunk_norm(x))
            raw = total
            yield total[0]
