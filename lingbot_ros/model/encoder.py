# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Image encoders: DINOv2 with registers, or one strided convolution for small networks."""

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
        if (rows, columns) == (self.grid, self.grid):
            return self.pos_embed
        table = self.pos_embed[:, 1:].unflatten(1, (self.grid, self.grid)).permute(0, 3, 1, 2)
        resized = F.interpolate(table, (rows, columns), mode='bicubic', antialias=True)
        return torch.cat((self.pos_embed[:, :1], resized.flatten(2).transpose(1, 2)), dim=1)

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
    return PatchProjection(config.width, config.patch_px)
