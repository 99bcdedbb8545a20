# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Image encoders: DINOv2 with registers, one strided convolution, or a convolutional stem."""

from __future__ import annotations

from lingbot_ros.config import NetworkConfig
from lingbot_ros.model.layers import Block
import torch
from torch import nn, Tensor
import torch.nn.functional as F


class PatchProjection(nn.Module):
    """Patches to tokens by a convolution whose stride is its size."""

    def __init__(self, width: int, patch_px: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(3, width, patch_px, patch_px)

    def forward(self, images: Tensor) -> Tensor:
        """Map normalised images [frames, 3, H, W] to float32 tokens [frames, patches, width]."""
        return self.proj(images.to(self.proj.weight.dtype)).float().flatten(2).transpose(1, 2)


def resized_positions(table: Tensor, side: int, rows: int, columns: int) -> Tensor:
    """
    Resize a position table, bicubic with antialias; the table itself where the grid is its own.

    Parameters
    ----------
    table : Tensor, shape [1, side * side, width]
        Learned positions of a square grid.
    side, rows, columns : int
        Patches of the table's grid and of the grid wanted.

    Returns
    -------
    Tensor, shape [1, rows * columns, width]
        Positions of the grid wanted.

    """
    if (rows, columns) == (side, side):
        return table
    square = table.unflatten(1, (side, side)).permute(0, 3, 1, 2)
    resized = F.interpolate(square, (rows, columns), mode='bicubic', antialias=True)
    return resized.flatten(2).transpose(1, 2)


class StemUnit(nn.Module):
    """Two convolutions beside a skip."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(1, channels)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """Map features [frames, channels, rows, columns] to the same shape and dtype."""
        inner = self.conv1(self.norm(x.float()).to(x.dtype))
        return x + self.conv2(F.gelu(inner))


class StemStage(nn.Module):
    """Halves an image; at full size, in the first stage, a residual unit would cost too much."""

    def __init__(self, channels: int, out: int, first: bool) -> None:
        super().__init__()
        self.reduce = nn.Conv2d(channels, out, 3, 2, padding=1)
        self.unit = nn.GELU() if first else StemUnit(out)

    def forward(self, x: Tensor) -> Tensor:
        """Map [frames, channels, H, W] to [frames, out, H / 2, W / 2], in the weights' dtype."""
        return self.unit(self.reduce(x.to(self.reduce.weight.dtype)))


class StemEncoder(nn.Module):
    """
    Convolutional stages that halve the image down to one token a patch.

    Small networks learn to match from little training with it, where a single strided
    convolution sees too little and a transformer would need far more.

    Parameters
    ----------
    config : NetworkConfig
        Sizes.

    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.grid = config.encoder.grid
        channels = (3, *config.encoder.channels, config.width)
        self.stages = nn.ModuleList(
            StemStage(channels[i], channels[i + 1], i == 0) for i in range(len(channels) - 1))
        self.norm = nn.LayerNorm(config.width)
        self.pos_embed = nn.Parameter(torch.zeros(1, self.grid**2, config.width))

    def forward(self, images: Tensor) -> Tensor:
        """Map normalised images [frames, 3, H, W] to float32 tokens [frames, patches, width]."""
        x = images
        for stage in self.stages:
            x = stage(x)
        positions = resized_positions(self.pos_embed, self.grid, x.shape[2], x.shape[3])
        return self.norm(x.float().flatten(2).transpose(1, 2)) + positions


class VitEncoder(nn.Module):
    """
    DINOv2 vision transformer with register tokens.

    Parameters
    ----------
    config : NetworkConfig
        Sizes.

    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        width, encoder = config.width, config.encoder
        self.patch_px = config.patch_px
        self.grid = encoder.grid
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(torch.zeros(1, 1 + encoder.grid**2, width))
        self.register_tokens = nn.Parameter(torch.zeros(1, encoder.registers, width))
        # Only masked-image training reads this one; kept so that checkpoints load completely.
        self.mask_token = nn.Parameter(torch.zeros(1, width))
        self.patch_embed = PatchProjection(width, config.patch_px)
        self.blocks = nn.ModuleList(
            Block(width, encoder.heads, eps=1e-6) for _ in range(encoder.blocks))
        self.norm = nn.LayerNorm(width, eps=1e-6)

    def positions(self, rows: int, columns: int) -> Tensor:
        """Position table of a patch grid, [1, 1 + rows * columns, width]."""
        patches = resized_positions(self.pos_embed[:, 1:], self.grid, rows, columns)
        return torch.cat((self.pos_embed[:, :1], patches), dim=1)

    def forward(self, images: Tensor) -> Tensor:
        """Map normalised images [frames, 3, H, W] to float32 tokens [frames, patches, width]."""
        frames, _, height, width = images.shape
        x = torch.cat((self.cls_token.expand(frames, -1, -1), self.patch_embed(images)), dim=1)
        x = x + self.positions(height // self.patch_px, width // self.patch_px)
        registers = self.register_tokens.expand(frames, -1, -1)
        x = torch.cat((x[:, :1], registers, x[:, 1:]), dim=1)
        for block in self.blocks:
            x = block(x)
        return self.norm(x[:, 1 + registers.shape[1]:])


def make_encoder(config: NetworkConfig) -> nn.Module:
    """
    Build the encoder that a config names.

    Parameters
    ----------
    config : NetworkConfig
        Sizes; `config.encoder.kind` chooses.

    Returns
    -------
    Module
        Maps normalised images [frames, 3, H, W] to patch tokens [frames, patches, width].

    """
    if config.encoder.kind == 'vit':
        return VitEncoder(config)
    if config.encoder.kind == 'stem':
        return StemEncoder(config)
    return PatchProjection(config.width, config.patch_px)
