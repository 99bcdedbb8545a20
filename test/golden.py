# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The reference's outputs, and the network they were made with."""

from pathlib import Path

from lingbot_ros import CameraHeadConfig, EncoderConfig, NetworkConfig
import numpy as np
import torch

FOLDER = Path(__file__).parent / 'data' / 'golden'
STREAMS = ('stream_every_frame', 'stream_keyframe3_portrait', 'stream_scale1')
CONFIG = NetworkConfig(blocks=4, taps=(0, 1, 2, 3), encoder=EncoderConfig(blocks=2),
                       camera=CameraHeadConfig(blocks=1))


def load(name: str) -> dict[str, np.ndarray]:
    with np.load(FOLDER / f'{name}.npz') as arrays:
        return dict(arrays)


def pixels(frames: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(frames).float() / 255
