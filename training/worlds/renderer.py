# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From seeds to images, depth, poses and fields of view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
import math
from typing import TypeVar

import torch

from training.worlds import stage as stages
from training.worlds.casting import first_hit, rays_of, Spaces, spaces_of
from training.worlds.draws import Draws, Tensor
from training.worlds.layout import SHELL, solids_of
from training.worlds.materials import materials_of
from training.worlds.optics import Camera, camera_of, expose
from training.worlds.shading import Light, light_of, shade, View
from training.worlds.trajectory import camera_path

_FOV_DEGREES = (40.0, 110.0)
# Pixels that are rendered at once: enough to keep the device busy, few enough for its memory
# (about 250 bytes a pixel), or for the processor's cache.
_CHUNK_CUDA = 24_000_000
_CHUNK_CPU = 40_000

T = TypeVar('T', Camera, Light)


@dataclass(frozen=True, eq=False)
class Batch:
    """
    B sequences of S frames.

    Attributes
    ----------
    images : Tensor
        uint8 [B, S, 3, H, W], RGB.
    depth : Tensor
        float32 [B, S, H, W], along the optical axis; 0 where there is none: the sky, and what
        haze hides.
    T_world_camera : Tensor
        float32 [B, S, 4, 4], OpenCV optical axes.
    fov : Tensor
        float32 [B, 2], vertical and horizontal, radians. Square pixels, the principal point is
        the middle of the image.
    moving : Tensor
        bool [B, S, H, W], true where a thing is seen that moves by itself.

    """

    images: Tensor
    depth: Tensor
    T_world_camera: Tensor
    fov: Tensor
    moving: Tensor


def _rows(record: T, choose: Tensor, frames: int) -> T:
    """Return a record of F rows from one of [B, ...] and [B, S] fields."""
    def rows(value: Tensor, name: str) -> Tensor:
        if name in ('gain', 'beat'):
            return value.flatten()[choose]
        return value[torch.div(choose, frames, rounding_mode='floor')]
    return type(record)(**{f.name: rows(record.__dict__[f.name], f.name)
                           for f in fields(record)})


def _seeds(seeds: Sequence[int], device: torch.device) -> Draws:
    if not len(seeds):
        raise ValueError('expected at least one seed, got none')
    if min(seeds) < 0 or max(seeds) >= 1 << 62:
        raise ValueError(f'seeds must be in [0, 2**62), got {min(seeds)} to {max(seeds)}')
    return Draws(torch.tensor(list(seeds), dtype=torch.int64, device=device))


def kinds(seeds: Sequence[int]) -> list[tuple[str, str]]:
    """Return scene and motion of each seed: names of SCENES and MOTIONS."""
    stage = stages.stage_of(_seeds(seeds, torch.device('cpu')))
    return [(stages.SCENES[scene], stages.MOTIONS[motion])
            for scene, motion in zip(stage.scene.tolist(), stage.motion.tolist(), strict=True)]


@torch.no_grad()
def render(seeds: Sequence[int], frames: int, height: int, width: int,
           device: torch.device | str = 'cpu', first_frame: int = 0, clean: bool = False,
           samples: int = 1) -> Batch:
    """
    Render sequences.

    A sequence depends on its seed, its frame numbers and the image size alone, not on the batch
    it is part of; on another device it differs by rounding.

    Parameters
    ----------
    seeds : sequence of int
        One a sequence, in [0, 2**62).
    frames : int
        How many frames S of each.
    height, width : int
        Of the images.
    device : torch.device or str
        Where to compute; results stay there.
    first_frame : int
        Number of the first frame, >= 0: frames are those of a longer sequence from there on.
    clean : bool
        An ideal camera: no blur, noise, vignetting, exposure or flicker.
    samples : int
        Rays a pixel and axis; 1 for training, more for smooth edges.

    Returns
    -------
    Batch
        Images and the truth about them.

    Raises
    ------
    ValueError
        A seed or a size is out of its range.

    """
    device = torch.device(device)
    for name, value in (('frames', frames), ('height', height), ('width', width),
                        ('samples', samples)):
        if value < 1:
            raise ValueError(f'{name} must be at least 1, got {value}')
    if first_frame < 0:
        raise ValueError(f'first_frame must not be negative, got {first_frame}')
    draws = _seeds(seeds, device)
    stage = stages.stage_of(draws)
    # One more than asked for: blur looks at the way to the next frame.
    numbers = first_frame + torch.arange(frames + 1, device=device)
    poses = camera_path(draws, stage, numbers)
    flow_to = poses[:, 1:]
    poses, numbers = poses[:, :frames].contiguous(), numbers[:frames]
    solids = solids_of(draws, stage, numbers, poses[..., 2, 3])
    looks = materials_of(draws, stage, solids).values.flatten(0, 1)
    light = light_of(draws, stage)
    camera = camera_of(draws, stage, numbers, clean)
    keys = draws.frame_keys(numbers).flatten()
    spaces = spaces_of(solids)

    degrees = draws.uniform('fov', *_FOV_DEGREES)
    wide = torch.tan(degrees * (math.pi / 360))
    tall = wide * height / width
    fov = 2 * torch.stack([torch.atan(tall), torch.atan(wide)], -1)

    # Where the point that the optical axis meets goes until the next frame, in half pictures.
    distance = torch.where(stage.outdoor, 8.0, stages.pick(stage.scene, 3, 3, 8, 8, 1.2))
    seen = flow_to[..., :3, 2] * distance.view(-1, 1, 1) + flow_to[..., :3, 3] - poses[..., :3, 3]
    seen = (poses[..., :3, :3] * seen.unsqueeze(-1)).sum(-2)
    flow = (seen[..., :2] / seen[..., 2:].clamp(min=0.1)
            / torch.stack([wide, tall], -1).unsqueeze(1)).flatten(0, 1)

    total = len(seeds) * frames
    out_images = torch.empty(total, 3, height, width, dtype=torch.uint8, device=device)
    out_depth = torch.empty(total, height, width, device=device)
    out_moving = torch.empty(total, height, width, dtype=torch.bool, device=device)
    budget = _CHUNK_CUDA if device.type == 'cuda' else _CHUNK_CPU
    chunk = max(1, budget // (height * width * samples ** 2))
    flat_pose = poses.flatten(0, 1)
    for start in range(0, total, chunk):
        choose = torch.arange(start, min(start + chunk, total), device=device)
        part = slice(start, start + len(choose))
        sequence = torch.div(choose, frames, rounding_mode='floor')

        def view_of(sharp: int, choose: Tensor = choose, part: slice = part,
                    sequence: Tensor = sequence) -> View:
            xs = torch.linspace(-1 + 1 / (width * sharp), 1 - 1 / (width * sharp),
                                width * sharp, device=device)
            ys = torch.linspace(-1 + 1 / (height * sharp), 1 - 1 / (height * sharp),
                                height * sharp, device=device)
            x, y = wide[sequence].unsqueeze(1) * xs, tall[sequence].unsqueeze(1) * ys
            own = Spaces(spaces.linear[part], spaces.shift[part])
            return View(
                rays=rays_of(own, flat_pose[part], x, y), spaces=own,
                half=solids.half.flatten(0, 1)[part], values=looks[part],
                pose=flat_pose[part], x=x, y=y,
                shell_z=solids.centre[:, :, SHELL, 2].flatten()[part],
                moving=solids.moving[sequence], outdoor=stage.outdoor[sequence],
                void=stage.void[sequence],
                haze_from=stage.haze_from[sequence], haze_to=stage.haze_to[sequence],
                light=_rows(light, choose, frames))

        view = view_of(samples)
        colour, depth, moving = shade(view, *first_hit(view.rays))
        if samples > 1:
            colour = torch.nn.functional.avg_pool2d(colour, samples)
            view = view_of(1)
            _, depth, moving = shade(view, *first_hit(view.rays))
        out_depth[part], out_moving[part] = depth, moving
        out_images[part] = expose(colour, _rows(camera, choose, frames), flow[part], keys[part],
                                  clean)
    shape = (len(seeds), frames)
    return Batch(images=out_images.unflatten(0, shape), depth=out_depth.unflatten(0, shape),
                 T_world_camera=poses, fov=fov, moving=out_moving.unflatten(0, shape))
