# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Rays against primitives, one primitive at a time over whole images.

Each primitive is a unit box, unit cylinder or unit ball after an affine map of space, which keeps
the parameter along a ray. A ray of pixel (x, y) has the direction (x, y, 1) in the camera, so that
its parameter is the depth along the optical axis, and its direction in any such space is a number
of the column plus a number of the row: nothing of it has to be stored for each pixel.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from training.worlds.draws import Tensor
from training.worlds.layout import SHELL, Solids
from training.worlds.placing import BOXES, CYLINDERS, OBJECTS

_NEAR = 1e-3
_NONE = float('inf')


@dataclass(frozen=True, eq=False)
class Spaces:
    """
    The affine maps of the primitives: unit = linear @ world + shift.

    Attributes
    ----------
    linear : Tensor
        float32 [F, OBJECTS + 1, 3, 3].
    shift : Tensor
        float32 [F, OBJECTS + 1, 3].

    """

    linear: Tensor
    shift: Tensor


def spaces_of(solids: Solids) -> Spaces:
    """Return the maps from the world to the unit spaces of the primitives of all frames."""
    yaw = solids.yaw.flatten(0, 1)
    cos, sin, none = yaw.cos(), yaw.sin(), torch.zeros_like(yaw)
    turn = torch.stack([cos, none, -sin, none, none + 1, none, sin, none, cos], -1)
    linear = turn.unflatten(-1, (3, 3)) / solids.half.flatten(0, 1).unsqueeze(-1)
    shift = -(linear * solids.centre.flatten(0, 1).unsqueeze(-2)).sum(-1)
    return Spaces(linear, shift)


@dataclass(frozen=True, eq=False)
class Rays:
    """
    Rays of all pixels in all unit spaces: origin + depth * (column + row).

    Attributes
    ----------
    origin : Tensor
        float32 [F, OBJECTS + 1, 3].
    column, row : Tensor
        float32 [F, OBJECTS + 1, 3, 1, W] and [F, OBJECTS + 1, 3, H, 1].

    """

    origin: Tensor
    column: Tensor
    row: Tensor


def rays_of(spaces: Spaces, pose: Tensor, x: Tensor, y: Tensor) -> Rays:
    """
    Map the rays of cameras to the unit spaces.

    Parameters
    ----------
    spaces : Spaces
        Of F frames.
    pose : Tensor
        float32 [F, 4, 4], T_world_camera.
    x, y : Tensor
        float32 [F, W] and [F, H]: the tangents of the pixels' centres.

    Returns
    -------
    Rays
        Of F images of H x W pixels.

    """
    turn = (spaces.linear.unsqueeze(-1) * pose[:, None, None, :3, :3]).sum(-2)
    origin = (spaces.linear * pose[:, None, None, :3, 3]).sum(-1) + spaces.shift
    column = turn[..., 0:1] * x[:, None, None] + turn[..., 2:3]
    row = turn[..., 1:2] * y[:, None, None]
    return Rays(origin, column.unsqueeze(-2), row.unsqueeze(-1))


def _slab(origin: Tensor, back: Tensor) -> tuple[Tensor, Tensor]:
    """Return where a ray enters and leaves -1..1 along one axis; overwrites `back`."""
    inverse = back.reciprocal_()
    middle = inverse * origin
    reach = inverse.abs_()
    return middle - reach, middle.add_(reach)


def _box(origin: list[Tensor], back: list[Tensor]) -> tuple[Tensor, Tensor]:
    near, far = _slab(origin[0], back[0])
    for axis in (1, 2):
        enter, leave = _slab(origin[axis], back[axis])
        near, far = torch.maximum(near, enter), torch.minimum(far, leave)
    return near, far


def _round(origin: list[Tensor], back: list[Tensor],
           axes: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Where a ray enters and leaves the unit circle of some axes; NaN where it misses."""
    first, *rest = axes
    square = back[first] * back[first]
    along = back[first] * origin[first]
    constant = origin[first] * origin[first] - 1
    for axis in rest:
        square = torch.addcmul(square, back[axis], back[axis])
        along = torch.addcmul(along, back[axis], origin[axis])
        constant = torch.addcmul(constant, origin[axis], origin[axis])
    root = torch.addcmul(along * along, square, constant, value=-1).sqrt_()
    inverse = square.reciprocal_()
    return (along - root).mul_(inverse), root.add_(along).mul_(inverse)


def _cylinder(origin: list[Tensor], back: list[Tensor]) -> tuple[Tensor, Tensor]:
    near, far = _round(origin, back, (0, 2))
    enter, leave = _slab(origin[1], back[1])
    return torch.maximum(near, enter), torch.minimum(far, leave)


def _ball(origin: list[Tensor], back: list[Tensor]) -> tuple[Tensor, Tensor]:
    return _round(origin, back, (0, 1, 2))


def interval(number: int, origin: list[Tensor], back: list[Tensor]) -> tuple[Tensor, Tensor]:
    """
    Intersect rays with one primitive, in its unit space.

    Parameters
    ----------
    number : int
        The slot; it says which shape.
    origin, back : list of Tensor
        Three tensors each that broadcast to [F, H, W]: where rays start, and the opposite of
        their directions, which may be overwritten.

    Returns
    -------
    near, far : Tensor
        [F, H, W], where a ray enters and leaves, in lengths of its direction; a ray that misses
        has near > far or NaN.

    """
    if number < BOXES or number == SHELL:
        return _box(origin, back)
    if number < BOXES + CYLINDERS:
        return _cylinder(origin, back)
    return _ball(origin, back)


def first_hit(rays: Rays) -> tuple[Tensor, Tensor]:
    """
    Find the nearest surface of each pixel.

    Parameters
    ----------
    rays : Rays
        Of F images.

    Returns
    -------
    depth : Tensor
        float32 [F, H, W], along the optical axis.
    number : Tensor
        uint8 [F, H, W], slot of the primitive; SHELL where no object is hit.

    """
    def inputs(number: int) -> tuple[list[Tensor], list[Tensor]]:
        origin = [rays.origin[:, number, axis, None, None] for axis in range(3)]
        return origin, [column[:, number, axis] + row[:, number, axis] for axis in range(3)]

    column, row = -rays.column, -rays.row
    _, depth = interval(SHELL, *inputs(SHELL))
    chosen = torch.full_like(depth, SHELL, dtype=torch.uint8)
    for number in range(OBJECTS):
        near, far = interval(number, *inputs(number))
        hit = (near < far).logical_and_(near < depth).logical_and_(near > _NEAR)
        depth = torch.where(hit, near, depth)
        chosen.masked_fill_(hit, number)
    return depth, chosen


def lit(rays: Rays, spaces: Spaces, depth: Tensor, light: Tensor, margin: Tensor) -> Tensor:
    """
    Say which points are seen by the light.

    Parameters
    ----------
    rays : Rays
        Of F images.
    spaces : Spaces
        Of the same frames.
    depth : Tensor
        float32 [F, H, W], of the points.
    light : Tensor
        float32 [F, 3], where the light is in the world.
    margin : Tensor
        float32 [F], the part of the way from a point in which nothing casts a shadow on it.

    Returns
    -------
    Tensor
        bool [F, H, W].

    """
    lamp = (spaces.linear * light[:, None, None, :]).sum(-1) + spaces.shift
    before = margin[:, None, None]
    free = torch.ones_like(depth, dtype=torch.bool)
    for number in range(OBJECTS):
        # From the point to the light: the sun is so far that the other way loses all digits.
        origin = [
            torch.addcmul(rays.origin[:, number, axis, None, None], depth,
                          rays.column[:, number, axis] + rays.row[:, number, axis])
            for axis in range(3)]
        back = [origin[axis] - lamp[:, number, axis, None, None] for axis in range(3)]
        near, far = interval(number, origin, back)
        stops = (near < far).logical_and_(near < 1).logical_and_(far > before)
        free.logical_and_(stops.logical_not_())
    return free
