# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Random numbers that depend on the seed of a sequence and on a counter alone.

No generator has a state, so that a sequence is the same in any batch, order and chunk, and on any
device: a number is the integer hash of (seed, table, column, cell).
"""

from __future__ import annotations

import math

import torch

Tensor = torch.Tensor

_MASK = 0xFFFFFFFF
# One column a name. Append only: the place of a name is part of what a seed renders, so those that
# nothing reads keep theirs.
COLUMNS = (
    'scene', 'motion', 'size_a', 'size_b', 'height', 'free_a', 'free_b', 'camera_height',
    'free_y', 'radius', 'table_height', 'offset_a', 'offset_b', 'fov', 'speed', 'direction',
    'warp', 'warp_rate', 'warp_phase', 'yaw', 'yaw_swing', 'yaw_rate', 'yaw_phase', 'pitch',
    'pitch_swing', 'pitch_rate', 'pitch_phase', 'roll', 'roll_swing', 'roll_phase', 'shake',
    'shake_turn', 'gaze', 'gaze_kind', 'theta', 'radius_phase', 'height_phase', 'turn_kind',
    'light_x', 'light_y', 'light_z', 'light_tint', 'light_power', 'ambient', 'falloff',
    'haze_hue', 'haze_value', 'sun', 'movers', 'mover_speed', 'grey', 'exposure', 'drift',
    'drift_rate', 'drift_phase', 'flicker', 'flicker_rate', 'flicker_rows', 'flicker_phase',
    'vignette', 'noise', 'defocus', 'shutter', 'gamma', 'white_a', 'white_b', 'black',
    'colour_world', 'low_texture', 'look',
    'rest_jitter', 'adapt',
)
_COLUMN = {name: place for place, name in enumerate(COLUMNS)}


def mix(value: Tensor) -> Tensor:
    """
    Hash integers to 32 bits.

    Parameters
    ----------
    value : Tensor
        int64, any shape; the low 32 bits count.

    Returns
    -------
    Tensor
        int64 in [0, 2**32).

    """
    value = value & _MASK
    value = ((value ^ (value >> 16)) * 0x7FEB352D) & _MASK
    value = ((value ^ (value >> 15)) * 0x846CA68B) & _MASK
    return value ^ (value >> 16)


def to_unit(value: Tensor) -> Tensor:
    """Map 32-bit hashes to float32 in [0, 1), the same numbers on every device."""
    return (value >> 8).to(torch.float32) * (1.0 / (1 << 24))


class Draws:
    """
    Random numbers of a batch of sequences.

    Parameters
    ----------
    seeds : Tensor
        int64 [B], not negative.

    """

    def __init__(self, seeds: Tensor) -> None:
        self.device = seeds.device
        self.count = seeds.shape[0]
        self._key = mix((seeds & _MASK) ^ mix((seeds >> 32) + 0x9E3779B9))
        self._table = self.table(0, len(COLUMNS))

    def table(self, number: int, columns: int, cell: Tensor | None = None) -> Tensor:
        """
        Draw a table of numbers.

        Parameters
        ----------
        number : int
            Which table; each holds numbers of its own.
        columns : int
            How many numbers a cell.
        cell : Tensor or None
            int64 [B, ...]: the counter, which may be negative.

        Returns
        -------
        Tensor
            float32 in [0, 1), [B, ..., columns].

        """
        key = mix(self._key + 0x632BE5AB * (number + 1))
        if cell is not None:
            key = mix(key.view(-1, *[1] * (cell.dim() - 1)) ^ mix(cell + 0x1B873593))
        place = torch.arange(columns, device=self.device)
        return to_unit(mix(key.unsqueeze(-1) ^ mix(place * 0x9E3779B1 + 0x85EBCA77)))

    def frame_keys(self, frames: Tensor) -> Tensor:
        """Return a hash for each sequence and frame number: int64 [B, S], 32 bits."""
        return mix(self._key.unsqueeze(1) ^ mix(frames + 0x51ED270B).unsqueeze(0))

    def unit(self, name: str) -> Tensor:
        """Return the number of a name: float32 in [0, 1), [B]."""
        return self._table[:, _COLUMN[name]]

    def uniform(self, name: str, low: float | Tensor, high: float | Tensor) -> Tensor:
        """Return the number of a name, uniform in [low, high), [B]."""
        return low + (high - low) * self.unit(name)

    def log_uniform(self, name: str, low: float, high: float) -> Tensor:
        """Return the number of a name, uniform in its logarithm, [B]."""
        return low * torch.exp(math.log(high / low) * self.unit(name))

    def chance(self, name: str, probability: float) -> Tensor:
        """Return a bool [B] that is true with a probability."""
        return self.unit(name) < probability
