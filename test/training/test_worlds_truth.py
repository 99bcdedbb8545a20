# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Images, depth and poses of a world agree with each other, and cameras hit nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
import pytest
import torch
from torch.nn.functional import grid_sample

from training.worlds import Batch, kinds, render
from training.worlds.draws import Draws
from training.worlds.layout import Solids, solids_of
from training.worlds.placing import BOXES, CYLINDERS, OBJECTS
from training.worlds.stage import Stage, stage_of
from training.worlds.trajectory import camera_path

SCENES = ('room', 'corridor', 'street', 'open', 'table')
HEIGHT, WIDTH = 96, 128


def seeds_of(scene: str, count: int, motions: tuple[str, ...] = ('handheld', 'driving', 'orbit'),
             first: int = 7000) -> list[int]:
    candidates = range(first, first + 600)
    return [seed for seed, kind in zip(candidates, kinds(candidates), strict=True)
            if kind[0] == scene and kind[1] in motions][:count]


def warped(batch: Batch, row: int, source: int, target: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the target's picture seen through the source's pixels, and where that is possible."""
    depth = batch.depth[row, source]
    vertical, horizontal = batch.fov[row]
    x = ((torch.arange(WIDTH) + 0.5) / WIDTH * 2 - 1) * torch.tan(horizontal / 2)
    y = ((torch.arange(HEIGHT) + 0.5) / HEIGHT * 2 - 1) * torch.tan(vertical / 2)
    points = torch.stack([x.expand_as(depth) * depth, y[:, None].expand_as(depth) * depth, depth,
                          torch.ones_like(depth)], -1)
    pose = batch.T_world_camera[row]
    seen = points @ (torch.linalg.inv(pose[target]) @ pose[source]).T
    z = seen[..., 2]
    grid = torch.stack([seen[..., 0] / z / torch.tan(horizontal / 2),
                        seen[..., 1] / z / torch.tan(vertical / 2)], -1).unsqueeze(0)

    def sample(image: torch.Tensor) -> torch.Tensor:
        return grid_sample(image.float().unsqueeze(0), grid, align_corners=False)[0]

    visible = (depth > 0) & (z > 0.05) & (grid[0].abs().amax(-1) < 0.97)
    visible &= (sample(batch.depth[row, target].unsqueeze(0))[0] - z).abs() < 0.02 * z
    visible &= ~batch.moving[row, source]
    visible &= sample(batch.moving[row, target].unsqueeze(0))[0] == 0
    return sample(batch.images[row, target]), visible


@pytest.mark.parametrize('scene', SCENES)
def test_warping_reproduces_the_picture(scene: str) -> None:
    seeds = seeds_of(scene, 3)
    # Three frames apart, so that there is something to explain.
    batch = render(seeds, 4, HEIGHT, WIDTH, clean=True)
    errors, changes = [], []
    for row in range(len(seeds)):
        picture, visible = warped(batch, row, 0, 3)
        assert visible.float().mean() > 0.1
        true = batch.images[row, 0].float()
        error = (picture - true).abs().mean(0)[visible]
        assert error.median() < 4
        errors.append(error)
        changes.append((batch.images[row, 3].float() - true).abs().mean(0)[visible])
    # What is left is the interpolation at edges.
    assert torch.cat(errors).mean() < 0.4 * torch.cat(changes).mean()


def interval(origin: NDArray[np.float64], ray: NDArray[np.float64], half: NDArray[np.float64],
             shape: str) -> tuple[float, float]:
    """Intersect one ray with one solid in its own axes, in double precision."""
    spans = []
    if shape in ('box', 'cylinder'):
        for axis in ((1,) if shape == 'cylinder' else (0, 1, 2)):
            ends = (np.array([-1, 1]) * half[axis] - origin[axis]) / ray[axis]
            spans.append((ends.min(), ends.max()))
    if shape in ('ball', 'cylinder'):
        axes = [0, 1, 2] if shape == 'ball' else [0, 2]
        o, d = origin[axes] / half[axes], ray[axes] / half[axes]
        roots = np.roots([d @ d, 2 * o @ d, o @ o - 1])
        if np.iscomplexobj(roots):
            return 1.0, 0.0
        spans.append((roots.min(), roots.max()))
    return max(low for low, _ in spans), min(high for _, high in spans)


def worlds(seeds: list[int], frames: torch.Tensor) -> tuple[Stage, torch.Tensor, Solids]:
    draws = Draws(torch.tensor(seeds))
    stage = stage_of(draws)
    poses = camera_path(draws, stage, frames)
    return stage, poses, solids_of(draws, stage, frames, poses[..., 2, 3])


@pytest.mark.parametrize('scene', SCENES)
def test_depth_equals_a_plain_intersection(scene: str) -> None:
    seeds = seeds_of(scene, 2)
    batch = render(seeds, 1, HEIGHT, WIDTH)
    stage, poses, solids = worlds(seeds, torch.arange(1))
    rng = np.random.default_rng(3)
    checked, off = 0, 0
    for row in range(len(seeds)):
        centre, half = (value[row, 0].double().numpy() for value in (solids.centre, solids.half))
        yaw, pose = solids.yaw[row, 0].double().numpy(), poses[row, 0].double().numpy()
        tangents = torch.tan(batch.fov[row].double() / 2).numpy()
        for _ in range(150):
            line, column = rng.integers(HEIGHT), rng.integers(WIDTH)
            ray = pose[:3, :3] @ np.array([((column + 0.5) / WIDTH * 2 - 1) * tangents[1],
                                           ((line + 0.5) / HEIGHT * 2 - 1) * tangents[0], 1.0])
            nearest = np.inf
            for number in range(OBJECTS + 1):
                shape = 'box' if number < BOXES or number == OBJECTS else (
                    'cylinder' if number < BOXES + CYLINDERS else 'ball')
                cos, sin = np.cos(yaw[number]), np.sin(yaw[number])
                turn = np.array([[cos, 0, -sin], [0, 1, 0], [sin, 0, cos]])
                low, high = interval(turn @ (pose[:3, 3] - centre[number]), turn @ ray,
                                     half[number], shape)
                if number == OBJECTS:
                    nearest = min(nearest, high)
                elif low < high and low > 0:
                    nearest = min(nearest, low)
            depth = float(batch.depth[row, 0, line, column])
            if depth == 0:
                # The sky, an empty background, or what haze hides.
                assert stage.outdoor[row] or stage.void[row] or (
                    nearest * np.linalg.norm(ray) > 0.95 * float(stage.haze_to[row]))
                continue
            checked += 1
            off += abs(depth - nearest) > 1e-3 * nearest
    assert checked > 60
    # A ray that grazes an edge may fall on either side of it.
    assert off <= 1


def test_cameras_hit_nothing() -> None:
    frames = torch.cat([torch.arange(24), torch.arange(24, 1000, 13)])
    _, poses, solids = worlds(list(range(9000, 9500)), frames)
    offset = poses[..., None, :3, 3] - solids.centre
    cos, sin = solids.yaw.cos(), solids.yaw.sin()
    local = torch.stack([cos * offset[..., 0] - sin * offset[..., 2], offset[..., 1],
                         sin * offset[..., 0] + cos * offset[..., 2]], -1).abs()
    # A box around each object, so that cylinders and balls are covered.
    gap = (local - solids.half).clamp(min=0).norm(dim=-1)[:, :, :OBJECTS]
    assert gap.min() > 0.1
    assert (solids.half - local)[:, :, OBJECTS].min() > 0.3


def test_motion_is_smooth_and_varied() -> None:
    seeds = list(range(9000, 9400))
    names = [motion for _, motion in kinds(seeds)]
    _, poses, _ = worlds(seeds, torch.arange(40))
    step = torch.linalg.inv(poses[:, :-1]) @ poses[:, 1:]
    way = step[..., :3, 3].norm(dim=-1)
    turn = torch.rad2deg(torch.arccos(((step[..., 0, 0] + step[..., 1, 1] + step[..., 2, 2] - 1)
                                       / 2).clamp(-1, 1)))
    moves = torch.tensor([name not in ('rest', 'rotation') for name in names])
    assert way[~moves].max() < 0.03
    rests = torch.tensor([name == 'rest' for name in names])
    assert way[rests].max() < 0.002 and turn[rests].max() < 0.1
    low, high = way[moves].mean(1).quantile(torch.tensor([0.1, 0.9]))
    assert low < 0.02 and high > 0.15
    assert turn.quantile(0.5) < 2 < turn.quantile(0.97) < 6
    assert turn.max() < 12
    # The way of a frame hardly differs from that of the next: no jerks.
    second = (poses[moves, 2:, :3, 3] - 2 * poses[moves, 1:-1, :3, 3] + poses[moves, :-2, :3, 3])
    assert second.norm(dim=-1).mean() < 0.2 * way[moves].mean()
