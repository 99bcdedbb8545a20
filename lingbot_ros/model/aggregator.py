# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Aggregator: frame blocks inside a frame, global blocks across frames.

It knows nothing of caches: the caller hands in how a global block attends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lingbot_ros.config import NetworkConfig
from lingbot_ros.model.encoder import make_encoder
from lingbot_ros.model.layers import Block
from lingbot_ros.model.rope import frame_rotary, GlobalRotary, rotate_halves, rotate_pairs
import torch
from torch import nn, Tensor

#: Global attention of one layer: (layer, q, k, v), each [tokens, heads, head_dim] -> same shape.
GlobalAttention = Callable[[int, Tensor, Tensor, Tensor], Tensor]
Table = tuple[Tensor, Tensor]

# Statistics of ImageNet, which the encoder was trained with.
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class FrameRole:
    """
    What a frame is to the stream.

    Attributes
    ----------
    index : int
        Rotary frame position f: frames kept before this one.
    first : bool
        Whether it is the very first frame (camera and register tokens' variant).
    anchor : bool
        Whether it is an anchor frame (scale token's variant).

    """

    index: int
    first: bool
    anchor: bool


class Aggregator(nn.Module):
    """
    Encoder, special tokens and alternating blocks.

    Parameters
    ----------
    config : NetworkConfig
        Sizes.

    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.patch_embed = make_encoder(config)
        self.camera_token = nn.Parameter(torch.zeros(1, 2, 1, config.width))
        self.register_token = nn.Parameter(torch.zeros(1, 2, 4, config.width))
        self.scale_token = nn.Parameter(torch.zeros(1, 2, 1, config.width))
        self.frame_blocks, self.global_blocks = (
            nn.ModuleList(Block(config.width, config.heads, qk_norm=True)
                          for _ in range(config.blocks)) for _ in range(2))
        self._rotary: dict[tuple[int, int, torch.device], tuple[GlobalRotary, Table]] = {}

    def encode(self, images: Tensor) -> Tensor:
        """
        Encode images frame by frame.

        Parameters
        ----------
        images : Tensor of float32, shape [frames, 3, H, W]
            RGB in [0, 1]; H and W multiples of the patch side.

        Returns
        -------
        Tensor of float32, shape [frames, patches, width]
            Patch tokens.

        """
        # Channel by channel: scalars need no copy to the device, which would synchronise.
        normalised = [(images[:, channel] - mean) / std
                      for channel, (mean, std) in enumerate(zip(MEAN, STD, strict=True))]
        return self.patch_embed(torch.stack(normalised, dim=1))

    def special_tokens(self, roles: list[FrameRole]) -> Tensor:
        """Learned tokens [frames, 6, width] of frames by their roles."""
        later = [int(not role.first) for role in roles]
        past_anchors = [int(not role.anchor) for role in roles]
        return torch.cat((self.camera_token[0, later], self.register_token[0, later],
                          self.scale_token[0, past_anchors]), dim=1)

    def rotary_tables(self, grid: tuple[int, int], roles: list[FrameRole],
                      device: torch.device) -> tuple[Table, Table]:
        """
        Cosines and sines of some frames.

        Parameters
        ----------
        grid : tuple of int
            Patch rows and columns.
        roles : list of FrameRole
            One a frame.
        device : torch.device
            Where the tables live.

        Returns
        -------
        tuple of two (cosine, sine)
            For frame blocks (`rotate_halves`), the same for every frame, and for global blocks
            (`rotate_pairs`), frame after frame.

        """
        key = (*grid, device)
        if key not in self._rotary:
            sizes = (*grid, self.config.special_tokens, self.config.head_dim, device)
            # One grid is in use at a time; keeping one bounds the memory of a changing camera.
            self._rotary = {key: (GlobalRotary(*sizes), frame_rotary(*sizes))}
        rotary, frame_table = self._rotary[key]
        return frame_table, rotary.table([role.index for role in roles])

    def forward(self, patches: Tensor, grid: tuple[int, int], roles: list[FrameRole],
                attend: GlobalAttention) -> list[Tensor]:
        """
        Run all blocks over some frames.

        Parameters
        ----------
        patches : Tensor of float32, shape [frames, patches, width]
            From `encode`.
        grid : tuple of int
            Patch rows and columns.
        roles : list of FrameRole
            One a frame.
        attend : callable
            Global attention; sees the tokens of all frames, special tokens first in each frame.

        Returns
        -------
        list of Tensor of float32, each of shape [frames, tokens, 2 * width]
            Frame-block and global-block output side by side, at each tap.

        """
        taps: list[Tensor] = []
        for _ in self.steps(patches, grid, roles, attend, taps):
            pass
        return taps

    def steps(self, patches: Tensor, grid: tuple[int, int], roles: list[FrameRole],
              attend: GlobalAttention, taps: list[Tensor]) -> Iterator[None]:
        """
        Run all blocks, and pause after each one: what `forward` does at once.

        Parameters
        ----------
        patches, grid, roles, attend
            See `forward`.
        taps : list of Tensor
            Filled as the blocks run.

        Yields
        ------
        None
            After each block.

        """
        x = torch.cat((self.special_tokens(roles), patches), dim=1)
        frames, tokens, width = x.shape
        frame_table, global_table = self.rotary_tables(grid, roles, x.device)
        for layer in range(self.config.blocks):
            inside = self.frame_blocks[layer](
                x, rotate=lambda part: rotate_halves(part, *frame_table))
            x = self.global_blocks[layer](
                inside.reshape(1, frames * tokens, width),
                attend=lambda q, k, v, layer=layer: attend(layer, q, k, v),
                rotate=lambda part: rotate_pairs(part, *global_table),
            ).view(frames, tokens, width)
            if layer in self.config.taps:
                taps.append(torch.cat((inside, x), dim=-1))
            yield
