# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tiny excerpts of datasets: pictures that tell their number, exact poses, files to hold both."""

from __future__ import annotations

from pathlib import Path

import cv2
from lingbot_ros.geometry.rotation import matrix_from_quat_xyzw, quat_xyzw_from_matrix
import numpy as np

COUNT = 12


def camera_poses(count=COUNT):
    """Return `T_world_camera` of a camera on a curve, turning; float64 [count, 4, 4]."""
    angle = 0.2 * np.arange(count)
    poses = np.tile(np.eye(4), (count, 1, 1))
    quat = np.stack([0.1 * np.sin(angle), np.sin(angle / 2), 0 * angle, np.cos(angle / 2)], axis=1)
    poses[:, :3, :3] = matrix_from_quat_xyzw(quat)
    poses[:, :3, 3] = np.stack([np.sin(angle), 0.1 * angle, 2 - 2 * np.cos(angle)], axis=1)
    return poses


def random_transform(seed):
    """Return a rigid transform that nothing cancels."""
    rng = np.random.default_rng(seed)
    T = np.eye(4)
    T[:3, :3] = matrix_from_quat_xyzw(rng.normal(size=4))
    T[:3, 3] = rng.normal(size=3)
    return T


def picture(index, height=48, width=64):
    """Return a textured picture whose mean blue is 20 times its index (modulo 256)."""
    rng = np.random.default_rng(index)
    image = rng.integers(90, 160, (height, width, 3), np.uint8)
    image[..., 2] = 20 * index % 256
    return image


def write_picture(path: Path, index, height=48, width=64):
    path.parent.mkdir(parents=True, exist_ok=True)
    bgr = picture(index, height, width)[..., ::-1]
    assert cv2.imwrite(str(path), bgr)


def indices(source):
    """Return which pictures a source gives, by their mean blue."""
    return [round(float(frame.image[..., 2].mean()) / 20) for frame in source]


def tum_text(stamps_s, poses):
    rows = [' '.join(f'{value:.9f}' for value in (
        stamp, *pose[:3, 3], *quat_xyzw_from_matrix(pose[:3, :3])))
        for stamp, pose in zip(stamps_s, poses, strict=True)]
    return '# ground truth trajectory\n' + '\n'.join(rows) + '\n'


def matrix_text(pose):
    return '\n'.join(' '.join(f'{value:.9e}' for value in row) for row in pose) + '\n'


def make_tum(folder: Path, count=COUNT):
    """Write a TUM RGB-D sequence: 30 pictures a second, truth at 100 Hz from 0.04 s on."""
    stamps = 100 + np.arange(count) / 30
    lines = ['# color images', '# timestamp filename']
    for index, stamp in enumerate(stamps):
        name = f'rgb/{stamp:.6f}.png'
        write_picture(folder / name, index)
        lines.append(f'{stamp:.6f} {name}')
    (folder / 'rgb.txt').write_text('\n'.join(lines) + '\n')
    dense = 100 + 0.04 + np.arange(int(100 * count / 30)) / 100
    (folder / 'groundtruth.txt').write_text(tum_text(dense, camera_poses(len(dense))))


def make_kitti(root: Path, name='07', camera='image_2', count=COUNT):
    """Write a KITTI odometry sequence with the calibration of a camera 0.06 m to the left."""
    folder = root / 'sequences' / name
    for index in range(count):
        write_picture(folder / camera / f'{index:06d}.png', index, 38, 124)
    (folder / 'times.txt').write_text('\n'.join(f'{0.1 * i:e}' for i in range(count)) + '\n')
    (folder / 'calib.txt').write_text(
        'P0: 70 0 62 0 0 70 19 0 0 0 1 0\nP2: 70 0 62 4.5 0 70 19 -0.2 0 0 1 0.003\n')
    (root / 'poses').mkdir(exist_ok=True)
    (root / 'poses' / f'{name}.txt').write_text('\n'.join(
        ' '.join(f'{value:.9e}' for value in pose[:3].ravel())
        for pose in camera_poses(count)) + '\n')


def make_seven_scenes(scene: Path, name='seq-03', count=COUNT):
    """Write a sequence of 7-Scenes; frame 2 has no pose."""
    for index in range(count):
        base = scene / name / f'frame-{index:06d}'
        write_picture(base.with_name(base.name + '.color.png'), index)
        text = matrix_text(camera_poses(count)[index])
        base.with_name(base.name + '.pose.txt').write_text(
            text if index != 2 else ('nan ' * 4 + '\n') * 4)


def make_euroc(folder: Path, T_body_camera, count=COUNT):
    """Write a EuRoC sequence: pictures at 20 Hz, truth of the body at 200 Hz."""
    start = 1_403_636_579_763_555_584
    mav = folder / 'mav0'
    lines = ['#timestamp [ns],filename']
    for index in range(count):
        stamp = start + 50_000_000 * index
        write_picture(mav / 'cam0' / 'data' / f'{stamp}.png', index)
        lines.append(f'{stamp},{stamp}.png')
    (mav / 'cam0' / 'data.csv').write_text('\r\n'.join(lines) + '\r\n')
    values = ', '.join(f'{value:.12f}' for value in T_body_camera.ravel())
    (mav / 'cam0' / 'sensor.yaml').write_text(
        '#General sensor definitions.\nsensor_type: camera\ncomment: VI-Sensor cam0\n\n'
        f'T_BS:\n  cols: 4\n  rows: 4\n  data: [{values}]\n\nrate_hz: 20\n'
        'resolution: [64, 48]\ncamera_model: pinhole\n')
    body = camera_poses(count) @ np.linalg.inv(T_body_camera)
    rows = ['#timestamp, p_RS_R_x [m], p_RS_R_y [m], p_RS_R_z [m], q_RS_w [], q_RS_x [], '
            'q_RS_y [], q_RS_z [], v_RS_R_x [m s^-1]']
    for index, pose in enumerate(body):
        x, y, z, w = quat_xyzw_from_matrix(pose[:3, :3])
        rows.append(','.join([str(start + 50_000_000 * index + 1_000), *(
            f'{value:.9f}' for value in (*pose[:3, 3], w, x, y, z, 0.0))]))
    truth = mav / 'state_groundtruth_estimate0'
    truth.mkdir()
    (truth / 'data.csv').write_text('\n'.join(rows) + '\n')


def make_tanks(root: Path, scene='Barn', count=COUNT, poses=None):
    """Write a scene of Tanks and Temples with poses of all pictures."""
    for index in range(count):
        write_picture(root / scene / f'{index + 1:06d}.jpg', index)
    chosen = camera_poses(count) if poses is None else poses
    (root / f'{scene}_COLMAP_SfM.log').write_text(''.join(
        f'{index} {index} 0\n{matrix_text(pose)}' for index, pose in enumerate(chosen)))


def make_folder(folder: Path, count=COUNT):
    """Write a sequence of the plain layout."""
    stamps = np.arange(count) / 30
    lines = ['# timestamp file']
    for index, stamp in enumerate(stamps):
        write_picture(folder / 'images' / f'{index:06d}.png', index)
        lines.append(f'{stamp:.6f} images/{index:06d}.png')
    (folder / 'timestamps.txt').write_text('\n'.join(lines) + '\n')
    (folder / 'groundtruth.txt').write_text(tum_text(stamps, camera_poses(count)))
