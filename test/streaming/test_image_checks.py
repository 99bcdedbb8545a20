# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
from functools import cache
import os
from pathlib import Path

from box_room import blurred, BoxRoom, pose
from lingbot_ros.errors import ConfigError, ShapeError
from lingbot_ros.stream_parts import TrackingConfig
from lingbot_ros.streaming.image_checks import (
    ImageJudge,
    ImageStatistics,
    ImageVerdict,
    measure,
    small_image,
    STATISTICS,
)
from lingbot_ros.streaming.preprocess import preprocess
from lingbot_ros.streaming.running import RunningMedian
import numpy as np
from PIL import Image
import pytest
import torch

ROOM = BoxRoom()


HERE = pose(z=0.24, turn=(0, 0.12, 0))


def new_judge() -> ImageJudge:
    config = TrackingConfig()
    return ImageJudge(config.sharpness, config.similarity, config.frozen_frames,
                      config.memory_frames)


@cache
def walk_image(index: int) -> torch.Tensor:
    return ROOM.render(pose(z=0.02 * index, turn=(0, 0.01 * index, 0)), 0.01, index)[0]


class Camera:
    """Measures and judges image after image, as a session does."""

    def __init__(self) -> None:
        self.judge = new_judge()
        self.before = self.reference = None

    def measure(self, image: torch.Tensor) -> ImageStatistics:
        return ImageStatistics(*measure(image, self.before, self.reference).tolist())

    def see(self, image: torch.Tensor) -> ImageVerdict:
        verdict = self.judge.judge(self.measure(image))
        self.before = image
        if verdict.fault in ('', 'blurred'):
            self.reference = small_image(image)
        return verdict

    def walk(self, frames: int = 12) -> 'Camera':
        for i in range(frames):
            assert self.see(walk_image(i)).fault == ''
        return self


@pytest.fixture
def camera() -> Camera:
    return Camera().walk()


def noisy(value: float, seed: int = 0) -> torch.Tensor:
    """An image of one grey with the noise of a sensor, in 256 levels."""
    rng = np.random.default_rng(seed)
    image = (value + 0.01 * rng.standard_normal((3, 84, 112))).clip(0, 1)
    return torch.from_numpy(np.round(image * 255) / 255).float()


@pytest.mark.parametrize(('image', 'fault'), [
    (torch.zeros(3, 84, 112), 'dark'), (noisy(0.02), 'dark'),
    (torch.ones(3, 84, 112), 'overexposed'), (noisy(0.99), 'overexposed'),
    (torch.full((3, 84, 112), 0.5), 'blank'), (noisy(0.4), 'blank'),
])
def test_nothing_to_see(camera, image, fault):
    verdict = camera.see(image)
    assert (verdict.fault, verdict.usable) == (fault, False)
    assert f'image {fault}: structure in' in verdict.reason
    assert Camera().see(image).fault == fault  # also as the first image of all


@pytest.mark.parametrize(('light', 'fault'), [(1.0, 'overexposed'), (0.0, 'dark')])
def test_a_corner_that_is_left_is_too_little(camera, light, fault):
    image = torch.full((3, 84, 112), light)
    image[:, :16, :20] = ROOM.render(pose(z=0.24))[0][:, :16, :20]
    assert camera.see(image).fault == fault
    # For a camera that never saw more than that it is as good as ever.
    assert Camera().see(image).fault == ''


def test_half_the_light_is_no_fault(camera):
    image, _ = ROOM.render(pose(z=0.24), 0.01, 99)
    assert camera.see(0.5 * image).fault == ''


def test_light_comes_back(camera):
    for i in range(50):
        camera.see(noisy(0.01, i))
    # The reference is still the last good image: the same place is no cut.
    assert camera.see(ROOM.render(HERE)[0]).fault == ''


@pytest.mark.parametrize('sigma_px', [2, 4, 8])
def test_heavy_blur(camera, sigma_px):
    verdict = camera.see(blurred(ROOM.render(HERE)[0], sigma_px))
    assert (verdict.fault, verdict.usable) == ('blurred', True)
    assert verdict.reason.startswith('image blurred: sharpness 0.')
    assert verdict.excess > 1


def test_a_camera_that_is_never_sharp_is_not_blurred():
    camera = Camera()
    for i in range(20):
        image, _ = ROOM.render(pose(z=0.02 * i))
        assert camera.see(blurred(image, 3)).fault == ''


def test_blur_that_stays_becomes_usual():
    judge = ImageJudge(0.25, 0.35, 3, memory_frames=20)
    good = ImageStatistics(0.5, 0.9, 1.0, 0.1, 1.0)
    soft = ImageStatistics(0.5, 0.9, 0.1, 0.1, 1.0)
    for _ in range(20):
        assert judge.judge(good).fault == ''
    faults = [judge.judge(soft).fault for _ in range(20)]
    assert faults[0] == 'blurred'
    assert faults[-1] == ''


def test_equal_images_are_frozen_and_rest_is_not(camera):
    for i in range(10):
        assert camera.see(ROOM.render(HERE, 0.004, 100 + i)[0]).fault == ''
    image, _ = ROOM.render(HERE, 0.004, 0)
    faults = [camera.see(image.clone()).fault for _ in range(6)]
    assert faults == ['', '', '', 'frozen', 'frozen', 'frozen']
    assert camera.see(image).reason == 'image frozen for 6 frames'
    assert camera.see(ROOM.render(HERE, 0.004, 1)[0]).fault == ''


def test_frozen_can_be_allowed():
    # A simulated camera at rest has no noise.
    judge = ImageJudge(0.25, 0.35, 0, 100)
    same = ImageStatistics(0.5, 0.9, 1.0, 0.0, 1.0)
    assert [judge.judge(same).fault for _ in range(50)] == [''] * 50


def test_another_place_is_a_cut_until_the_reference_moves(camera):
    elsewhere = BoxRoom(7)
    for i in range(4):
        verdict = camera.see(elsewhere.render(pose(z=0.02 * i), 0.01, i)[0])
        assert (verdict.fault, verdict.usable) == ('cut', True)
        assert verdict.reason.startswith('image of another place: similarity 0.')
    assert camera.see(ROOM.render(HERE)[0]).fault == ''


def test_cuts_between_many_rooms_are_all_seen():
    views = [BoxRoom(seed).render(pose())[0] for seed in range(12)]
    config = TrackingConfig()
    for i, one in enumerate(views):
        for other in views[:i]:
            assert measure(one, None, small_image(other))[4] < config.similarity


@pytest.mark.parametrize('shift_px', [-16, -8, 8, 16])
def test_quick_turns_are_no_cut(shift_px):
    wide, _ = ROOM.render(pose(), size=(84, 144))
    one, other = wide[:, :, 16:128], wide[:, :, 16 + shift_px:128 + shift_px]
    assert measure(other, None, small_image(one))[4] > 0.5


def test_values_that_are_not_finite(camera):
    image, _ = ROOM.render(pose(z=0.24))
    image[1, 40, 50] = float('nan')
    assert camera.see(image).fault == 'not_finite'
    assert not camera.see(image).usable
    assert camera.see(ROOM.render(HERE)[0]).fault == ''


def test_numbers_of_simple_images():
    numbers = measure(torch.full((3, 84, 112), 0.25), None, None)
    assert numbers.shape == (STATISTICS,)
    assert numbers.tolist() == [0.25, 0.0, 0.0, 1.0, 1.0]
    image, _ = ROOM.render(pose())
    changed = image.clone()
    changed[2, 3, 4] += 0.25
    assert measure(changed, image, None)[3] == pytest.approx(0.25, abs=1e-6)
    assert measure(image, image, small_image(image))[4] == pytest.approx(1, abs=1e-2)


def test_nothing_waits_for_the_device():
    # Tensors of this device have no values: whoever asks for one gets an error.
    image = torch.zeros(3, 84, 112, device='meta')
    numbers = measure(image, image, small_image(image))
    assert (numbers.device.type, numbers.shape) == ('meta', (STATISTICS,))


def test_wrong_images_are_refused():
    with pytest.raises(ShapeError, match=r'floating image \[3, H, W\], got torch.uint8'):
        measure(torch.zeros(3, 84, 112, dtype=torch.uint8), None, None)
    with pytest.raises(ShapeError, match=r'image before of \[3, 84, 112\]'):
        measure(torch.zeros(3, 84, 112), torch.zeros(3, 84, 98), None)


def test_state_goes_through_json(camera):
    import json
    other = new_judge()
    other.restore(**json.loads(json.dumps(camera.judge.state())))
    soft = blurred(ROOM.render(HERE)[0], 4)
    statistics = camera.measure(soft)
    assert other.judge(statistics) == camera.judge.judge(statistics)
    assert other.judge(statistics).fault == 'blurred'
    other.restart()
    assert other.judge(statistics).fault == ''


SEQUENCES = ('kitti_00_0060_0159', 'tum_fr1_rpy_45', 'nerf_chair_orbit_45', 'euroc_v101_static',
             'vamr_checkerboard')


@pytest.mark.skipif('LINGBOT_DATA' not in os.environ, reason='needs LINGBOT_DATA')
@pytest.mark.parametrize('width', [112, 518])
@pytest.mark.parametrize('name', SEQUENCES)
def test_no_alarm_on_real_images(name, width):
    camera = Camera()
    files = sorted((Path(os.environ['LINGBOT_DATA']) / name / 'images').iterdir())
    assert len(files) > 10
    for file in files:
        image = np.array(Image.open(file).convert('RGB'))
        verdict = camera.see(preprocess(image, width, 14).float() / 255)
        assert verdict == ImageVerdict('', verdict.excess, '')


@pytest.mark.skipif('LINGBOT_DATA' not in os.environ, reason='needs LINGBOT_DATA')
def test_a_cut_between_real_sequences_is_seen():
    views = []
    for name in SEQUENCES:
        files = sorted((Path(os.environ['LINGBOT_DATA']) / name / 'images').iterdir())
        images = [np.array(Image.open(file).convert('RGB').resize((224, 140))) for file in
                  files[::len(files) // 4]]
        views.append([preprocess(image, 224, 14).float() / 255 for image in images])
    similar = [float(measure(one, None, small_image(other))[4])
               for i, here in enumerate(views) for j, there in enumerate(views) if i != j
               for one in here for other in there]
    assert np.mean(np.array(similar) < TrackingConfig().similarity) > 0.97


def test_running_median():
    running = RunningMedian(5)
    assert running.value is None
    rng = np.random.default_rng(0)
    values = [*rng.integers(0, 4, 60).tolist(), *rng.standard_normal(60).tolist()]
    for i, value in enumerate(values):
        running.add(value)
        assert running.value == np.median(values[max(0, i - 4):i + 1])
    running.add(float('nan'))
    assert running.values == values[-5:]
    with pytest.raises(ConfigError, match='running median length'):
        RunningMedian(0)
