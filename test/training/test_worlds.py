# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A seed fixes a sequence; every kind of world and motion occurs; outputs are in range."""

from __future__ import annotations

import ast
from collections import Counter
import math
from pathlib import Path
import sys

import pytest
import torch

from training.worlds import Batch, kinds, MOTIONS, render, SCENES

SEEDS = list(range(40, 52))
SIZE = (36, 48)
FOLDER = Path(__file__).resolve().parents[2] / 'training/worlds'
MEANS = [78.16, 115.27, 127.96, 146.17]


@pytest.fixture(scope='module')
def batch() -> Batch:
    return render(SEEDS, 3, *SIZE)


def assert_same(one: Batch, other: Batch) -> None:
    assert torch.equal(one.images, other.images)
    assert torch.equal(one.depth, other.depth)
    assert torch.equal(one.moving, other.moving)
    assert torch.equal(one.T_world_camera, other.T_world_camera)
    assert torch.equal(one.fov, other.fov)


def rows(batch: Batch, sequences: slice, frames: slice = slice(None)) -> Batch:
    return Batch(images=batch.images[sequences, frames], depth=batch.depth[sequences, frames],
                 T_world_camera=batch.T_world_camera[sequences, frames],
                 fov=batch.fov[sequences], moving=batch.moving[sequences, frames])


def test_outputs(batch: Batch) -> None:
    count, (height, width) = len(SEEDS), SIZE
    assert batch.images.dtype == torch.uint8 and batch.images.shape == (count, 3, 3, height, width)
    assert batch.depth.dtype == torch.float32 and batch.depth.shape == (count, 3, height, width)
    assert batch.moving.dtype == torch.bool and batch.moving.shape == batch.depth.shape
    assert batch.depth.isfinite().all() and (batch.depth >= 0).all()
    rotation = batch.T_world_camera[..., :3, :3]
    torch.testing.assert_close(rotation @ rotation.mT, torch.eye(3).expand_as(rotation))
    assert (torch.linalg.det(rotation) > 0).all()
    # No picture is black, white or without any content.
    level = batch.images.float().mean((2, 3, 4))
    assert (level > 12).all() and (level < 245).all()
    assert (batch.images.float().std((3, 4)).mean(2) > 1).all()


def test_field_of_view_is_in_range_and_pixels_are_square(batch: Batch) -> None:
    height, width = SIZE
    vertical, horizontal = batch.fov.double().unbind(-1)
    assert (horizontal >= math.radians(40)).all() and (horizontal <= math.radians(110)).all()
    assert horizontal.max() - horizontal.min() > math.radians(20)
    torch.testing.assert_close(height / 2 / torch.tan(vertical / 2),
                               width / 2 / torch.tan(horizontal / 2), rtol=1e-5, atol=0)


def test_a_sequence_does_not_depend_on_its_batch(batch: Batch) -> None:
    assert_same(render(SEEDS[4:7][::-1], 3, *SIZE), rows(Batch(
        *(value.flip(0) for value in vars(batch).values())), slice(5, 8)))


def test_more_frames_continue_a_sequence(batch: Batch) -> None:
    longer = render(SEEDS[:3], 5, *SIZE)
    assert_same(rows(longer, slice(None), slice(0, 3)), rows(batch, slice(0, 3)))
    later = render(SEEDS[:3], 2, *SIZE, first_frame=3)
    assert_same(later, rows(longer, slice(None), slice(3, 5)))


def test_seeds_differ(batch: Batch) -> None:
    first = batch.T_world_camera[:, 0].flatten(1).tolist()
    assert len({tuple(row) for row in first}) == len(SEEDS)
    # All 62 bits count.
    one, other = render([5, 5 + (1 << 45)], 1, *SIZE).images.float()
    assert (one - other).abs().mean() > 5


def test_what_a_seed_renders_is_fixed() -> None:
    # Held-out figures are only comparable as long as these hold. Rounding may differ.
    clean = render([40, 41, 42, 43], 1, *SIZE, clean=True)
    means = clean.images.double().mean((1, 2, 3, 4))
    torch.testing.assert_close(means, torch.tensor(MEANS, dtype=torch.float64), atol=0.2, rtol=0)


def test_a_clean_camera_has_no_noise() -> None:
    rest = [seed for seed, kind in zip(range(400), kinds(range(400)), strict=True)
            if kind[1] == 'rest'][:4]
    still = render(rest, 3, *SIZE, clean=True)
    noisy = render(rest, 3, *SIZE)
    frames = still.images.float()
    fixed = ~still.moving.any(1).unsqueeze(1)
    step = ((frames[:, 2] - frames[:, 0]).abs() * fixed).mean()
    noise = ((noisy.images[:, 2].float() - noisy.images[:, 0].float()).abs() * fixed).mean()
    assert step < 0.5 < 2 * step + 1 < noise + 1


def test_more_samples_smooth_edges_and_keep_the_truth() -> None:
    one, many = render([44], 1, *SIZE, clean=True), render([44], 1, *SIZE, clean=True, samples=3)
    assert torch.equal(one.depth, many.depth)
    difference = (one.images.float() - many.images.float()).abs().mean()
    assert 0 < difference < 8


def test_every_kind_has_its_share() -> None:
    found = kinds(range(3000))
    scenes, motions = (Counter(column) for column in zip(*found, strict=True))
    assert set(scenes) == set(SCENES) and set(motions) == set(MOTIONS)
    assert min(scenes.values()) > 0.1 * len(found)
    for name in ('handheld', 'driving', 'drone', 'orbit'):
        assert motions[name] > 0.12 * len(found)
    for name in ('rest', 'rotation'):
        assert 0.03 * len(found) < motions[name] < 0.1 * len(found)


def test_movers_are_marked() -> None:
    batch = render(range(60), 1, *SIZE)
    share = batch.moving.float().mean((1, 2, 3))
    assert 4 <= (share > 0.003).sum() <= 40
    assert share.max() < 0.9


def test_grey_cameras() -> None:
    images = render(range(60), 1, 12, 16).images
    grey = (images[:, :, 0] == images[:, :, 1]).flatten(1).all(1)
    assert 3 <= grey.sum() <= 20
    assert torch.equal(images[grey][:, :, 0], images[grey][:, :, 2])


@pytest.mark.parametrize(('change', 'message'), [
    ({'seeds': []}, 'at least one seed'), ({'seeds': [-1]}, 'seeds must be'),
    ({'seeds': [1 << 62]}, 'seeds must be'), ({'frames': 0}, 'frames must be at least 1, got 0'),
    ({'width': 0}, 'width'), ({'samples': 0}, 'samples'), ({'first_frame': -1}, 'first_frame')])
def test_bad_requests(change: dict[str, object], message: str) -> None:
    request = {'seeds': [1], 'frames': 1, 'height': 8, 'width': 8, **change}
    with pytest.raises(ValueError, match=message):
        render(**request)


@pytest.mark.slow
def test_nothing_waits_for_the_device() -> None:
    # Tensors without data: mixing devices or reading a value on the way would fail.
    batch = render([1], 2, 6, 8, device='meta')
    assert {value.device.type for value in vars(batch).values()} == {'meta'}


@pytest.mark.parametrize('path', sorted(FOLDER.glob('*.py')), ids=lambda path: path.name)
def test_worlds_need_torch_and_numpy_alone(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding='utf-8'))
    found = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import)
             for alias in node.names}
    found |= {node.module or '' for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    foreign = {name for name in found if name.split('.')[0] not in sys.stdlib_module_names
               and name.split('.')[0] not in ('torch', 'numpy')}
    assert all(name.startswith('training.worlds') for name in foreign), foreign
    assert len(path.read_text(encoding='utf-8').splitlines()) < 330


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason='no CUDA device')
def test_cuda_agrees(batch: Batch) -> None:
    cuda = render(SEEDS, 3, *SIZE, device='cuda')
    torch.testing.assert_close(cuda.T_world_camera.cpu(), batch.T_world_camera, atol=1e-4,
                               rtol=1e-4)
    off = (cuda.images.cpu().float() - batch.images.float()).abs()
    assert off.mean() < 0.5
    relative = (cuda.depth.cpu() - batch.depth).abs() / batch.depth.clamp(min=0.1)
    assert (relative > 1e-3).float().mean() < 0.005
