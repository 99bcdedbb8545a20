# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The sizes of a network, read off the shapes of its tensors."""

from __future__ import annotations

from collections.abc import Mapping
import re

from lingbot_ros.config import (
    CameraHeadConfig,
    DepthHeadConfig,
    EncoderConfig,
    NetworkConfig,
)
from lingbot_ros.errors import CheckpointError

Shapes = Mapping[str, tuple[int, ...]]


def _count(shapes: Shapes, prefix: str) -> int:
    pattern = re.compile(re.escape(prefix) + r'\.(\d+)\.')
    return 1 + max((int(m[1]) for m in map(pattern.match, shapes) if m), default=-1)


def infer_config(shapes: Shapes) -> NetworkConfig:
    """
    Read the sizes of a network off the shapes of its tensors.

    Attention heads of encoder and camera head leave no trace in the shapes; they are taken as 64
    and 128 features wide, as in the released network.

    Parameters
    ----------
    shapes : mapping of str to tuple of int
        Shape by tensor name.

    Returns
    -------
    NetworkConfig
        The released sizes when the shapes say too little to tell.

    Raises
    ------
    CheckpointError
        If the number of aggregator blocks is not a multiple of four, so that the taps are unknown.

    """
    released = NetworkConfig()
    try:
        width = shapes['aggregator.camera_token'][-1]
        head_dim = shapes['aggregator.global_blocks.0.attn.q_norm.weight'][0]
        channels = [shapes[f'depth_head.projects.{i}.weight'][0] for i in range(4)]
        features = shapes['depth_head.scratch.layer1_rn.weight'][0]
        conv = 'aggregator.patch_embed.proj.weight'
        vit = 'aggregator.patch_embed.patch_embed.proj.weight'
        patch_px = shapes[conv if conv in shapes else vit][-1]
        encoder = EncoderConfig(kind='conv')
        if conv not in shapes:
            encoder = EncoderConfig(
                blocks=_count(shapes, 'aggregator.patch_embed.blocks'),
                heads=max(1, width // 64),
                registers=shapes['aggregator.patch_embed.register_tokens'][1],
                grid=round((shapes['aggregator.patch_embed.pos_embed'][1] - 1) ** 0.5))
    except (KeyError, IndexError):
        return released
    blocks = max(_count(shapes, f'aggregator.{kind}_blocks') for kind in ('frame', 'global'))
    if (width, blocks) == (released.width, released.blocks) and encoder.kind == 'vit':
        return released
    if blocks % 4:
        raise CheckpointError(
            f'expected a multiple of 4 aggregator blocks (taps are then known), got {blocks}; '
            'pass config= to say which blocks are tapped')
    quarter = blocks // 4
    return NetworkConfig(
        width=width, blocks=blocks, heads=width // head_dim, patch_px=patch_px, encoder=encoder,
        taps=(quarter - 1, 2 * quarter - 1, 3 * quarter - 1, blocks - 1),
        camera=CameraHeadConfig(blocks=max(1, _count(shapes, 'camera_head.trunk')),
                                heads=max(1, 2 * width // 128)),
        depth=DepthHeadConfig(channels=(channels[0], channels[1], channels[2], channels[3]),
                              features=features))
