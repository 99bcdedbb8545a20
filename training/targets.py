# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the network should say of a rendered batch, in its own units."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
import torch.nn.functional as F

from training.worlds import Batch

#: Depths beyond this many scene units count as this far: nothing there moves in the image.
FARTHEST = 20.0
#: A point is seen in the other frame if the depth there agrees within this fraction.
OCCLUSION = 0.05


@dataclass(frozen=True, eq=False)
class Targets:
    """
    Truth of a batch of sequences.

    Attributes
    ----------
    rotation : Tensor of float32, shape [batch, frames, 3, 3]
        World from camera; the world is the first frame.
    translation : Tensor of float32, shape [batch, frames, 3]
        Camera centre, scene units.
    fov : Tensor of float32, shape [batch, 2]
        Vertical, horizontal; radians.
    depth : Tensor of float32, shape [batch, frames, H, W]
        Scene units, at most FARTHEST; 0 where there is nothing (sky).
    cells : Tensor of float32, shape [batch, frames, rows, columns]
        Depth at the centre of each patch; 0 for sky and for what moves by itself.
    tangent : Tensor of float32, shape [batch, 2]
        Tangent of half the horizontal and half the vertical field of view.

    """

    rotation: Tensor
    translation: Tensor
    fov: Tensor
    depth: Tensor
    cells: Tensor
    tangent: Tensor


def make_targets(batch: Batch, anchors: int, patch_px: int) -> Targets:
    """
    Move a batch into its first frame and divide by the anchors' depth.

    The scene unit is the geometric mean depth over the anchors: far things do not dominate it.

    Parameters
    ----------
    batch : Batch
        As rendered; depth in float32.
    anchors : int
        Frames that fix the scale.
    patch_px : int
        Side of a patch.

    Returns
    -------
    Targets
        In scene units.

    """
    depth, fov, T_world_camera = batch.depth, batch.fov, batch.T_world_camera
    rotation, centre = T_world_camera[..., :3, :3], T_world_camera[..., :3, 3]
    first = rotation[:, :1].mT
    seen = depth[:, :anchors] > 0
    logs = depth[:, :anchors].clamp(min=1e-3).log().where(seen, 0)
    unit = (logs.sum((1, 2, 3)) / seen.sum((1, 2, 3)).clamp(min=1)).exp()[:, None, None]
    scaled = (depth / unit[..., None]).clamp(max=FARTHEST)
    half = patch_px // 2
    cells = scaled[:, :, half::patch_px, half::patch_px]
    still = ~batch.moving[:, :, half::patch_px, half::patch_px]
    return Targets(
        rotation=first @ rotation,
        translation=((first @ (centre - centre[:, :1])[..., None])[..., 0]) / unit,
        fov=fov, depth=scaled, cells=cells * still, tangent=(fov / 2).tan().flip(-1))


def patch_rays(targets: Targets) -> Tensor:
    """
    Directions of the patch centres, z = 1.

    Parameters
    ----------
    targets : Targets
        Of a batch.

    Returns
    -------
    Tensor of float32, shape [batch, 1, patches, 3]
        In camera axes.

    """
    rows, columns = targets.cells.shape[2:]
    device = targets.cells.device
    y = (torch.arange(rows, device=device) + 0.5) / rows * 2 - 1
    x = (torch.arange(columns, device=device) + 0.5) / columns * 2 - 1
    grid = torch.stack((x.expand(rows, -1), y[:, None].expand(-1, columns)), dim=-1)
    rays = grid.flatten(0, 1) * targets.tangent[:, None, None]
    return F.pad(rays, (0, 1), value=1.0)


def world_points(targets: Targets) -> tuple[Tensor, Tensor]:
    """
    Points that the patch centres show.

    Parameters
    ----------
    targets : Targets
        Of a batch.

    Returns
    -------
    tuple of Tensor
        Points float32 [batch, frames, patches, 3] in scene units, and whether there is one,
        bool [batch, frames, patches].

    """
    cells = targets.cells.flatten(2)
    local = patch_rays(targets) * cells[..., None]
    points = local @ targets.rotation.mT + targets.translation[:, :, None]
    return points, (cells > 0) & (cells < FARTHEST)


def correspondences(targets: Targets, lag: int) -> tuple[Tensor, Tensor]:
    """
    Where the patch centres of each frame are, `lag` frames before.

    Parameters
    ----------
    targets : Targets
        Of a batch.
    lag : int
        Frames.

    Returns
    -------
    tuple of Tensor
        Position float32 [batch, frames - lag, patches, 2] (column, row; in patches, 0 at the
        centre of the first), and whether it is seen there, bool [batch, frames - lag, patches].

    """
    points, there = world_points(targets)
    rows, columns = targets.cells.shape[2:]
    rotation, translation = targets.rotation[:, :-lag], targets.translation[:, :-lag]
    local = (points[:, lag:] - translation[:, :, None]) @ rotation
    z = local[..., 2]
    plane = local[..., :2] / z.clamp(min=1e-3)[..., None] / targets.tangent[:, None, None]
    size = plane.new_tensor((columns, rows))
    position = (plane + 1) / 2 * size - 0.5
    inside = ((plane.abs() < 1).all(-1)) & (z > 1e-3) & there[:, lag:]
    # The depth there, at pixel resolution: a patch centre says too little near an edge.
    height, width = targets.depth.shape[2:]
    pixel_x = ((plane[..., 0] + 1) / 2 * width).long().clamp(0, width - 1)
    pixel_y = ((plane[..., 1] + 1) / 2 * height).long().clamp(0, height - 1)
    other = targets.depth[:, :-lag].flatten(2).gather(2, pixel_y * width + pixel_x)
    return position, inside & ((other - z).abs() < OCCLUSION * z)
