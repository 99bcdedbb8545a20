# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Depth head (DPT): tokens of four taps to depth and confidence at image resolution."""

from __future__ import annotations

import math

from lingbot_ros.config import NetworkConfig
import torch
from torch import nn, Tensor
import torch.nn.functional as F


def position_embedding(channels: int, rows: int, columns: int, aspect: float,
                       device: torch.device) -> Tensor:
    """
    Sine-cosine embedding of the direction of each cell, scaled by 0.1.

    Parameters
    ----------
    channels : int
        A multiple of 4; the first half embeds u, the second v, each sines then cosines.
    rows, columns : int
        Grid.
    aspect : float
        Image width over height; u spans the wider side of a unit diagonal.
    device : torch.device
        Where the result lives.

    Returns
    -------
    Tensor of float32, shape [channels, rows, columns]
        To be added to features.

    """
    diagonal = math.hypot(aspect, 1.0)
    frequencies = 100.0 ** (-torch.arange(channels // 4, dtype=torch.float64, device=device)
                            / (channels // 4))
    parts = []
    for cells, span in ((columns, aspect / diagonal), (rows, 1.0 / diagonal)):
        edge = span * (cells - 1) / cells
        line = torch.linspace(-edge, edge, cells, dtype=torch.float64, device=device)
        angles = line * frequencies[:, None]
        parts.append(torch.cat((angles.sin(), angles.cos())))
    u = parts[0][:, None, :].expand(-1, rows, -1)
    v = parts[1][:, :, None].expand(-1, -1, columns)
    return 0.1 * torch.cat((u, v)).float()


class ResidualUnit(nn.Module):
    """Two convolutions; the skip carries the rectified input, as the checkpoints were trained."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """Map features [frames, channels, rows, columns] to the same shape."""
        x = F.relu(x)
        return self.conv2(F.relu(self.conv1(x))) + x


class Fusion(nn.Module):
    """Adds a finer level to the coarser path and resizes."""

    def __init__(self, channels: int, skip: bool = True) -> None:
        super().__init__()
        self.out_conv = nn.Conv2d(channels, channels, 1)
        if skip:
            self.resConfUnit1 = ResidualUnit(channels)
        self.resConfUnit2 = ResidualUnit(channels)

    def forward(self, path: Tensor, level: Tensor | None, size: tuple[int, int]) -> Tensor:
        """Fuse path and level (same shape), and resize to size (rows, columns)."""
        if level is not None:
            path = path + self.resConfUnit1(level)
        path = F.interpolate(self.resConfUnit2(path), size, mode='bilinear', align_corners=True)
        return self.out_conv(path)


class Scratch(nn.Module):
    """The convolutions after the taps; a separate module because checkpoints name it so."""

    def __init__(self, channels: tuple[int, int, int, int], features: int) -> None:
        super().__init__()
        for number, width in enumerate(channels, start=1):
            conv = nn.Conv2d(width, features, 3, padding=1, bias=False)
            self.add_module(f'layer{number}_rn', conv)
            self.add_module(f'refinenet{number}', Fusion(features, skip=number < 4))
        self.output_conv1 = nn.Conv2d(features, features // 2, 3, padding=1)
        self.output_conv2 = nn.Sequential(
            nn.Conv2d(features // 2, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 2, 1))


class DepthHead(nn.Module):
    """
    Dense prediction from four taps.

    Parameters
    ----------
    config : NetworkConfig
        Sizes.

    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        channels = config.depth.channels
        self.patch_px = config.patch_px
        self.specials = config.special_tokens
        self.norm = nn.LayerNorm(2 * config.width)
        self.projects = nn.ModuleList(nn.Conv2d(2 * config.width, c, 1) for c in channels)
        self.resize_layers = nn.ModuleList((
            nn.ConvTranspose2d(channels[0], channels[0], 4, 4),
            nn.ConvTranspose2d(channels[1], channels[1], 2, 2),
            nn.Identity(),
            nn.Conv2d(channels[3], channels[3], 3, 2, 1),
        ))
        self.scratch = Scratch(channels, config.depth.features)

    def _levels(self, taps: list[Tensor], grid: tuple[int, int], aspect: float) -> list[Tensor]:
        levels = []
        for number, (tap, project, resize) in enumerate(
                zip(taps, self.projects, self.resize_layers, strict=True), start=1):
            x = self.norm(tap[:, self.specials:]).transpose(1, 2).unflatten(2, grid)
            x = project(x)
            x = x + position_embedding(x.shape[1], *grid, aspect, x.device)
            levels.append(self.scratch.get_submodule(f'layer{number}_rn')(resize(x)))
        return levels

    def logits(self, taps: list[Tensor], size: tuple[int, int]) -> Tensor:
        """
        Predict what `forward` exponentiates: log depth and the log of confidence minus one.

        Parameters
        ----------
        taps : list of four Tensors of float32, each of shape [frames, tokens, 2 * width]
            From the aggregator, special tokens first.
        size : tuple of int
            Height and width of the image, pixels.

        Returns
        -------
        Tensor of float32, shape [frames, 2, H, W]
            Log depth, log (confidence - 1).

        """
        height, width = size
        aspect = width / height
        levels = self._levels(taps, (height // self.patch_px, width // self.patch_px), aspect)
        path = levels[3]
        for number in (4, 3, 2, 1):
            rows, columns = levels[number - 2].shape[-2:] if number > 1 else (
                2 * path.shape[-2], 2 * path.shape[-1])
            fusion = self.scratch.get_submodule(f'refinenet{number}')
            path = fusion(path, levels[number - 1] if number < 4 else None, (rows, columns))
        x = F.interpolate(
            self.scratch.output_conv1(path), size, mode='bilinear', align_corners=True)
        x = x + position_embedding(x.shape[1], *size, aspect, x.device)
        return self.scratch.output_conv2(x)

    def forward(self, taps: list[Tensor], size: tuple[int, int]) -> tuple[Tensor, Tensor]:
        """
        Predict depth and its confidence.

        Parameters
        ----------
        taps : list of four Tensors of float32, each of shape [frames, tokens, 2 * width]
            From the aggregator, special tokens first.
        size : tuple of int
            Height and width of the image, pixels.

        Returns
        -------
        tuple of Tensor of float32, each of shape [frames, H, W]
            Depth along the optical axis (scene units, positive) and confidence (at least 1).

        """
        depth, confidence = self.logits(taps, size).unbind(1)
        return depth.exp(), 1 + confidence.exp()
