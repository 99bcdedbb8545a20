# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Rotary position embedding: two-dimensional for frame blocks, three-dimensional for global blocks.

Angles are computed in float64 for any position, so there is no table to run out of; only cosines
and sines are rounded to float32.
"""

from __future__ import annotations

import torch
from torch import Tensor

FRAME_BASE = 100.0
GLOBAL_BASE = 10000.0


def _frequencies(base: float, pairs: int, device: torch.device) -> Tensor:
    steps = torch.arange(pairs, dtype=torch.float64, device=device)
    return base ** (-steps / pairs)


def grid_positions(rows: int, columns: int, specials: int, first: int,
                   device: torch.device) -> Tensor:
    """
    Row and column of each token of a frame, special tokens first.

    Parameters
    ----------
    rows, columns : int
        Patch grid.
    specials : int
        Special tokens before the patches.
    first : int
        Position of patch row and column 0.
    device : torch.device
        Where the result lives.

    Returns
    -------
    Tensor of float64, shape [specials + rows * columns, 2]
        Row, column; zeros for the special tokens.

    """
    y, x = torch.meshgrid(
        torch.arange(rows, dtype=torch.float64, device=device),
        torch.arange(columns, dtype=torch.float64, device=device), indexing='ij')
    patches = torch.stack((y.flatten(), x.flatten()), dim=1) + first
    return torch.cat((patches.new_zeros(specials, 2), patches))


def frame_rotary(rows: int, columns: int, specials: int, head_dim: int,
                 device: torch.device) -> tuple[Tensor, Tensor]:
    """
    Cosines and sines for the tokens of one frame in a frame block.

    The first half of a head's features turns with the row, the second half with the column;
    special tokens sit at (0, 0), patch (y, x) at (y + 1, x + 1).

    Parameters
    ----------
    rows, columns, specials, head_dim : int
        Patch grid, special tokens before it, features a head (a multiple of 4).
    device : torch.device
        Where the result lives.

    Returns
    -------
    tuple of Tensor of float32, each of shape [specials + rows * columns, head_dim]
        Cosine and sine, laid out for `rotate_halves`.

    """
    positions = grid_positions(rows, columns, specials, 1, device)
    frequencies = _frequencies(FRAME_BASE, head_dim // 4, device)
    angles = positions[:, :, None] * frequencies
    angles = torch.cat((angles, angles), dim=-1).flatten(1)
    return angles.cos().float(), angles.sin().float()


def rotate_halves(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """
    Turn features i and i + quarter of each half of a head.

    Parameters
    ----------
    x : Tensor, shape [..., tokens, head_dim]
        Queries or keys.
    cosine, sine : Tensor of float32, shape [tokens, head_dim]
        From `frame_rotary`.

    Returns
    -------
    Tensor
        Same shape and dtype as x; computed in float32.

    """
    a, b, c, d = x.float().chunk(4, dim=-1)
    turned = torch.cat((-b, a, -d, c), dim=-1)
    return (x.float() * cosine + turned * sine).to(x.dtype)


class GlobalRotary:
    """
    Angles for global blocks: frame index, row and column.

    Special token i sits at (f, i, i) and patch (y, x) at (f, specials + y, specials + x). A third
    of a head's feature pairs (rounded so that row and column get equally many) turn with the
    frame: 10, 11 and 11 of the 32 pairs of a head of 64.

    Parameters
    ----------
    rows, columns, specials, head_dim : int
        Patch grid, special tokens before it, features a head.
    device : torch.device
        Where the tables live.

    """

    def __init__(self, rows: int, columns: int, specials: int, head_dim: int,
                 device: torch.device) -> None:
        pairs = head_dim // 2
        side = (pairs - pairs // 3 + 1) // 2
        self._time = _frequencies(GLOBAL_BASE, pairs - 2 * side, device)
        frequencies = _frequencies(GLOBAL_BASE, side, device)
        positions = grid_positions(rows, columns, specials, specials, device)
        positions[:specials] = torch.arange(specials, dtype=torch.float64, device=device)[:, None]
        self._space = (positions[:, :, None] * frequencies).flatten(1)

    def table(self, frame_indices: list[int]) -> tuple[Tensor, Tensor]:
        """
        Cosines and sines for some frames, one after the other.

        Parameters
        ----------
        frame_indices : list of int
            Frame position f of each frame.

        Returns
        -------
        tuple of Tensor of float32, each of shape [frames * tokens, 1, head_dim / 2]
            Cosine and sine, laid out for `rotate_pairs`.

        """
        parts = []
        for index in frame_indices:
            time = (index * self._time).expand(len(self._space), -1)
            parts.append(torch.cat((time, self._space), dim=1))
        angles = torch.cat(parts)[:, None]
        return angles.cos().float(), angles.sin().float()


def rotate_pairs(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """
    Turn features 2i and 2i + 1 of each head.

    Parameters
    ----------
    x : Tensor, shape [tokens, heads, head_dim]
        Queries or keys.
    cosine, sine : Tensor of float32, shape [tokens, 1, head_dim / 2]
        From `GlobalRotary.table`.

    Returns
    -------
    Tensor
        Same shape and dtype as x; computed in float32.

    """
    even, odd = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    turned = torch.stack((even * cosine - odd * sine, even * sine + odd * cosine), dim=-1)
    return turned.flatten(-2).to(x.dtype)
