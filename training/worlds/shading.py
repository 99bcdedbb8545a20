# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Colours of the points that rays hit: texture, light, shadow and haze."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn import functional

from training.worlds import textures
from training.worlds.casting import lit, Rays, Spaces
from training.worlds.draws import Draws, Tensor
from training.worlds.materials import NAMES
from training.worlds.placing import BOXES, CYLINDERS, OBJECTS
from training.worlds.stage import CORRIDOR, Stage

_SUN_AWAY = 3000.0
_CEILING, _FLOOR = 2, 3
_GRAIN, _BLOT = 3.37, 0.23


@dataclass(frozen=True, eq=False)
class Light:
    """
    Light and air of each world; tensors [B] or [B, 3].

    Attributes
    ----------
    place : Tensor
        Where the lamp or the sun is.
    power, ambient : Tensor
        Colours of the direct light and of the light from everywhere.
    margin : Tensor
        Length before a surface in which nothing casts a shadow on it.
    falloff : Tensor
        Distance at which a lamp has lost half of its light.
    haze : Tensor
        Colour of the air.

    """

    place: Tensor
    power: Tensor
    ambient: Tensor
    margin: Tensor
    falloff: Tensor
    haze: Tensor


def light_of(draws: Draws, stage: Stage) -> Light:
    """Choose light and air of the worlds of a batch."""
    far = stage.outdoor | (stage.scene == CORRIDOR)
    azimuth = 6.2832 * draws.unit('light_x')
    height = torch.where(stage.outdoor, draws.uniform('light_y', 0.35, 1.35),
                         draws.uniform('light_y', 1.0, 1.45))
    sun = _SUN_AWAY * torch.stack([height.cos() * azimuth.sin(), -height.sin(),
                                   height.cos() * azimuth.cos()], -1)
    lamp = torch.stack([draws.uniform('light_x', -0.6, 0.6) * stage.half_x,
                        -stage.height * draws.uniform('light_y', 0.86, 0.97),
                        draws.uniform('light_z', -0.6, 0.6) * stage.half_z], -1)
    tint = draws.uniform('light_tint', -1, 1)
    warm = torch.stack([1 + 0.12 * tint, torch.ones_like(tint), 1 - 0.18 * tint], -1)
    ambient = draws.uniform('ambient', 0.3, 0.75)
    power = draws.uniform('light_power', 0.45, 1.0)
    # The two together light a white wall about fully.
    total = ambient + 0.75 * power
    value = torch.where(stage.outdoor, draws.uniform('haze_value', 0.75, 1.0),
                        draws.uniform('haze_value', 0.1, 0.7))
    haze = torch.stack([value * (0.94 + 0.06 * draws.unit('haze_hue')), value * 0.97, value], -1)
    return Light(
        place=torch.where(far.unsqueeze(-1), sun, lamp),
        power=warm * (power / total).unsqueeze(-1),
        ambient=(2 - warm) * (ambient / total).unsqueeze(-1),
        margin=torch.full_like(tint, 0.012),
        falloff=torch.where(far, 1e6, draws.uniform('falloff', 3, 12)), haze=haze)


@dataclass(frozen=True, eq=False)
class View:
    """
    What belongs to F frames that are rendered together.

    Attributes
    ----------
    rays, spaces : Rays, Spaces
        Of the primitives.
    half : Tensor
        float32 [F, OBJECTS + 1, 3], half sizes.
    values : Tensor
        float32 [F, len(NAMES), MATERIALS], looks.
    pose : Tensor
        float32 [F, 4, 4].
    x, y : Tensor
        float32 [F, W] and [F, H], tangents of the pixels.
    shell_z : Tensor
        float32 [F], where the shell stands.
    moving : Tensor
        bool [F, OBJECTS + 1].
    outdoor, void, haze_from, haze_to : Tensor
        [F], of the stage.
    light : Light
        [F] or [F, 3].

    """

    rays: Rays
    spaces: Spaces
    half: Tensor
    values: Tensor
    pose: Tensor
    x: Tensor
    y: Tensor
    shell_z: Tensor
    moving: Tensor
    outdoor: Tensor
    void: Tensor
    haze_from: Tensor
    haze_to: Tensor
    light: Light


def _lookup(volume: Tensor, u: Tensor, v: Tensor, which: Tensor, blur: Tensor) -> Tensor:
    """Read textures at places in tiles; any shapes [F, H, W]."""
    grid = torch.empty(*u.shape, 3, device=u.device)
    torch.mul(u - u.floor(), 2, out=grid[..., 0]).sub_(1)
    torch.mul(v - v.floor(), 2, out=grid[..., 1]).sub_(1)
    level = blur.clamp(0, textures.LEVELS - 1)
    slices = textures.COUNT * textures.LEVELS - 1
    torch.add(which * textures.LEVELS, level, out=grid[..., 2]).mul_(2 / slices).sub_(1)
    flat = functional.grid_sample(volume, grid.view(1, 1, 1, -1, 3), mode='bilinear',
                                  padding_mode='border', align_corners=True)
    return flat.view(u.shape)


def shade(view: View, depth: Tensor, number: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """
    Compute colours.

    Parameters
    ----------
    view : View
        The frames.
    depth : Tensor
        float32 [F, H, W], along the optical axis.
    number : Tensor
        uint8 [F, H, W], primitive that was hit.

    Returns
    -------
    colour : Tensor
        float32 [F, 3, H, W], light that reaches the camera, about 0..1.
    depth : Tensor
        float32 [F, H, W], 0 for the sky and for what the haze hides.
    moving : Tensor
        bool [F, H, W].

    """
    shape = depth.shape
    slot = number.flatten(1).long()

    def of_slot(value: Tensor) -> Tensor:
        return value.gather(1, slot).view(shape)

    def per_frame(value: Tensor) -> Tensor:
        return value[:, None, None]

    def world(axis: int) -> Tensor:
        turn = view.pose[:, axis, :3]
        return ((turn[:, 0:1] * view.x + turn[:, 2:3]).unsqueeze(1)
                + (turn[:, 1:2] * view.y).unsqueeze(2))

    ray = [world(axis) for axis in range(3)]
    point = [torch.addcmul(per_frame(view.pose[:, axis, 3]), depth, ray[axis])
             for axis in range(3)]

    # The place in the space of the primitive: a rotation of its own and then a scale.
    linear = view.spaces.linear.flatten(2)
    shift = view.spaces.shift
    unit = []
    maps = [[of_slot(linear[..., 3 * axis + other]) for other in range(3)] for axis in range(3)]
    for axis in range(3):
        value = of_slot(shift[..., axis])
        for other in range(3):
            value = torch.addcmul(value, maps[axis][other], point[other])
        unit.append(value)
    size = [value.abs() for value in unit]
    across = torch.maximum(size[0], size[2])
    radial = (unit[0] * unit[0] + unit[2] * unit[2]).sqrt()
    ball = number >= BOXES + CYLINDERS
    ball &= number < OBJECTS
    tube = (number >= BOXES) & ~ball & (number < OBJECTS)
    # The surface's axis in a box-like sense chooses the plane that textures lie in.
    on_y = torch.where(tube, size[1] > radial, size[1] > across)
    on_x = (size[0] >= size[2]) & ~on_y
    on_z = ~on_x & ~on_y
    none = torch.zeros((), device=depth.device)
    bent = [torch.where(ball | (tube & ~on_y), unit[0], torch.where(on_x, unit[0].sign(), none)),
            torch.where(ball, unit[1], torch.where(on_y, unit[1].sign(), none)),
            torch.where(ball | (tube & ~on_y), unit[2], torch.where(on_z, unit[2].sign(), none))]
    normal = []
    for axis in range(3):
        value = bent[0] * maps[0][axis]
        value = torch.addcmul(value, bent[1], maps[1][axis])
        normal.append(torch.addcmul(value, bent[2], maps[2][axis]))
    length = (normal[0] ** 2).addcmul_(normal[1], normal[1]).addcmul_(normal[2], normal[2])
    scale = length.rsqrt()
    inside = number == OBJECTS
    scale = torch.where(inside, -scale, scale)
    normal = [value * scale for value in normal]

    # Looks: those of the primitive, or of the shell's face.
    face = torch.where(on_x, (unit[0] > 0).to(torch.uint8),
                       torch.where(on_y, 2 + (unit[1] > 0).to(torch.uint8),
                                   4 + (unit[2] > 0).to(torch.uint8)))
    material = torch.where(inside, number + face, number).flatten(1).long()
    looks = {name: view.values[:, row].gather(1, material).view(shape)
             for row, name in enumerate(NAMES)}

    reach = [of_slot(view.half[..., axis]) for axis in range(3)]
    local = [unit[axis] * reach[axis] for axis in range(3)]
    local[2] = torch.where(inside, local[2] + per_frame(view.shell_z), local[2])
    u = torch.where(on_x, local[2], local[0])
    v = torch.where(on_y, local[2], local[1])
    # Faces of a box show other parts of the texture.
    apart = face.to(torch.float32) * 0.37
    tiles, cos, sin = looks['tiles'], looks['cos'], looks['sin']
    tile_u = (u * cos - v * sin) * tiles + looks['offset_u'] + apart
    tile_v = (u * sin + v * cos) * tiles + looks['offset_v'] + apart

    length = (ray[0] * ray[0]).addcmul_(ray[1], ray[1]).addcmul_(ray[2], ray[2]).sqrt_()
    facing = (ray[0] * normal[0]).addcmul_(ray[1], normal[1]).addcmul_(ray[2], normal[2])
    facing = (facing / length).abs_().clamp_(min=0.02)
    pixel = (view.x[:, 1] - view.x[:, 0])
    footprint = depth * per_frame(pixel) / facing ** 0.8
    blur = torch.log2(footprint * tiles * textures.SIDE) - 0.1

    volume = textures.bank(depth.device)
    pattern = _lookup(volume, tile_u, tile_v, looks['pattern'], blur)
    grain = _lookup(volume, tile_u * _GRAIN + 0.31, tile_v * _GRAIN + 0.17, looks['grain'],
                    blur + 1.753)
    blot = _lookup(volume, tile_v * _BLOT + 0.71, tile_u * _BLOT + 0.11, looks['blot'],
                   blur - 2.12)
    blot = blot * looks['blot_power']
    grain = 1 + looks['grain_power'] * (2 * grain - 1)

    # Light.
    to_light = [per_frame(view.light.place[:, axis]) - point[axis] for axis in range(3)]
    far = (to_light[0] ** 2).addcmul_(to_light[1], to_light[1]).addcmul_(
        to_light[2], to_light[2]).sqrt_()
    direct = (to_light[0] * normal[0]).addcmul_(to_light[1], normal[1]).addcmul_(
        to_light[2], normal[2]) / far
    direct = direct.clamp_(min=0)
    way = view.light.place.sub(view.pose[:, :3, 3]).norm(dim=-1)
    free = lit(view.rays, view.spaces, depth, view.light.place, view.light.margin / way)
    direct = direct * free
    direct = direct / (1 + (far / per_frame(view.light.falloff)) ** 2)
    # Light from everywhere comes from above more than from below.
    around = 0.8 - 0.2 * normal[1]
    around = around + 0.08 * normal[0]

    haze = ((depth * length - per_frame(view.haze_from))
            / per_frame(view.haze_to - view.haze_from))
    sky = inside & ((per_frame(view.outdoor) & (face != _FLOOR)) | per_frame(view.void))
    # Clouds are a ceiling: haze takes them towards the horizon.
    high = inside & per_frame(view.outdoor) & (face == _CEILING)
    haze = torch.where(high, (depth * length - 200) / 700, torch.where(sky, 1.0, haze))
    haze = haze.clamp_(0, 1)
    hidden = sky | (haze >= 1)
    colour = torch.empty(shape[0], 3, *shape[1:], device=depth.device)
    glow = looks['emission']
    for channel, letter in enumerate('rgb'):
        base = looks[f'base_{letter}']
        albedo = torch.lerp(base, looks[f'mark_{letter}'], pattern)
        albedo = torch.lerp(albedo, looks[f'stain_{letter}'], blot) * grain
        light = torch.addcmul(around * per_frame(view.light.ambient[:, channel]), direct,
                              per_frame(view.light.power[:, channel]))
        light = torch.lerp(light, torch.ones_like(light), glow)
        air = per_frame(view.light.haze[:, channel])
        torch.lerp(albedo.mul_(light), air.expand(shape), haze, out=colour[:, channel])
    return colour, depth.masked_fill(hidden, 0), of_slot(view.moving)
