# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
from functools import cache

from box_room import BoxRoom, encoding, pose
from lingbot_ros.errors import ShapeError
from lingbot_ros.geometry.rotation import matrix_from_rotation_vector
from lingbot_ros.streaming.photometric import (
    local_contrast,
    PhotometricCheck,
    PhotometricReference,
    STATISTICS,
)
import numpy as np
import pytest
import torch

MOVED = pose(0.25, -0.05, 0.15, turn=(0.02, 0.1, -0.03))
SEEDS = range(5)


@cache
def view(seed: int, moved: bool, noise_seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    return BoxRoom(seed).render(MOVED if moved else pose(), 0.01, noise_seed)


@cache
def keyframe(seed: int) -> PhotometricReference:
    return PhotometricReference.of(encoding(pose()), view(seed, False)[0])


def check(seed: int, T, depth, image) -> PhotometricCheck:
    numbers = keyframe(seed).compare(encoding(T), depth, image)
    assert numbers.shape == (STATISTICS,)
    return PhotometricCheck(*numbers.tolist())


def turned(T, degrees: float, rng) -> np.ndarray:
    axis = rng.standard_normal(3) * [1, 1, 0]
    out = T.copy()
    out[:3, :3] = T[:3, :3] @ matrix_from_rotation_vector(
        np.radians(degrees) * axis / np.linalg.norm(axis))
    return out


@pytest.mark.parametrize('seed', SEEDS)
def test_right_pose_and_depth_predict_the_image(seed):
    image, depth = view(seed, True)
    right = check(seed, MOVED, depth, image)
    assert right.residual < 0.27
    assert right.still > 2 * right.residual
    assert 0.5 < right.overlap < 0.95


@pytest.mark.parametrize('seed', SEEDS)
def test_errors_of_a_good_network_are_tolerated(seed):
    rng = np.random.default_rng(seed)
    image, depth = view(seed, True)
    bumps = torch.from_numpy(0.15 * rng.standard_normal((1, 1, 6, 8))).float()
    wrong_depth = depth * torch.exp(torch.nn.functional.interpolate(
        bumps, depth.shape, mode='bilinear')[0, 0])
    assert check(seed, turned(MOVED, 1.5, rng), wrong_depth, image).residual < 0.45


@pytest.mark.parametrize('seed', SEEDS)
def test_wrong_poses_do_not_predict_it(seed):
    rng = np.random.default_rng(seed)
    image, depth = view(seed, True)
    right = check(seed, MOVED, depth, image).residual
    assert check(seed, turned(MOVED, 8, rng), depth, image).residual > 0.55
    jump = MOVED.copy()
    jump[:3, 3] += rng.choice([-1, 1], 3) * [0.5, 0.2, 0.4]
    assert check(seed, jump, depth, image).residual > 0.55
    # The same pose with depths twice as large explains it less well, too.
    assert check(seed, MOVED, 2 * depth, image).residual > right + 0.05


@pytest.mark.parametrize('seed', SEEDS)
def test_a_pose_that_jumps_while_the_image_rests(seed):
    image, depth = view(seed, False, 5)
    rest = check(seed, pose(), depth, image)
    assert max(rest.residual, rest.still) < 0.05
    assert rest.overlap > 0.99
    jump = check(seed, MOVED, depth, image)
    assert jump.residual > 0.5
    assert jump.still < 0.05


@pytest.mark.parametrize('seed', SEEDS)
def test_another_place_fits_nowhere(seed):
    image, depth = BoxRoom(seed + 50).render(MOVED)
    cut = check(seed, MOVED, depth, image)
    assert 0.65 < cut.residual < 0.78
    assert 0.65 < cut.still < 0.78


@pytest.mark.parametrize('seed', SEEDS)
def test_exposure_does_not_matter(seed):
    image, depth = view(seed, True)
    right = check(seed, MOVED, depth, image).residual
    for gain, offset in ((0.5, 0.1), (0.7, 0.0), (0.8, 0.2)):
        assert check(seed, MOVED, depth, gain * image + offset).residual < right + 0.05


@pytest.mark.parametrize('seed', SEEDS)
def test_something_walks_through_the_picture(seed):
    image, depth = view(seed, True)
    right = check(seed, MOVED, depth, image).residual
    image, depth = image.clone(), depth.clone()
    image[:, 20:70, 40:75] = BoxRoom(99).render(pose())[0][:, 20:70, 40:75]
    depth[20:70, 40:75] = 0.5
    # 19 % of the image: each place counts 1 at most.
    assert check(seed, MOVED, depth, image).residual < right + 0.19


def test_nothing_in_common():
    image, depth = view(0, True)
    back = check(0, pose(turn=(0, np.pi, 0)), depth, image)
    assert (back.residual, back.overlap) == (1, 0)


def test_without_texture_nothing_disagrees():
    rng = np.random.default_rng(0)
    walls = [torch.from_numpy(0.5 + 0.004 * rng.standard_normal((3, 84, 112))).float()
             for _ in range(2)]
    reference = PhotometricReference.of(encoding(pose()), walls[0])
    numbers = PhotometricCheck(*reference.compare(
        encoding(MOVED), torch.ones(84, 112), walls[1]).tolist())
    assert max(numbers.residual, numbers.still) < 0.1
    assert local_contrast(walls[0]).std() < 0.1


def test_what_is_not_finite_agrees_with_nothing():
    image, depth = view(0, True)
    for shift, factor in ((0.0, np.nan), (np.nan, 1.0)):
        numbers = PhotometricCheck(*keyframe(0).compare(
            encoding(MOVED) + shift, factor * depth, image).tolist())
        assert (numbers.residual, numbers.overlap) == (1, 0)
        assert np.isfinite(numbers.still)


def test_the_reference_does_not_change_with_its_source():
    moving = encoding(pose())
    reference = PhotometricReference.of(moving, view(0, False)[0])
    moving += 1
    image, depth = view(0, False, 5)
    assert reference.compare(encoding(pose()), depth, image)[0] < 0.05


def test_nothing_waits_for_the_device():
    # Tensors of this device have no values: whoever asks for one gets an error.
    image, depth, pose_encoding = (torch.zeros(*shape, device='meta')
                                   for shape in ((3, 84, 112), (84, 112), (9,)))
    numbers = PhotometricReference.of(pose_encoding, image).compare(pose_encoding, depth, image)
    assert (numbers.device.type, numbers.shape) == ('meta', (STATISTICS,))


def test_wrong_sizes_are_refused():
    image, depth = view(0, True)
    with pytest.raises(ShapeError, match=r'got \[84, 98\] and \[3, 84, 112\]'):
        keyframe(0).compare(encoding(MOVED), depth[:, :98], image)
    with pytest.raises(ShapeError, match='as the keyframe'):
        keyframe(0).compare(encoding(MOVED), depth[:42], image[:, :42])
