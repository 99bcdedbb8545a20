# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What the slots of each kind of scene hold, and where it stands.

Every world has the same slots: boxes, then upright cylinders, then ellipsoids. Tall things keep
out of the region of the camera, low ones below it, so that no path meets one. Each function of a
scene returns [B, S, OBJECTS, 7]: centre, half size and yaw.
"""

from __future__ import annotations

import torch

from training.worlds.draws import Tensor
from training.worlds.stage import DRIVING, ORBIT, Stage

BOXES, CYLINDERS, ELLIPSOIDS = 15, 4, 4
OBJECTS = BOXES + CYLINDERS + ELLIPSOIDS
# One of each shape may move.
MOVERS = (BOXES - 1, BOXES + CYLINDERS - 1, OBJECTS - 1)


class Group:
    """Numbers of a run of slots, and the world they stand in, ready to be combined."""

    def __init__(self, stage: Stage, unit: Tensor, first: int, count: int) -> None:
        self.u = unit[:, :, first:first + count].unbind(-1)
        self.stage = stage
        self.zero = torch.zeros_like(self.u[0])
        self.place = torch.arange(count, device=unit.device)

    def of(self, value: Tensor) -> Tensor:
        """Shape a tensor [B] so that it combines with [B, S, slots]."""
        return value.view(-1, 1, 1)

    def span(self, number: int, low: float, high: float) -> Tensor:
        """Return a number of each slot, uniform in [low, high)."""
        return low + (high - low) * self.u[number]

    def sign(self, number: int) -> Tensor:
        """Return -1 or 1 for each slot."""
        return torch.where(self.u[number] < 0.5, -1.0, 1.0)

    def pack(self, x: Tensor, y: Tensor, z: Tensor, hx: Tensor, hy: Tensor, hz: Tensor,
             yaw: Tensor | None = None) -> Tensor:
        """Stack place, half size and yaw of the group: [B, S, slots, 7]."""
        values = [x, y, z, hx, hy, hz, self.zero if yaw is None else yaw]
        return torch.stack([value + self.zero for value in values], -1)

    def along_wall(self, long: float, deep: tuple[float, float], low: tuple[float, float],
                   gap: float = 0.0) -> Tensor:
        """Boxes that stand at one of the four walls, at most a strip deep."""
        s = self.stage
        half_x, half_z, strip = self.of(s.half_x), self.of(s.half_z), self.of(s.strip)
        on_x = self.u[0] < 0.5
        depth = self.span(1, *deep) * strip * 0.5
        depth = torch.where(self.zero + gap > 0, self.zero + gap, depth)
        wall, run = torch.where(on_x, half_x, half_z), torch.where(on_x, half_z, half_x)
        width = self.span(2, 0.25, 1.0) * torch.clamp(run * long, max=1.1)
        away = self.sign(3) * (wall - depth)
        slide = self.span(4, -0.92, 0.92) * (run - width)
        tall = self.span(5, *low) * 0.5 * self.of(s.height)
        return self.pack(torch.where(on_x, away, slide), -tall, torch.where(on_x, slide, away),
                         torch.where(on_x, depth, width), tall, torch.where(on_x, width, depth))

    def posters(self) -> Tensor:
        """Pictures, doors and windows, thin, on the walls."""
        packed = self.along_wall(0.3, (0, 0), (0.15, 0.6), gap=0.012)
        x, y, z, hx, hy, hz, yaw = packed.unbind(-1)
        lift = self.u[6] * (self.of(self.stage.height) - 2 * hy)
        return self.pack(x, -(hy + lift), z, hx, hy, hz, yaw)

    def low(self, below: Tensor, small: tuple[float, float] = (0.12, 0.5),
            mover: Tensor | None = None, round_: bool = False) -> Tensor:
        """Things on the floor, lower than the camera; `mover` [B, S] is how far one has come."""
        s = self.stage
        size = self.span(0, *small)
        hx, hz = size * self.span(1, 0.6, 1.2), size * self.span(2, 0.6, 1.2)
        hy = self.of(below) * self.span(3, 0.12, 0.5)
        if round_:
            hx = hy = hz = torch.minimum(size, self.of(below) * 0.5)
        x = self.span(4, -1, 1) * (self.of(s.half_x) - size * 1.2)
        z = self.span(5, -1, 1) * (self.of(s.half_z) - size * 1.2)
        if mover is not None:
            swing = mover.unsqueeze(-1)
            reach_x, reach_z = self.of(s.half_x) - size * 1.2, self.of(s.half_z) - size * 1.2
            x = reach_x * (swing + 6.3 * self.u[4]).sin()
            z = reach_z * (0.7 * swing + 6.3 * self.u[5]).sin()
        return self.pack(x, -hy, z, hx, hy, hz, 6.2832 * self.u[6])

    def strip_round(self, tall: tuple[float, float], mover: Tensor | None = None) -> Tensor:
        """Columns and figures in the strip along the walls."""
        s = self.stage
        strip = self.of(s.strip)
        radius = self.span(0, 0.12, 0.4) * torch.clamp(strip, max=1.0)
        on_x = self.u[1] < 0.5
        wall = torch.where(on_x, self.of(s.half_x), self.of(s.half_z))
        run = torch.where(on_x, self.of(s.half_z), self.of(s.half_x)) - radius
        away = self.sign(2) * (wall - 0.5 * strip)
        slide = self.span(3, -1, 1) * run
        if mover is not None:
            slide = run * (mover.unsqueeze(-1) + 6.3 * self.u[3]).sin()
        hy = 0.5 * self.of(s.height) * self.span(4, *tall)
        return self.pack(torch.where(on_x, away, slide), -hy, torch.where(on_x, slide, away),
                         radius, hy, radius * self.span(5, 0.7, 1.0))

    def hanging(self, size: tuple[float, float], flat: bool) -> Tensor:
        """Lamps and beams under the ceiling, in the upper 15 % of the room."""
        s = self.stage
        hx = self.span(0, *size)
        hz = self.span(1, *size) if flat else hx
        room = 0.15 * self.of(s.height)
        hy = room * self.span(2, 0.1, 0.4)
        if not flat:
            hx = hz = torch.minimum(hx, room * 0.5)
            hy = hx
        x = self.span(3, -0.8, 0.8) * (self.of(s.half_x) - hx)
        z = self.span(4, -0.8, 0.8) * (self.of(s.half_z) - hz)
        drop = torch.where(self.u[5] < 0.5, hy, room - hy)
        return self.pack(x, -self.of(s.height) + drop, z, hx, hy, hz)


def room(stage: Stage, unit: Tensor, mover: Tensor) -> Tensor:
    """Furniture at the walls, low things on the floor, pictures, a beam, a lamp, columns."""
    def group(first: int, count: int) -> Group:
        return Group(stage, unit, first, count)

    below = 0.27 * stage.height
    return torch.cat([
        group(0, 5).along_wall(0.35, (0.35, 1.0), (0.2, 0.97)),
        group(5, 4).low(below),
        group(9, 4).posters(),
        group(13, 1).hanging((0.15, 0.8), True),
        group(14, 1).low(below, (0.15, 0.4), mover),
        group(15, 1).strip_round((1.0, 1.0)),
        group(16, 1).strip_round((0.2, 0.8)),
        group(17, 1).low(below, (0.1, 0.3)),
        group(18, 1).strip_round((0.5, 0.7), mover),
        group(19, 2).low(below, (0.1, 0.4), round_=True),
        group(21, 1).hanging((0.1, 0.3), False),
        group(22, 1).low(below, (0.1, 0.35), mover, round_=True)], 2)


def table(stage: Stage, unit: Tensor, mover: Tensor) -> Tensor:
    """Things of a hand's size on a table, lower than 0.28 units; furniture along the walls."""
    def group(first: int, count: int) -> Group:
        return Group(stage, unit, first, count)

    top = stage.table_height
    g = group(0, 1)
    width, deep = g.span(0, 0.45, 0.8), g.span(1, 0.45, 0.8)
    slab = g.pack(g.zero, 0.025 - g.of(top), g.zero, width, g.zero + 0.025, deep)

    def on_top(first: int, count: int, shape: str, wanders: bool = False) -> Tensor:
        o = group(first, count)
        hx, hy, hz = o.span(0, 0.03, 0.16), o.span(1, 0.02, 0.13), o.span(2, 0.03, 0.16)
        if shape == 'cylinder':
            hx = hz = o.span(0, 0.025, 0.09)
        if shape == 'ball':
            hx = hy = hz = o.span(0, 0.03, 0.11)
        # Spread over the table: a sunflower's seeds, shaken.
        angle = 2.39996 * (o.place + first) + 0.9 * o.u[3]
        reach = 0.85 * (((o.place + first + 0.5) * 0.618) % 1).sqrt()
        if wanders:
            angle = angle + mover.unsqueeze(-1)
        return o.pack(reach * width * angle.sin(), -o.of(top) - hy, reach * deep * angle.cos(),
                      hx, hy, hz, 6.2832 * o.u[4])

    leg = group(15, 1)
    height = (leg.of(top) - 0.05) / 2
    foot = leg.pack(leg.zero, -height, leg.zero, leg.span(0, 0.05, 0.3), height,
                    leg.span(1, 0.05, 0.3))
    return torch.cat([
        slab, on_top(1, 8, 'box'), group(9, 2).along_wall(0.35, (0.4, 1.0), (0.2, 0.97)),
        group(11, 3).posters(), on_top(14, 1, 'box', True), foot, on_top(16, 2, 'cylinder'),
        on_top(18, 1, 'cylinder', True), on_top(19, 2, 'ball'),
        group(21, 1).hanging((0.1, 0.3), False), on_top(22, 1, 'ball', True)], 2)


def open_ground(stage: Stage, unit: Tensor, mover: Tensor) -> Tensor:
    """Things around the region of the camera, and within the loops of orbits and drives."""
    g = Group(stage, unit, 0, OBJECTS)
    clear = g.of(stage.half_x)
    u = g.u
    size = torch.where(u[8] < 0.4, 0.2, 0.6) * torch.exp(1.6 * (u[0] - 0.4)) * clear.sqrt()
    hx, hz = size * g.span(1, 0.5, 1.1), size * g.span(2, 0.5, 1.1)
    hy = size * torch.exp(1.8 * (u[3] - 0.45))
    ball = g.place >= BOXES + CYLINDERS
    hy = torch.where(ball, size * g.span(3, 0.8, 1.0), hy)
    girth = torch.hypot(hx, hz)
    loops = (stage.motion == ORBIT) | (stage.motion == DRIVING)
    limit = torch.where(stage.motion == ORBIT, 0.55 * stage.radius, 0.32 * stage.half_x)
    inner = g.of(loops) & (u[4] < 0.5)
    shrink = torch.clamp(0.3 * g.of(limit) / girth, max=1.0)
    hx, hz = torch.where(inner, hx * shrink, hx), torch.where(inner, hz * shrink, hz)
    girth = torch.where(inner, girth * shrink, girth)
    lower = g.of(stage.camera_height) * g.span(10, 0.15, 0.6)
    hy = torch.where(inner, torch.minimum(hy, lower), hy)
    distance = torch.where(inner, (g.of(limit) - girth) * u[5].sqrt(),
                           clear + 0.35 + girth + (2 + 2.2 * clear) * u[5] ** 1.5)
    angle = 2.39996 * g.place + 1.5 * u[6] + 6.2832 * unit[:, :, :1, 11]
    slow = torch.zeros_like(angle)
    slow[:, :, list(MOVERS)] = (mover / (1 + stage.half_x.unsqueeze(-1))).unsqueeze(-1)
    angle = angle + slow
    return g.pack(distance * angle.sin(), -hy * g.span(7, 0.75, 1.0), distance * angle.cos(),
                  hx, hy, hz, 6.2832 * u[9])


def street(stage: Stage, unit: Tensor, along: Tensor) -> Tensor:
    """Five houses a side, cars, poles and crowns at the kerb; `along` [B, S, slots] is z."""
    def group(first: int, count: int) -> Group:
        return Group(stage, unit, first, count)

    wide = stage.half_x
    g = group(0, 10)
    side = torch.where(g.place < 5, -1.0, 1.0)
    deep = g.span(0, 2.5, 7.0)
    tall = g.span(1, 2.0, 8.0)
    front = g.of(wide) + 1.5 * g.u[2] ** 2
    houses = g.pack(side * (front + deep), -tall, along[:, :, :10], deep, tall,
                    g.span(3, 9.5, 11.98))
    g = group(10, 5)
    reach = g.of(wide)
    hx = torch.minimum(g.span(0, 0.3, 0.95), 0.13 * reach)
    hz, hy = g.span(1, 0.4, 2.2), g.span(2, 0.3, 0.9)
    lane = torch.where(g.place == 4, 0.47, g.span(3, 0.5, 0.84))
    cars = g.pack(g.sign(4) * lane * reach, -hy, along[:, :, 10:15], hx, hy, hz)
    g = group(15, 4)
    radius = g.span(0, 0.06, 0.25)
    tall = g.span(1, 1.0, 3.0)
    spot = g.sign(2) * g.span(3, 0.62, 0.8) * g.of(wide)
    poles = g.pack(spot, -tall, along[:, :, 15:19], radius, tall, radius)
    crown = torch.minimum(g.span(4, 0.5, 1.9), 0.28 * g.of(wide))
    crowns = g.pack(spot, -2 * tall - 0.5 * crown, along[:, :, 15:19], crown,
                    crown * g.span(5, 0.7, 1.2), crown)
    return torch.cat([houses, cars, poles, crowns], 2)


def corridor(stage: Stage, unit: Tensor, along: Tensor) -> Tensor:
    """Doors, pictures and cupboards on both sides, beams above, pipes."""
    def group(first: int, count: int) -> Group:
        return Group(stage, unit, first, count)

    def thin(first: int, count: int, low: tuple[float, float], lift: float) -> Tensor:
        g = group(first, count)
        hy = 0.5 * g.of(stage.height) * g.span(0, *low)
        rise = lift * g.u[1] * (g.of(stage.height) - 2 * hy)
        return g.pack(g.sign(2) * (g.of(stage.half_x) - 0.012), -hy - rise,
                      along[:, :, first:first + count], g.zero + 0.012, hy, g.span(3, 0.3, 0.8))

    def hugging(first: int, count: int, tall: tuple[float, float], shape: str) -> Tensor:
        g = group(first, count)
        hx = g.span(0, 0.04, 0.19) * g.of(stage.half_x)
        hz = g.span(1, 0.15, 0.7) if shape == 'box' else hx
        hy = 0.5 * g.of(stage.height) * g.span(2, *tall) if shape != 'ball' else hx
        return g.pack(g.sign(3) * (g.of(stage.half_x) - hx), -hy,
                      along[:, :, first:first + count], hx, hy, hz)

    g = group(12, 2)
    hy = g.span(0, 0.02, 0.05) * g.of(stage.height)
    beams = g.pack(g.zero, hy - g.of(stage.height), along[:, :, 12:14],
                   g.span(1, 0.2, 0.9) * g.of(stage.half_x), hy, g.span(2, 0.1, 0.6))
    return torch.cat([
        thin(0, 5, (0.7, 0.85), 0.0), thin(5, 4, (0.15, 0.45), 1.0),
        hugging(9, 3, (0.2, 0.95), 'box'), beams, hugging(14, 1, (0.2, 0.5), 'box'),
        hugging(15, 2, (1.0, 1.0), 'column'), hugging(17, 2, (0.2, 0.6), 'column'),
        hugging(19, 4, (0, 0), 'ball')], 2)
