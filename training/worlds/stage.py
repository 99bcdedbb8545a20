# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What kind of world a seed has, how large it is, and where its camera may be.

World axes: x right, y down, z forward; the ground is y = 0, so heights are negative y. Lengths
are in units that read as metres.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from training.worlds.draws import Draws, Tensor

SCENES = ('room', 'corridor', 'street', 'open', 'table')
ROOM, CORRIDOR, STREET, OPEN, TABLE = range(5)
MOTIONS = ('handheld', 'driving', 'drone', 'orbit', 'rest', 'rotation')
HANDHELD, DRIVING, DRONE, ORBIT, REST, ROTATION = range(6)

_SCENE_SHARES = (0.30, 0.16, 0.18, 0.18, 0.18)
# Rows: scenes. A corridor and a street have nothing to orbit; nothing drives over a table.
_MOTION_SHARES = (
    (0.36, 0.16, 0.18, 0.17, 0.05, 0.08),
    (0.42, 0.33, 0.13, 0.00, 0.05, 0.07),
    (0.22, 0.46, 0.21, 0.00, 0.05, 0.06),
    (0.22, 0.20, 0.22, 0.24, 0.05, 0.07),
    (0.38, 0.00, 0.08, 0.44, 0.05, 0.05),
)
# Slots of a street or corridor recur with this period along z; haze hides where they end.
_PERIOD = (0.0, 52.0, 120.0, 0.0, 0.0)
_HAZE_FROM = (1e4, 10.0, 22.0, 35.0, 1e4)
_HAZE_TO = (2e4, 24.0, 47.0, 160.0, 2e4)


def pick(scene: Tensor, *values: Tensor | float) -> Tensor:
    """Return for each sequence the value of its scene: [B] from five of [B] or numbers."""
    columns = [value if isinstance(value, torch.Tensor)
               else torch.full(scene.shape, float(value), device=scene.device)
               for value in values]
    return torch.stack(columns, -1).gather(-1, scene.unsqueeze(-1)).squeeze(-1)


def _index_of(unit: Tensor, shares: Tensor) -> Tensor:
    edges = shares.cumsum(-1)[..., :-1]
    return (unit.unsqueeze(-1) >= edges).sum(-1)


@dataclass(frozen=True, eq=False)
class Stage:
    """
    The frame of each world of a batch; every field is a tensor [B].

    Attributes
    ----------
    scene, motion : Tensor
        int64, places in SCENES and MOTIONS.
    half_x, half_z, height : Tensor
        Half width, half depth and height between the walls; of a street the distance of its
        houses from the middle; of open ground the radius that is kept free.
    outdoor, canyon, drone : Tensor
        bool. A canyon is a street or corridor: it goes on along z without end.
    period, haze_from, haze_to : Tensor
        Length after which the slots of a canyon recur; distances where haze begins and is all.
    strip : Tensor
        Width of the strip along walls where tall things stand.
    centre_x, centre_z, camera_height, free_x, free_y, free_z : Tensor
        Centre and half axes of the region in which the camera stays.
    radius : Tensor
        Of the path of an orbit.
    table_height : Tensor
        Height of the table top (scenes of that kind).
    void : Tensor
        bool, the table stands before a background of one colour, like a photographed model.

    """

    scene: Tensor
    motion: Tensor
    half_x: Tensor
    half_z: Tensor
    height: Tensor
    outdoor: Tensor
    canyon: Tensor
    drone: Tensor
    period: Tensor
    haze_from: Tensor
    haze_to: Tensor
    strip: Tensor
    centre_x: Tensor
    centre_z: Tensor
    camera_height: Tensor
    free_x: Tensor
    free_y: Tensor
    free_z: Tensor
    radius: Tensor
    table_height: Tensor
    void: Tensor


def stage_of(draws: Draws) -> Stage:
    """
    Choose kind and size of the worlds of a batch.

    Parameters
    ----------
    draws : Draws
        Random numbers of the batch.

    Returns
    -------
    Stage
        One entry a sequence.

    """
    device = draws.device
    scene = _index_of(draws.unit('scene'), torch.tensor(_SCENE_SHARES, device=device))
    motion = _index_of(draws.unit('motion'), torch.tensor(_MOTION_SHARES, device=device)[scene])
    uniform = draws.uniform
    drone = motion == DRONE
    outdoor = (scene == STREET) | (scene == OPEN)
    canyon = (scene == STREET) | (scene == CORRIDOR)

    open_radius = draws.log_uniform('size_a', 1.5, 6.0) * torch.where(motion == DRIVING, 2.0, 1.0)
    void = (scene == TABLE) & draws.chance('look', 0.18)
    half_x = pick(scene, draws.log_uniform('size_a', 1.6, 5.0), uniform('size_a', 0.9, 1.9),
                  uniform('size_a', 4.0, 9.0), open_radius, uniform('size_a', 2.3, 5.0))
    half_z = pick(scene, draws.log_uniform('size_b', 1.6, 5.0), half_x, half_x, half_x,
                  uniform('size_b', 2.3, 5.0))
    height = pick(scene, uniform('height', 2.4, 4.2), uniform('height', 2.3, 3.4), 150.0, 150.0,
                  uniform('height', 2.5, 3.6))
    strip = 0.3 * torch.minimum(half_x, half_z)
    table_height = uniform('table_height', 0.5, 0.9)

    scale_a, scale_b = uniform('free_a', 0.55, 1.0), uniform('free_b', 0.55, 1.0)
    free_x = scale_a * pick(scene, half_x - strip - 0.2, 0.3 * half_x, 0.28 * half_x,
                            half_x, half_x - strip - 0.2)
    free_z = scale_b * pick(scene, half_z - strip - 0.2, 1.0, 1.0, half_x, half_z - strip - 0.2)
    centre_x = pick(scene, uniform('offset_a', -1, 1) * (half_x - strip - 0.2 - free_x),
                    0.0, uniform('offset_a', -0.4, 0.4) * (0.28 * half_x - free_x), 0.0, 0.0)
    centre_z = pick(scene, uniform('offset_b', -1, 1) * (half_z - strip - 0.2 - free_z),
                    uniform('offset_b', 0, 52), uniform('offset_b', 0, 120), 0.0, 0.0)

    unit_h, unit_y = draws.unit('camera_height'), draws.unit('free_y')
    low_or_high = torch.where(drone, 2.6 + 3.4 * unit_h, 1.1 + 1.1 * unit_h)
    camera_height = pick(scene, (0.42 + 0.14 * unit_h) * height, (0.40 + 0.18 * unit_h) * height,
                         low_or_high, low_or_high, table_height + 0.43 + 0.5 * unit_h)
    outdoor_y = torch.where(drone, 0.3 + 0.7 * unit_y, 0.02 + 0.2 * unit_y)
    free_y = pick(scene, (0.02 + 0.1 * unit_y) * height, (0.01 + 0.05 * unit_y) * height,
                  outdoor_y, outdoor_y, 0.02 + 0.06 * unit_y)
    reach = torch.minimum(half_x, half_z) - strip - 0.2
    radius = pick(scene, reach * uniform('radius', 0.6, 0.95), 1.0, 1.0,
                  half_x * uniform('radius', 0.8, 0.95),
                  torch.minimum(uniform('radius', 0.45, 1.35), reach * 0.8))

    def constant(values: tuple[float, ...]) -> Tensor:
        return torch.tensor(values, device=device)[scene]

    return Stage(
        scene=scene, motion=motion, half_x=half_x, half_z=half_z, height=height, outdoor=outdoor,
        canyon=canyon, drone=drone, period=constant(_PERIOD), haze_from=constant(_HAZE_FROM),
        haze_to=constant(_HAZE_TO), strip=strip, centre_x=centre_x, centre_z=centre_z,
        camera_height=camera_height, free_x=free_x, free_y=free_y, free_z=free_z, radius=radius,
        table_height=table_height, void=void)
