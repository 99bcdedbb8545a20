# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rendered bags and folders are read back: pictures, stamps, poses and intrinsics."""

from __future__ import annotations

import json
import math
from pathlib import Path
import shlex

from lingbot_ros.datasets.folder import FolderLayout
from lingbot_ros.sources import open_source
from lingbot_ros.streaming.trajectory import read_tum
import numpy as np
import pytest
from rosbags.highlevel import AnyReader
import torch

from training.heldout import DEMO_RANGE, TRAINING_SEEDS
from training.make_data import IMAGE_TOPIC, INFO_TOPIC, main
from training.worlds import render

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / 'test/data/demo/world'
SEED = DEMO_RANGE.start + 3
FRAMES, HEIGHT, WIDTH = 10, 48, 64


def make(form: str, output: Path, *more: str) -> int:
    return main([form, '--seed', str(SEED), '--frames', str(FRAMES), '--height', str(HEIGHT),
                 '--width', str(WIDTH), '--samples', '1', '--output', str(output), *more])


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp('rendered') / 'folder'
    assert make('folder', path) == 0
    return path


def test_a_folder_holds_exactly_what_was_rendered(folder: Path) -> None:
    batch = render([SEED], FRAMES, HEIGHT, WIDTH)
    sequence = FolderLayout().load(folder, FolderLayout().names(folder)[0])
    frames = list(sequence.frames)
    assert len(frames) == FRAMES
    for index, frame in enumerate(frames):
        assert np.array_equal(frame.image, batch.images[0, index].permute(1, 2, 0).numpy())
    truth = read_tum(folder / 'groundtruth.txt')
    assert [stamp for stamp, _ in truth] == [frame.stamp_ns for frame in frames]
    np.testing.assert_allclose([pose for _, pose in truth], batch.T_world_camera[0], atol=1e-6)


def test_intrinsics_are_those_of_the_rays(folder: Path) -> None:
    calibration = json.loads((folder / 'calib.json').read_text())
    fov = render([SEED], 1, HEIGHT, WIDTH).fov[0]
    # The edges of the image lie half a pixel outside the centres of its outermost pixels.
    for length, focal, centre, angle in ((HEIGHT, 'fy', 'cy', fov[0]),
                                         (WIDTH, 'fx', 'cx', fov[1])):
        spread = (math.atan((calibration[centre] + 0.5) / calibration[focal])
                  + math.atan((length - 0.5 - calibration[centre]) / calibration[focal]))
        assert spread == pytest.approx(float(angle), abs=1e-5)


def test_a_bag_is_read_back(tmp_path: Path) -> None:
    assert make('bag', tmp_path / 'bag', '--first-frame', '20', '--rate', '10',
                '--quality', '95') == 0
    batch = render([SEED], FRAMES, HEIGHT, WIDTH, first_frame=20)
    source = open_source(tmp_path / 'bag')
    frames = list(source)
    truth = read_tum(tmp_path / 'bag' / 'groundtruth.tum')
    assert [frame.stamp_ns for frame in frames] == [stamp for stamp, _ in truth]
    assert set(np.diff([frame.stamp_ns for frame in frames])) == {100_000_000}
    np.testing.assert_allclose([pose for _, pose in truth], batch.T_world_camera[0], atol=1e-6)
    pictures = torch.from_numpy(np.stack([frame.image for frame in frames])).permute(0, 3, 1, 2)
    # JPEG, but of this picture and not of another, red where it is red.
    error = (pictures.float() - batch.images[0].float()).abs().mean()
    swapped = (pictures.flip(1).float() - batch.images[0].float()).abs().mean()
    assert error < 6 and error < 0.6 * swapped


def test_what_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    used = ['bag', '--seed', str(TRAINING_SEEDS - 1), '--output', str(tmp_path / 'a')]
    assert main(used) == 1
    assert 'training draws' in capsys.readouterr().err
    for flag, value in (('--frames', '0'), ('--quality', '101'), ('--rate', 'nan'),
                        ('--first-frame', '-1'), ('--height', '0')):
        assert make('bag', tmp_path / 'b', flag, value) == 1
        assert flag[2:].replace('-', '_') in capsys.readouterr().err
    (tmp_path / 'c').mkdir()
    assert make('folder', tmp_path / 'c') == 1
    assert 'exists' in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ['c']


def test_the_demo_bag_is_what_its_page_says() -> None:
    words = shlex.split(next(line for line in (DEMO / 'README.md').read_text().splitlines()
                             if line.startswith('python -m training.make_data')))
    seed = int(words[words.index('--seed') + 1])
    assert seed in DEMO_RANGE
    truth = read_tum(DEMO / 'groundtruth.tum')
    with AnyReader([DEMO]) as reader:
        counts = {connection.topic: connection.msgcount for connection in reader.connections}
    assert counts == {IMAGE_TOPIC: len(truth), INFO_TOPIC: len(truth)}
    assert sum(path.stat().st_size for path in DEMO.iterdir()) <= 6_000_000
    poses = render([seed], len(truth), 4, 4).T_world_camera[0]
    np.testing.assert_allclose([pose for _, pose in truth], poses, atol=1e-5)
    # The pictures are those that the renderer makes today.
    frame = next(iter(open_source(DEMO)))
    height, width = frame.image.shape[:2]
    assert (height, width) == (480, 640)
    today = render([seed], 1, height // 4, width // 4).images[0, 0].float()
    then = torch.from_numpy(np.array(frame.image)).permute(2, 0, 1).float()
    small = torch.nn.functional.avg_pool2d(then.unsqueeze(0), 4)[0]
    assert (today - small).abs().mean() < 6
    assert truth.path_length > 3
