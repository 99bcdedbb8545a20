# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The sizes of a network, read off the shapes of its tensors."""

from __future__ import annotations

from collections.abc import Mapping
import logging
import re

from lingbot_ros.config import (
    CameraHeadConfig,
    DepthHeadConfig,
    EncoderConfig,
    NetworkConfig,
)
from lingbot_ros.errors import CheckpointError, ConfigError

logger = logging.getLogger(__name__)

Shapes = Mapping[str, tuple[int, ...]]


def _count(shapes: Shapes, prefix: str) -> int:
    pattern = re.compile(re.escape(prefix) + r'\.(\d+)\.')
    numbers = (int(m[1]) for m in map(pattern.match, shapes) if m)
    # A number beyond the count of all tensors is no block; it is reported as unexpected.
    return 1 + max((number for number in numbers if number < len(shapes)), default=-1)


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
        The released sizes when the shapes say too little to tell, or when any part has its
        released depth.

    Raises
    ------
    CheckpointError
        If the number of aggregator blocks is not a multiple of four, so that the taps are unknown.

    """
    released = NetworkConfig()
    try:
        config = _sizes(shapes)
    except (LookupError, TypeError, ZeroDivisionError, ConfigError):
        return released  # the report of misfits will name what is wrong
    if config is None:
        return released
    logger.info('sizes read off the checkpoint: width %d, %s encoder, %d aggregator blocks, %d '
                'camera blocks', config.width, config.encoder.kind, config.blocks,
                config.camera.blocks)
    return config


def _sizes(shapes: Shapes) -> NetworkConfig | None:
    """Sizes of a small network; None for the released one, complete or not."""
    released = NetworkConfig()
    width = shapes['aggregator.camera_token'][-1]
    head_dim = shapes['aggregator.global_blocks.0.attn.q_norm.weight'][0]
    channels = [shapes[f'depth_head.projects.{i}.weight'][0] for i in range(4)]
    conv = 'aggregator.patch_embed.proj.weight'
    vit = 'aggregator.patch_embed.patch_embed.proj.weight'
    blocks = max(_count(shapes, f'aggregator.{kind}_blocks') for kind in ('frame', 'global'))
    camera_blocks = _count(shapes, 'camera_head.trunk')
    stages = _count(shapes, 'aggregator.patch_embed.stages')
    if conv in shapes:
        encoder, patch_px = EncoderConfig(kind='conv'), shapes[conv][-1]
    elif stages:
        encoder, patch_px = EncoderConfig(
            kind='stem', grid=round(shapes['aggregator.patch_embed.pos_embed'][1] ** 0.5),
            channels=tuple(shapes[f'aggregator.patch_embed.stages.{i}.reduce.weight'][0]
                           for i in range(stages - 1))), 2**stages
    else:
        patch_px = shapes[vit][-1]
        encoder = EncoderConfig(
            blocks=_count(shapes, 'aggregator.patch_embed.blocks'),
            heads=max(1, width // 64),
            registers=shapes['aggregator.patch_embed.register_tokens'][1],
            grid=round((shapes['aggregator.patch_embed.pos_embed'][1] - 1) ** 0.5))
        # Any one part at its released depth: a released checkpoint that lost blocks elsewhere
        # must be reported, not taken for a smaller network.
        if width == released.width and (
                encoder.blocks == released.encoder.blocks or blocks == released.blocks
                or camera_blocks == released.camera.blocks):
            return None
    if blocks % 4:
        raise CheckpointError(
            f'expected a multiple of 4 aggregator blocks (taps are then known), got {blocks}; '
            'pass config= to say which blocks are tapped')
    quarter = blocks // 4
    return NetworkConfig(
        width=width, blocks=blocks, heads=width // head_dim, encoder=encoder,
        patch_px=patch_px,
        taps=(quarter - 1, 2 * quarter - 1, 3 * quarter - 1, blocks - 1),
        camera=CameraHeadConfig(blocks=camera_blocks, heads=max(1, 2 * width // 128)),
        depth=DepthHeadConfig(channels=(channels[0], channels[1], channels[2], channels[3]),
                              features=shapes['depth_head.scratch.layer1_rn.weight'][0]))
