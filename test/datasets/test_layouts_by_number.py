# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Layouts whose poses belong to numbered pictures: KITTI, 7-Scenes, Tanks and Temples."""

from __future__ import annotations

import shutil

from excerpt import (
    camera_poses,
    COUNT,
    indices,
    make_kitti,
    make_seven_scenes,
    make_tanks,
    matrix_text,
    random_transform,
)
from lingbot_ros.datasets import LAYOUTS
from lingbot_ros.errors import EvaluationError, SourceError
import numpy as np
import pytest

KITTI, SCENES, TANKS = (LAYOUTS[name] for name in ('kitti', '7scenes', 'tanks'))


def test_kitti_camera_0(tmp_path):
    make_kitti(tmp_path, camera='image_0')
    make_kitti(tmp_path, '10', camera='image_0')
    (tmp_path / 'sequences' / '11').mkdir()
    assert KITTI.names(tmp_path) == ['07', '10']
    sequence = KITTI.load(tmp_path, '07')
    assert indices(sequence.frames) == list(range(COUNT))
    np.testing.assert_allclose(sequence.truth.poses, camera_poses(), atol=1e-8)
    stamps = [frame.stamp_ns for frame in sequence.frames]
    assert stamps[:3] == [0, 100_000_000, 200_000_000]
    np.testing.assert_array_equal(sequence.truth.stamps_ns, stamps)
    assert (KITTI.stride, KITTI.image_width, KITTI.crop) == (1, 504, (504, 280))


def test_kitti_camera_2_stands_aside(tmp_path):
    make_kitti(tmp_path / 'dataset')
    sequence = KITTI.load(tmp_path, '07')  # the archives' own folder is found
    P2 = np.array([70, 0, 62, 4.5, 0, 70, 19, -0.2, 0, 0, 1, 0.003]).reshape(3, 4)
    K = P2[:, :3]
    in_world = np.array([1.0, -2.0, 9.0, 1.0])
    for pose_0, pose_2 in zip(camera_poses(), sequence.truth.poses, strict=True):
        # P2 projects points of camera 0 into picture 2.
        expected = P2 @ np.linalg.inv(pose_0) @ in_world
        found = K @ (np.linalg.inv(pose_2) @ in_world)[:3]
        np.testing.assert_allclose(found / found[2], expected / expected[2], atol=1e-5)
    np.testing.assert_allclose(
        np.linalg.norm(sequence.truth.poses[:, :3, 3] - camera_poses()[:, :3, 3], axis=1),
        np.linalg.norm(np.linalg.solve(K, P2[:, 3])), atol=1e-7)


def test_kitti_without_calibration(tmp_path, caplog):
    make_kitti(tmp_path)
    (tmp_path / 'sequences' / '07' / 'calib.txt').unlink()
    sequence = KITTI.load(tmp_path, '07')
    np.testing.assert_allclose(sequence.truth.poses, camera_poses(), atol=1e-8)
    assert 'camera 2 is taken to be where camera 0 is' in caplog.text


def test_kitti_refusals(tmp_path):
    with pytest.raises(SourceError, match='the folders sequences and poses of KITTI'):
        KITTI.names(tmp_path)
    make_kitti(tmp_path)
    with pytest.raises(SourceError, match=r"one of the sequences 07 in .*, got '7'"):
        KITTI.load(tmp_path, '7')
    folder = tmp_path / 'sequences' / '07'
    (folder / 'calib.txt').write_text('P0: 1\n')
    with pytest.raises(SourceError, match='expected a line P2:'):
        KITTI.load(tmp_path, '07')
    (folder / 'calib.txt').write_text('P2: 1 2 3\n')
    with pytest.raises(SourceError, match="expected 12 numbers after P2:, got '1 2 3'"):
        KITTI.load(tmp_path, '07')
    (folder / 'image_2' / '000003.png').unlink()
    with pytest.raises(SourceError, match='a line of times.txt for each of the 11 pict.* got 12'):
        KITTI.load(tmp_path, '07')
    (folder / 'times.txt').write_text('0\n' * 11)
    with pytest.raises(SourceError, match=r'a line of poses/07.txt for each of the 11 .* got 12'):
        KITTI.load(tmp_path, '07')
    (folder / 'times.txt').unlink()
    with pytest.raises(SourceError, match='times.txt, and it is missing'):
        KITTI.load(tmp_path, '07')
    shutil.rmtree(folder / 'image_2')
    with pytest.raises(SourceError, match='expected pictures in .*image_2'):
        KITTI.load(tmp_path, '07')
    (tmp_path / 'poses' / '07.txt').unlink()
    with pytest.raises(SourceError, match='poses/NN.txt for a folder sequences/NN, got none'):
        KITTI.names(tmp_path)


def test_seven_scenes(tmp_path):
    for name in ('seq-01', 'seq-03', 'seq-10'):
        make_seven_scenes(tmp_path / 'chess', name)
    make_seven_scenes(tmp_path / 'fire', 'seq-02')
    (tmp_path / 'chess' / 'TestSplit.txt').write_text('sequence3\r\nsequence10\r\n')
    (tmp_path / 'chess' / 'TrainSplit.txt').write_text('sequence1\n')
    assert SCENES.names(tmp_path) == ['chess/seq-03', 'chess/seq-10', 'fire/seq-02']
    assert SCENES.names(tmp_path / 'chess') == ['seq-03', 'seq-10']
    assert SCENES.stride == 5
    sequence = SCENES.load(tmp_path, 'chess/seq-01')  # of the other split, when asked for
    assert indices(sequence.frames) == list(range(COUNT))
    kept = [i for i in range(COUNT) if i != 2]
    np.testing.assert_allclose(sequence.truth.poses, camera_poses()[kept], atol=1e-8)
    stamps = np.array([frame.stamp_ns for frame in sequence.frames])
    np.testing.assert_array_equal(sequence.truth.stamps_ns, stamps[kept])
    assert stamps[1] == 33_333_333
    assert len(SCENES.load(tmp_path / 'chess' / 'seq-01', '.').truth) == COUNT - 1


def test_seven_scenes_refusals(tmp_path):
    with pytest.raises(SourceError, match='expected folders seq-XX .*unpack the seq-XX.zip'):
        SCENES.names(tmp_path)
    make_seven_scenes(tmp_path / 'chess')
    make_seven_scenes(tmp_path / 'fire')
    with pytest.raises(SourceError, match=r"got 'seq-03', which fits several"):
        SCENES.load(tmp_path, 'seq-03')
    (tmp_path / 'chess' / 'seq-03' / 'frame-000001.pose.txt').write_text('1 2 3\n')
    with pytest.raises(SourceError, match=r"expected 4 x 4 numbers, got 3 words: '1 2 3'"):
        SCENES.load(tmp_path, 'chess/seq-03')
    for path in (tmp_path / 'chess' / 'seq-03').glob('*.pose.txt'):
        path.unlink()
    with pytest.raises(SourceError, match='expected frame-XXXXXX.pose.txt beside the 12 pict'):
        SCENES.load(tmp_path, 'chess/seq-03')


def test_tanks(tmp_path):
    make_tanks(tmp_path)
    make_tanks(tmp_path, 'Truck')
    (tmp_path / 'Empty').mkdir()
    assert TANKS.names(tmp_path) == ['Barn', 'Truck']
    sequence = TANKS.load(tmp_path, 'Barn')
    assert indices(sequence.frames) == list(range(COUNT))
    np.testing.assert_allclose(sequence.truth.poses, camera_poses(), atol=1e-8)
    np.testing.assert_array_equal(sequence.truth.stamps_ns,
                                  [frame.stamp_ns for frame in sequence.frames])
    assert sequence.unit == 'units'


def test_tanks_similarity_leads_to_metres(tmp_path):
    make_tanks(tmp_path)
    T = random_transform(5)
    similarity = T.copy()
    similarity[:3, :3] *= 2.5
    (tmp_path / 'Barn_trans.txt').write_text(matrix_text(similarity))
    sequence = TANKS.load(tmp_path, 'Barn')
    assert sequence.unit == 'm'
    expected = camera_poses()
    expected[:, :3, 3] *= 2.5
    np.testing.assert_allclose(sequence.truth.poses, T @ expected, atol=1e-7)


def test_tanks_files_may_lie_beside_the_pictures(tmp_path):
    make_tanks(tmp_path)
    scene = tmp_path / 'Barn'
    (tmp_path / 'Barn_COLMAP_SfM.log').rename(scene / 'Barn_COLMAP_SfM.log')
    (scene / 'images').mkdir()
    for path in scene.glob('*.jpg'):
        path.rename(scene / 'images' / path.name)
    assert TANKS.names(tmp_path) == TANKS.names(scene) == ['Barn']
    assert indices(TANKS.load(scene, 'Barn').frames) == list(range(COUNT))


def test_tanks_pictures_without_pose_are_not_scored(tmp_path):
    make_tanks(tmp_path)
    text = (tmp_path / 'Barn_COLMAP_SfM.log').read_text().splitlines(keepends=True)
    (tmp_path / 'Barn_COLMAP_SfM.log').write_text(''.join(text[:20] + text[25:]))
    sequence = TANKS.load(tmp_path, 'Barn')
    assert len(list(sequence.frames)) == COUNT and len(sequence.truth) == COUNT - 1
    np.testing.assert_allclose(sequence.truth.poses, np.delete(camera_poses(), 4, 0), atol=1e-8)
    assert 133_333_333 not in sequence.truth.stamps_ns


def test_tanks_refusals(tmp_path):
    with pytest.raises(SourceError, match='expected a folder of scenes, got .*none'):
        TANKS.names(tmp_path / 'none')
    with pytest.raises(SourceError, match='SCENE_COLMAP_SfM.log .* got none; download'):
        TANKS.names(tmp_path)
    make_tanks(tmp_path)
    with pytest.raises(SourceError, match=r"one of the scenes Barn in .*, got 'barn'"):
        TANKS.load(tmp_path, 'barn')
    log = tmp_path / 'Barn_COLMAP_SfM.log'
    text = log.read_text()
    log.write_text(text + '12 12 0\n')
    with pytest.raises(SourceError, match=r'five lines a pose .* got 61 lines'):
        TANKS.load(tmp_path, 'Barn')
    log.write_text('x y z\n' + text.split('\n', 1)[1])
    with pytest.raises(SourceError, match="three whole numbers before pose 0, got 'x y z'"):
        TANKS.load(tmp_path, 'Barn')
    log.write_text(text.replace('3 3 0\n', '3 3 0\n1 '))
    with pytest.raises(SourceError, match='expected 4 x 4 numbers, got 17 words'):
        TANKS.load(tmp_path, 'Barn')
    log.write_text(text.replace('11 11 0\n', '12 12 0\n'))
    with pytest.raises(SourceError, match='a pose of picture 12 .* there are 12 pictures'):
        TANKS.load(tmp_path, 'Barn')
    log.write_text(text)
    (tmp_path / 'Barn_trans.txt').write_text('1 2\n')
    with pytest.raises(SourceError, match='Barn_trans.txt: expected 4 x 4 numbers, got 2 words'):
        TANKS.load(tmp_path, 'Barn')
    (tmp_path / 'Barn_trans.txt').write_text(matrix_text(np.diag([1.0, 2.0, 3.0, 1.0])))
    with pytest.raises(EvaluationError, match='hold no rotation'):
        TANKS.load(tmp_path, 'Barn')
    for path in (tmp_path / 'Barn').glob('*.jpg'):
        path.unlink()
    with pytest.raises(SourceError, match='expected pictures in .*Barn/images_raw, got none'):
        TANKS.load(tmp_path, 'Barn')
    log.unlink()
    with pytest.raises(SourceError, match='SCENE_COLMAP_SfM.log .* got none'):
        TANKS.names(tmp_path)
