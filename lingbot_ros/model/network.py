# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The whole network: encoder and aggregator compute in a chosen dtype, the heads in float32."""

from __future__ import annotations

from collections.abc import Iterator

from lingbot_ros.config import (
    CameraHeadConfig,
    DepthHeadConfig,
    EncoderConfig,
    NetworkConfig,
)
from lingbot_ros.model.aggregator import Aggregator, FrameRole, GlobalAttention
from lingbot_ros.model.camera_head import CameraHead, CameraMemory
from lingbot_ros.model.depth_head import DepthHead
import torch
from torch import nn, Tensor

#: A network small enough for two CPU cores; used by `load_network('random')`.
TINY = NetworkConfig(
    width=128, blocks=4, heads=2, taps=(0, 1, 2, 3), encoder=EncoderConfig(kind='conv'),
    camera=CameraHeadConfig(blocks=1, heads=2),
    depth=DepthHeadConfig(channels=(32, 32, 64, 64), features=32))

#: The network whose weights come with the package; see lingbot_ros/weights/README.md.
EMBEDDED = NetworkConfig(
    width=256, blocks=6, heads=4, taps=(1, 2, 4, 5), patch_px=16,
    encoder=EncoderConfig(kind='stem', grid=14, channels=(32, 64, 128)),
    camera=CameraHeadConfig(blocks=1, heads=4),
    depth=DepthHeadConfig(channels=(32, 64, 128, 128), features=32))


class Network(nn.Module):
    """
    Geometric Context Transformer.

    Parameters
    ----------
    config : NetworkConfig
        Sizes.

    Attributes
    ----------
    config : NetworkConfig
        Sizes.
    is_random : bool
        Whether the weights were drawn and so the poses mean nothing.

    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.is_random = False
        self.aggregator = Aggregator(config)
        self.camera_head = CameraHead(config)
        self.depth_head = DepthHead(config)

    @property
    def device(self) -> torch.device:
        """Where the weights live."""
        return self.aggregator.camera_token.device

    @property
    def dtype(self) -> torch.dtype:
        """What encoder and aggregator compute in, and so the dtype of cached keys and values."""
        return self.get_parameter('aggregator.frame_blocks.0.attn.qkv.weight').dtype

    def takes_dtype(self, name: str) -> bool:
        """Whether a parameter takes the chosen dtype: linear layers outside the heads do."""
        owner = self.get_submodule(name.rpartition('.')[0])
        return name.startswith('aggregator.') and isinstance(owner, (nn.Linear, nn.Conv2d))

    def cast(self, dtype: torch.dtype) -> None:
        """Change what encoder and aggregator compute in; the heads stay in float32."""
        for name, parameter in self.named_parameters():
            if self.takes_dtype(name):
                parameter.data = parameter.data.to(dtype)

    def grid(self, size: tuple[int, int]) -> tuple[int, int]:
        """Patch rows and columns of an image of a size (height, width) in pixels."""
        return size[0] // self.config.patch_px, size[1] // self.config.patch_px

    def encode(self, images: Tensor) -> Tensor:
        """Patch tokens [frames, patches, width] of images [frames, 3, H, W] in [0, 1]."""
        return self.aggregator.encode(images)

    def aggregate(self, patches: Tensor, size: tuple[int, int], roles: list[FrameRole],
                  attend: GlobalAttention) -> list[Tensor]:
        """Taps [frames, tokens, 2 * width] of patch tokens; see `Aggregator.forward`."""
        return self.aggregator(patches, self.grid(size), roles, attend)

    def aggregate_steps(self, patches: Tensor, size: tuple[int, int], roles: list[FrameRole],
                        attend: GlobalAttention, taps: list[Tensor]) -> Iterator[None]:
        """Fill taps as `aggregate` returns them, pausing after each block."""
        return self.aggregator.steps(patches, self.grid(size), roles, attend, taps)

    def pose(self, taps: list[Tensor], iterations: int, memory: CameraMemory) -> Tensor:
        """Pose encodings [frames, 9] from the taps; see `CameraHead.forward`."""
        return self.camera_head(taps[-1][:, 0], iterations, memory)

    def depth(self, taps: list[Tensor], size: tuple[int, int]) -> tuple[Tensor, Tensor]:
        """Depth and confidence [frames, H, W] from the taps; see `DepthHead.forward`."""
        return self.depth_head(taps, size)
