# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Layouts whose frames have stamps: TUM, EuRoC, Oxford Spires, and the plain folder."""

from __future__ import annotations

import shutil

import cv2
from excerpt import (
    camera_poses,
    COUNT,
    indices,
    make_euroc,
    make_folder,
    make_tum,
    random_transform,
    tum_text,
)
from lingbot_ros.datasets import LAYOUTS
from lingbot_ros.datasets.oxford_spires import T_BASE_LIDAR
from lingbot_ros.errors import EvaluationError, SourceError
import numpy as np
import pytest
from spires import make_oxford_spires, SIZE, T_CAMERA_LIDAR

TUM, EUROC, SPIRES, FOLDER = (LAYOUTS[name] for name in ('tum', 'euroc', 'oxford_spires',
                                                         'folder'))


def test_tum(tmp_path):
    make_tum(tmp_path / 'rgbd_dataset_freiburg1_xyz')
    make_tum(tmp_path / 'rgbd_dataset_freiburg1_360')
    (tmp_path / 'notes').mkdir()
    assert TUM.names(tmp_path) == ['rgbd_dataset_freiburg1_360', 'rgbd_dataset_freiburg1_xyz']
    assert TUM.stride == 1 and TUM.crop is None
    sequence = TUM.load(tmp_path, 'rgbd_dataset_freiburg1_xyz')
    assert indices(sequence.frames) == list(range(COUNT))
    stamps = [frame.stamp_ns for frame in sequence.frames]
    assert stamps == [round(1e9 * round(100 + i / 30, 6)) for i in range(COUNT)]
    assert sequence.max_difference_s == 0.02 and sequence.unit == 'm'
    np.testing.assert_allclose(sequence.truth.poses, camera_poses(len(sequence.truth)), atol=1e-8)
    assert sequence.truth.stamps_ns[0] == 100_040_000_000
    # The folder of one sequence is a dataset too.
    assert TUM.names(tmp_path / 'rgbd_dataset_freiburg1_xyz') == ['.']
    assert len(TUM.load(tmp_path / 'rgbd_dataset_freiburg1_xyz', '.').truth) == len(
        sequence.truth)


def test_tum_refusals(tmp_path):
    with pytest.raises(SourceError, match=r'expected rgb.txt and groundtruth.txt .* got an empty'):
        TUM.names(tmp_path)
    with pytest.raises(SourceError, match='expected a folder of sequences, got .*none.* missing'):
        TUM.names(tmp_path / 'none')
    make_tum(tmp_path / 'a')
    with pytest.raises(SourceError, match=r"one of the sequences a in .*, got 'b'"):
        TUM.load(tmp_path, 'b')
    next((tmp_path / 'a' / 'rgb').iterdir()).unlink()
    with pytest.raises(SourceError, match=rf'the {COUNT} pictures that .*rgb.txt lists .* got '
                                          rf'{COUNT - 1} of them; unpack'):
        TUM.load(tmp_path, 'a')
    shutil.rmtree(tmp_path / 'a' / 'rgb')
    with pytest.raises(SourceError, match='expected pictures in .*rgb, and there is no such'):
        TUM.load(tmp_path, 'a')
    (tmp_path / 'a' / 'rgb').mkdir()
    with pytest.raises(SourceError, match='expected pictures .* got none; unpack them'):
        TUM.load(tmp_path, 'a')
    (tmp_path / 'a' / 'groundtruth.txt').unlink()
    with pytest.raises(SourceError, match='expected rgb.txt and groundtruth.txt .* got only a'):
        TUM.names(tmp_path)


def test_tum_truth_is_checked(tmp_path):
    make_tum(tmp_path / 'a')
    (tmp_path / 'a' / 'groundtruth.txt').write_text('# nothing\n')
    with pytest.raises(EvaluationError, match='groundtruth.txt: .* a file without poses'):
        TUM.load(tmp_path, 'a')


def test_euroc(tmp_path):
    T_body_camera = random_transform(3)
    make_euroc(tmp_path / 'machine_hall' / 'MH_01_easy', T_body_camera)
    assert EUROC.names(tmp_path) == ['machine_hall/MH_01_easy']
    assert EUROC.names(tmp_path / 'machine_hall') == ['MH_01_easy']
    sequence = EUROC.load(tmp_path, 'MH_01_easy')  # the last part is enough
    assert indices(sequence.frames) == list(range(COUNT))
    np.testing.assert_allclose(sequence.truth.poses, camera_poses(), atol=1e-7)
    frames = list(sequence.frames)
    assert frames[1].stamp_ns - frames[0].stamp_ns == 50_000_000
    assert sequence.truth.stamps_ns[0] - frames[0].stamp_ns == 1_000


def test_euroc_refusals(tmp_path):
    with pytest.raises(SourceError, match='mav0/cam0/data.csv'):
        EUROC.names(tmp_path)
    make_euroc(tmp_path / 'V1_01_easy', np.eye(4))
    mav = tmp_path / 'V1_01_easy' / 'mav0'
    sensor = mav / 'cam0' / 'sensor.yaml'
    text = sensor.read_text()
    sensor.write_text(text.replace('T_BS', 'T_SB'))
    with pytest.raises(SourceError, match='sensor.yaml, T_BS: expected 16 numbers, got None'):
        EUROC.load(tmp_path, 'V1_01_easy')
    sensor.write_text(text.replace('1.000000000000', '2.000000000000'))
    with pytest.raises(SourceError, match='T_BS: expected a rigid transform'):
        EUROC.load(tmp_path, 'V1_01_easy')
    sensor.write_text('[1, 2')
    with pytest.raises(SourceError, match='cannot read .*sensor.yaml'):
        EUROC.load(tmp_path, 'V1_01_easy')
    sensor.write_text('[1, 2]')
    with pytest.raises(SourceError, match='expected names with values, got list'):
        EUROC.load(tmp_path, 'V1_01_easy')
    sensor.unlink()
    with pytest.raises(SourceError, match='expected the file .*sensor.yaml, and it is missing'):
        EUROC.load(tmp_path, 'V1_01_easy')
    sorted((mav / 'cam0' / 'data').iterdir())[3].unlink()
    with pytest.raises(SourceError, match='1 are missing, first 1403636579913555584.png'):
        EUROC.load(tmp_path, 'V1_01_easy')
    shutil.rmtree(mav / 'state_groundtruth_estimate0')
    (mav / 'cam0' / 'data.csv').write_text('#timestamp [ns],filename\n12,a.png\nx,b.png\n')
    with pytest.raises(SourceError, match="line 3: expected 'nanoseconds,file', got 'x,b.png'"):
        EUROC.load(tmp_path, 'V1_01_easy')


def test_euroc_without_truth(tmp_path):
    make_euroc(tmp_path / 'V1_01_easy', np.eye(4))
    make_euroc(tmp_path / 'V1_02_medium', np.eye(4))
    shutil.rmtree(tmp_path / 'V1_02_medium' / 'mav0' / 'state_groundtruth_estimate0')
    assert EUROC.names(tmp_path) == ['V1_01_easy']
    with pytest.raises(SourceError, match='state_groundtruth_estimate0/data.csv, and it is miss'):
        EUROC.load(tmp_path, 'V1_02_medium')


def test_oxford_spires(tmp_path):
    make_oxford_spires(tmp_path)
    (name,) = SPIRES.names(tmp_path)
    assert name == '2024-03-12-keble-college-02' and SPIRES.stride == 12
    sequence = SPIRES.load(tmp_path, name)
    np.testing.assert_allclose(sequence.truth.poses, camera_poses(30)[::2], atol=1e-7)
    frames = list(sequence.frames)
    assert len(frames) == 30 and frames[1].stamp_ns - frames[0].stamp_ns == 50_000_000
    assert frames[0].stamp_ns == 1_710_247_000_000_000_000
    assert sequence.max_difference_s == 0.1
    # A point seen by the lidar is where the camera's pose says it is.
    T_world_base = camera_poses(30)[4] @ np.linalg.inv(T_BASE_LIDAR @ np.linalg.inv(
        T_CAMERA_LIDAR))
    in_lidar = np.array([3.0, 1.0, 0.5, 1.0])
    in_world = T_world_base @ T_BASE_LIDAR @ in_lidar
    np.testing.assert_allclose(np.linalg.inv(sequence.truth.poses[2]) @ in_world,
                               T_CAMERA_LIDAR @ in_lidar, atol=1e-6)
    # The lidar looks back from above the base.
    np.testing.assert_allclose(T_BASE_LIDAR @ [1, 0, 0, 1], [-1, 0, 0.124, 1])


def test_oxford_spires_pictures_have_straight_lines(tmp_path):
    make_oxford_spires(tmp_path, count=1)
    frame = next(iter(SPIRES.load(tmp_path, SPIRES.names(tmp_path)[0]).frames))
    assert frame.image.shape == (SIZE[1], SIZE[0], 3)

    def bend(image):
        """Distance of the upper line's pixels from a straight one, worst, pixels."""
        upper = image[:SIZE[1] // 2].astype(float).mean(axis=2)
        columns = np.flatnonzero(upper.max(axis=0) > 128)
        columns = columns[(columns > 20) & (columns < SIZE[0] - 20)]
        weight = upper[:, columns]
        rows = (weight * np.arange(len(weight))[:, None]).sum(0) / weight.sum(0)
        return np.abs(rows - np.polyval(np.polyfit(columns, rows, 1), columns)).max()

    folder = tmp_path / 'sequences' / SPIRES.names(tmp_path)[0] / 'raw' / 'cam0'
    assert bend(cv2.imread(str(next(folder.iterdir())))) > 2
    assert bend(frame.image) < 0.6


def test_oxford_spires_refusals(tmp_path):
    with pytest.raises(SourceError, match='calibration and sequences of Oxford Spires'):
        SPIRES.names(tmp_path)
    make_oxford_spires(tmp_path)
    (name,) = SPIRES.names(tmp_path)
    folder, calibration = tmp_path / 'sequences' / name, tmp_path / 'calibration'
    text = (calibration / 'cam0.yaml').read_text()
    (calibration / 'cam0.yaml').write_text(text.replace('equidistant', 'radtan'))
    with pytest.raises(SourceError, match="distortion_model 'equidistant', got 'radtan'"):
        SPIRES.load(tmp_path, name)
    (calibration / 'cam0.yaml').write_text(text.replace('image_width: 144', 'image_width: 100'))
    with pytest.raises(SourceError, match='none of 30 frames .* pictures of 100 x 108'):
        list(SPIRES.load(tmp_path, name).frames)
    (calibration / 'cam0.yaml').write_text(text)
    for date in ('a', 'b'):
        (calibration / date).mkdir()
        shutil.copy(calibration / 'cam-lidar-imu.yaml', calibration / date)
    (calibration / 'cam-lidar-imu.yaml').unlink()
    with pytest.raises(SourceError, match='expected one cam-lidar-imu.yaml .* got 2: a/cam'):
        SPIRES.load(tmp_path, name)
    shutil.rmtree(calibration / 'b')
    assert len(SPIRES.load(tmp_path, name).truth) == 15
    (calibration / 'a' / 'cam-lidar-imu.yaml').write_text('cam1: {}\n')
    with pytest.raises(SourceError, match='cam0, T_cam_lidar: expected 16 numbers, got None'):
        SPIRES.load(tmp_path, name)
    (folder / 'raw' / 'cam0').rename(folder / 'raw' / 'elsewhere')
    (folder / 'raw' / 'images.zip').write_bytes(b'PK')
    with pytest.raises(SourceError, match='got only images.zip; unpack it in its place'):
        SPIRES.load(tmp_path, name)
    (folder / 'processed' / 'trajectory' / 'gt-tum.txt').unlink()
    with pytest.raises(SourceError, match='processed/trajectory/gt-tum.txt, got none; download'):
        SPIRES.names(tmp_path)


def test_oxford_spires_names_are_stamps(tmp_path):
    make_oxford_spires(tmp_path, count=2)
    (name,) = SPIRES.names(tmp_path)
    folder = tmp_path / 'sequences' / name / 'raw' / 'cam0'
    next(folder.iterdir()).rename(folder / 'left.jpg')
    with pytest.raises(SourceError, match='left.jpg: expected a picture named by its stamp'):
        SPIRES.load(tmp_path, name)


def test_folder(tmp_path):
    make_folder(tmp_path / 'mine')
    assert FOLDER.names(tmp_path) == ['mine']
    sequence = FOLDER.load(tmp_path, 'mine')
    assert indices(sequence.frames) == list(range(COUNT))
    np.testing.assert_allclose(sequence.truth.poses, camera_poses(), atol=1e-8)
    (tmp_path / 'mine' / 'timestamps.txt').unlink()
    with pytest.raises(SourceError, match='timestamps.txt, and it is missing'):
        FOLDER.load(tmp_path, 'mine')
    (tmp_path / 'mine' / 'groundtruth.txt').write_text(tum_text([1, 0], camera_poses(2)))
    (tmp_path / 'mine' / 'timestamps.txt').write_text('0 000000.png\n')
    with pytest.raises(SourceError, match=r'no stamp for 11 of 12 pictures'):
        FOLDER.load(tmp_path, 'mine')
    with pytest.raises(SourceError, match='expected images, timestamps.txt and groundtruth.txt'):
        FOLDER.names(tmp_path / 'mine' / 'images')
