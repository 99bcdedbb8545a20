# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What surfaces look like: three colours, and three lookups in the bank of textures.

A pattern mixes two colours, stains of a larger scale add a third, and grain of a smaller scale
makes it lighter and darker; sizes are incommensurate, so that a wall does not repeat. Some walls
are nearly plain.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from training.worlds import textures
from training.worlds.draws import Draws, Tensor
from training.worlds.layout import Solids
from training.worlds.placing import BOXES, CYLINDERS, OBJECTS
from training.worlds.stage import Stage

_TABLE = 20
_NUMBERS = 24
# Of the shell: left, right, ceiling, floor, back, front; their materials follow the objects'.
FACES = 6
MATERIALS = OBJECTS + FACES

_OBJECT, _WALL, _FLOOR, _CEILING, _POSTER, _FRONT, _GROUND, _SKY, _LAMP, _LEAVES, _CAR = range(11)
_ALL = textures.indices('noise', 'blotches', 'marble', 'stripes', 'even', 'checker', 'bricks',
                        'planks', 'writing', 'art', 'cells', 'specks')
_SOFT = textures.indices('noise', 'blotches', 'marks', 'marble')
_LOOKS = {
    # Family: textures, least and greatest tile, contrast, value, saturation, emission.
    _OBJECT: (_ALL, 0.5, 2.5, 0.25, 0.9, 0.25, 0.95, 0.8, 0.0),
    _WALL: (textures.indices('noise', 'bricks', 'stripes', 'marks', 'blotches', 'specks', 'planks',
                             'writing'), 1.2, 4.5, 0.10, 0.6, 0.45, 0.95, 0.4, 0.0),
    _FLOOR: (textures.indices('planks', 'checker', 'bricks', 'cells', 'specks', 'noise', 'marble',
                              'blotches'), 1.2, 3.5, 0.2, 0.8, 0.25, 0.8, 0.4, 0.0),
    _CEILING: (textures.indices('noise', 'planks', 'bricks', 'marks'), 1.5, 4.0, 0.05, 0.4, 0.6,
               1.0, 0.2, 0.0),
    _POSTER: (textures.indices('art', 'writing', 'stripes', 'blotches'), 1.2, 2.4, 0.5, 1.0, 0.3,
              1.0, 0.8, 0.0),
    _FRONT: (textures.indices('windows', 'windows', 'bricks'), 7.0, 13.0, 0.4, 0.85, 0.4, 0.9,
             0.4, 0.0),
    _GROUND: (textures.indices('noise', 'blotches', 'cells', 'specks', 'bricks'), 1.5, 6.0, 0.3,
              0.9, 0.3, 0.8, 0.3, 0.0),
    _SKY: (textures.indices('noise', 'blotches'), 350.0, 900.0, 0.2, 0.6, 0.7, 1.0, 0.45, 1.0),
    _LAMP: (_SOFT, 0.5, 1.5, 0.1, 0.3, 0.9, 1.0, 0.2, 0.8),
    _LEAVES: (textures.indices('specks', 'blotches', 'noise'), 0.6, 1.5, 0.4, 0.9, 0.25, 0.7,
              0.6, 0.0),
    _CAR: (textures.indices('art', 'stripes', 'even', 'writing', 'blotches', 'windows'), 0.8, 2.0,
           0.3, 0.9, 0.2, 0.9, 0.8, 0.0),
}
_LONGEST = max(len(look[0]) for look in _LOOKS.values())


def _families() -> tuple[tuple[int, ...], ...]:
    """Return for each scene the family of each material."""
    rounds = (_OBJECT,) * (OBJECTS - BOXES)
    indoors = (_WALL, _WALL, _CEILING, _FLOOR, _WALL, _WALL)
    outdoors = (_SKY, _SKY, _SKY, _GROUND, _SKY, _SKY)
    lamp_and_ball = (_LAMP, _OBJECT)
    room = (_OBJECT,) * 9 + (_POSTER,) * 4 + (_LAMP, _OBJECT) + rounds[:6] + lamp_and_ball
    corridor = (_OBJECT,) * 5 + (_POSTER,) * 4 + (_OBJECT,) * 3 + (_LAMP,) * 2 + (_OBJECT,)
    street = (_FRONT,) * 10 + (_CAR,) * 5 + (_OBJECT,) * CYLINDERS + (_LEAVES,) * 4
    table = (_OBJECT,) * 11 + (_POSTER,) * 3 + (_OBJECT,) + rounds[:6] + lamp_and_ball
    return (room + indoors, corridor + rounds + indoors, street + outdoors,
            (_OBJECT,) * OBJECTS + outdoors, table + indoors)


@dataclass(frozen=True, eq=False)
class Materials:
    """
    Looks of the surfaces of each frame.

    Attributes
    ----------
    values : Tensor
        float32 [B, S, len(NAMES), MATERIALS], one row a name of NAMES.

    """

    values: Tensor


NAMES = ('base_r', 'base_g', 'base_b', 'mark_r', 'mark_g', 'mark_b', 'stain_r', 'stain_g',
         'stain_b', 'pattern', 'grain', 'blot', 'tiles', 'cos', 'sin', 'offset_u', 'offset_v',
         'grain_power', 'blot_power', 'emission')


def _colour(hue: Tensor, saturation: Tensor, value: Tensor) -> list[Tensor]:
    """Return red, green and blue of a hue in [0, 1]."""
    return [value * (1 - saturation * (1 - ((6 * hue + shift) % 6 - 3).abs().sub(1).clamp(0, 1)))
            for shift in (0.0, 4.0, 2.0)]


def materials_of(draws: Draws, stage: Stage, solids: Solids) -> Materials:
    """
    Choose the looks of all surfaces.

    Parameters
    ----------
    draws : Draws
        Random numbers of the batch.
    stage : Stage
        The worlds.
    solids : Solids
        Their primitives: textures take their size from them.

    Returns
    -------
    Materials
        One column a surface.

    """
    device = draws.device
    family = torch.tensor(_families(), device=device)[stage.scene]
    looks = [_LOOKS[number] for number in range(len(_LOOKS))]
    numbers = torch.tensor([look[1:] for look in looks], device=device)
    lists = torch.tensor([[look[0][i % len(look[0])] for i in range(_LONGEST)] for look in looks],
                         device=device)
    counts = torch.tensor([len(look[0]) for look in looks], device=device)
    batch, frames = solids.cell.shape[:2]
    shell_cell = torch.zeros(batch, frames, FACES, dtype=torch.int64, device=device)
    cell = torch.cat([solids.cell, shell_cell], -1)
    place = torch.arange(MATERIALS, device=device)
    u = draws.table(_TABLE, _NUMBERS, cell * MATERIALS + place).unbind(-1)

    tile_low, tile_high, weak, strong, dark, light, vivid, emission = (
        numbers[family][:, None, :, i] for i in range(8))
    choice = (u[0] * counts[family].unsqueeze(1)).long()
    pattern = lists[family.unsqueeze(1).expand_as(choice), choice]
    soft = torch.tensor(_SOFT, device=device)
    grain, blot = soft[(u[1] * 8).long()], soft[(u[2] * len(_SOFT)).long()]

    # Objects carry tiles of their own size, walls and grounds of a size in units.
    extent = solids.half[:, :, :OBJECTS].topk(2, -1).values[..., 1] * 2
    extent = torch.cat([extent, torch.ones_like(shell_cell, dtype=torch.float32)], -1)
    is_front = (family == _FRONT).unsqueeze(1)
    extent = torch.where(is_front, 1.0, extent)
    tile = extent * tile_low * torch.exp((tile_high / tile_low).log() * u[3])

    hue = (draws.unit('colour_world').view(-1, 1, 1) + 0.35 * u[4]) % 1
    hue = torch.where(u[5] < 0.45, u[4], hue)
    sky = (family == _SKY).unsqueeze(1)
    # One sky: its faces share what the ceiling draws.
    shared = [torch.where(sky, value[:, :, OBJECTS + 2:OBJECTS + 3], value) for value in u]
    saturation = vivid * shared[6] ** 1.5
    value = dark + (light - dark) * shared[7]
    hue = torch.where(sky, 0.55 + 0.1 * shared[4], hue)
    leaves = (family == _LEAVES).unsqueeze(1)
    hue = torch.where(leaves, 0.2 + 0.2 * u[4], hue)
    base = _colour(hue, saturation, value)

    contrast = weak + (strong - weak) * shared[8]
    plain = draws.chance('low_texture', 0.45).view(-1, 1, 1) & (u[9] < 0.5)
    plain = plain & ((family == _WALL) | (family == _CEILING)).unsqueeze(1)
    contrast = torch.where(plain, 0.02 + 0.06 * u[10], contrast)
    darker = (value > 0.55) | (u[11] < 0.3)
    other = torch.where(darker, value * (1 - contrast), value + (1 - value) * contrast)
    mark_hue = hue + torch.where(sky | plain, 0.0, (u[12] - 0.5) * contrast)
    mark_saturation = torch.where(sky, 0.1 * saturation, torch.where(
        plain, saturation, (saturation + contrast * (u[13] - 0.5)).clamp(0, 1)))
    other = torch.where(sky, 0.92, other)
    mark = _colour(mark_hue, mark_saturation, other)
    stain = _colour(hue + 0.2 * (u[14] - 0.5), saturation * u[15] * 2 * 0.8,
                    value * (0.4 + 0.9 * u[16]).clamp(max=1.0))
    turn = torch.where(u[17] < 0.75, (4 * u[18]).floor() * 1.570796, 6.283185 * u[18])
    upright = ((family == _FRONT) | (family == _WALL)).unsqueeze(1)
    turn = torch.where(upright, 0.0, turn)
    calm = torch.where(plain | sky, 0.15, 1.0)
    rows = [*base, *mark, *stain, pattern.float(), grain.float(), blot.float(), 1 / tile,
            turn.cos(), turn.sin(), u[19], u[20], calm * (0.08 + 0.4 * u[21] ** 1.5),
            calm * 0.5 * u[22], emission.expand_as(u[0])]
    return Materials(torch.stack([row.expand_as(u[0]) for row in rows], 2).contiguous())
