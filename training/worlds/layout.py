# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The primitives of each frame: those of its scene, and the shell around them.

Slots of a street or corridor recur: each stands in the copy of its period that is nearest to the
camera, and each copy draws numbers of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from training.worlds.draws import Draws, Tensor
from training.worlds.placing import (
    corridor,
    CYLINDERS,
    ELLIPSOIDS,
    MOVERS,
    OBJECTS,
    open_ground,
    room,
    street,
    table,
)
from training.worlds.stage import Stage, STREET

SHELL = OBJECTS
_TABLE = 10
_NUMBERS = 12
_FAR = 1000.0


@dataclass(frozen=True, eq=False)
class Solids:
    """
    Primitives of each frame; the last slot is the shell, an upright box seen from inside.

    Attributes
    ----------
    centre, half : Tensor
        float32 [B, S, OBJECTS + 1, 3], world centre, and half sizes along the own axes.
    yaw : Tensor
        float32 [B, S, OBJECTS + 1], turn about the vertical, radians.
    cell : Tensor
        int64 [B, S, OBJECTS], which copy of its slot stands there.
    moving : Tensor
        bool [B, OBJECTS + 1], the primitive has a velocity of its own.

    """

    centre: Tensor
    half: Tensor
    yaw: Tensor
    cell: Tensor
    moving: Tensor


def _furniture(device: torch.device) -> Tensor:
    """Return a bool [OBJECTS]: slots of a table's scene that do not belong to the table."""
    place = torch.arange(OBJECTS, device=device)
    return ((place >= 9) & (place <= 13)) | (place == 21)


def solids_of(draws: Draws, stage: Stage, frames: Tensor, camera_z: Tensor) -> Solids:
    """
    Place the primitives of each frame.

    Parameters
    ----------
    draws : Draws
        Random numbers of the batch.
    stage : Stage
        The worlds.
    frames : Tensor
        int64 [S], frame numbers.
    camera_z : Tensor
        float32 [B, S], where along a canyon the camera is.

    Returns
    -------
    Solids
        Primitives of all frames.

    """
    device = draws.device
    place = torch.arange(OBJECTS, device=device)
    has_movers = draws.chance('movers', 0.5).unsqueeze(-1)
    moving = torch.zeros(draws.count, OBJECTS + 1, dtype=torch.bool, device=device)
    moving[:, list(MOVERS)] = has_movers
    # In a canyon only the box moves, along it; a corridor's boxes hug the wall.
    moving[:, list(MOVERS[1:])] &= ~stage.canyon.unsqueeze(-1)
    pace = torch.where(has_movers[:, 0], draws.log_uniform('mover_speed', 0.01, 0.09), 0.0)
    time = frames.to(torch.float32)
    mover = pace.unsqueeze(-1) * time

    # Slots of a side are spread evenly; others at random, in order.
    spread = draws.table(_TABLE, OBJECTS)
    even = torch.where(place < 10, (place % 5) / 5.0, (place * 0.38197) % 1)
    loose = torch.where((place < 10) & (stage.scene == STREET).unsqueeze(-1), 0.0, 0.1)
    period = torch.where(stage.canyon, stage.period, 1.0)
    base = (even + loose * spread) * period.unsqueeze(-1)
    # A crown stands where its pole does.
    tied = (stage.scene == STREET).unsqueeze(-1) & (place >= OBJECTS - ELLIPSOIDS)
    base = torch.where(tied, base.roll(CYLINDERS, -1), base)
    base = base.unsqueeze(1) + torch.where(
        moving[:, None, :OBJECTS] & stage.canyon.view(-1, 1, 1),
        (draws.uniform('mover_speed', -0.3, -0.05) * torch.where(stage.outdoor, 1.5, 0.3)).view(
            -1, 1, 1) * time.view(1, -1, 1), 0.0)
    turn = period.view(-1, 1, 1)
    cell = ((camera_z.unsqueeze(-1) - base) / turn).round().to(torch.int64)
    cell = torch.where(stage.canyon.view(-1, 1, 1), cell, 0)
    along = base + cell * turn
    kept = torch.where(moving[:, None, :OBJECTS], 0, cell)
    unit = draws.table(_TABLE + 1, _NUMBERS, kept * OBJECTS + place)

    packed = torch.stack([
        room(stage, unit, mover), corridor(stage, unit, along), street(stage, unit, along),
        open_ground(stage, unit, mover), table(stage, unit, mover)], 1)
    chosen = packed[torch.arange(draws.count, device=device), stage.scene]
    # Before an empty background nothing but the table: the rest hides in its foot.
    gone = stage.void.view(-1, 1, 1, 1) & _furniture(device).view(1, 1, -1, 1)
    chosen = torch.where(gone, chosen.new_tensor([0, -0.2, 0, 0.01, 0.01, 0.01, 0]), chosen)
    centre, half, yaw = chosen[..., :3], chosen[..., 3:6], chosen[..., 6]

    shell = torch.zeros(*camera_z.shape, 1, 7, device=device)
    tall = stage.height.view(-1, 1) / 2
    side = torch.where(stage.outdoor, _FAR, stage.half_x).view(-1, 1)
    end = torch.where(stage.outdoor | stage.canyon, _FAR, stage.half_z).view(-1, 1)
    shell[:, :, 0, 1] = -tall
    shell[:, :, 0, 2] = torch.where(stage.canyon.view(-1, 1), camera_z, 0.0)
    shell[:, :, 0, 3], shell[:, :, 0, 4], shell[:, :, 0, 5] = side, tall, end
    return Solids(
        centre=torch.cat([centre, shell[..., :3]], 2), half=torch.cat([half, shell[..., 3:6]], 2),
        yaw=torch.cat([yaw, shell[..., 6]], 2), cell=kept, moving=moving)
