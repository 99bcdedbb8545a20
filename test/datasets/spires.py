# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""An excerpt of Oxford Spires: a fisheye camera that looks at a board with straight lines."""

from __future__ import annotations

from pathlib import Path

import cv2
from excerpt import camera_poses, tum_text
from lingbot_ros.datasets.oxford_spires import T_BASE_LIDAR
import numpy as np

SIZE = (144, 108)
K = np.array([[70.0, 0, 71.0], [0, 70.0, 56.0], [0, 0, 1]])
DISTORTION = np.array([-0.041, -0.0024, 0.0034, -0.0018])
T_CAMERA_LIDAR = np.array([[-0.02, 1.0, 0.0, 0.001], [0.0, 0.0, -1.0, -0.079],
                           [-1.0, -0.02, 0.0, -0.054], [0, 0, 0, 1]])
_U, _, _VT = np.linalg.svd(T_CAMERA_LIDAR[:3, :3])
T_CAMERA_LIDAR[:3, :3] = _U @ _VT


def fisheye_line(height):
    """Return pixels of points on a straight line across the view, at a height over the axis."""
    points = np.stack([np.linspace(-1.2, 1.2, 60), np.full(60, height), np.ones(60)], axis=1)
    pixels, _ = cv2.fisheye.projectPoints(points[:, None], np.zeros(3), np.zeros(3), K, DISTORTION)
    return pixels[:, 0]


def make_oxford_spires(root: Path, sequence='2024-03-12-keble-college-02', count=30):
    """Write a sequence: pictures at 20 Hz, truth of the base at 10 Hz."""
    folder = root / 'sequences' / sequence
    nanoseconds = 1_710_247_000_000_000_000 + 50_000_000 * np.arange(count)
    stamps = nanoseconds / 1e9
    (folder / 'raw' / 'cam0').mkdir(parents=True)
    for stamp in nanoseconds:
        image = np.zeros((SIZE[1], SIZE[0], 3), np.uint8)
        for height in (-0.5, 0.5):
            line = np.round(fisheye_line(height) * 16).astype(np.int32)
            cv2.polylines(image, [line], False, (255, 255, 255), 2, cv2.LINE_AA, 4)
        name = f'{stamp // 10**9}.{stamp % 10**9:09d}.jpg'
        assert cv2.imwrite(str(folder / 'raw' / 'cam0' / name), image)
    calibration = root / 'calibration'
    calibration.mkdir(exist_ok=True)
    (calibration / 'cam0.yaml').write_text(
        f'image_width: {SIZE[0]}\nimage_height: {SIZE[1]}\ncamera_name: cam0\ncamera_matrix:\n'
        f'  rows: 3\n  cols: 3\n  data: {K.ravel().tolist()}\ndistortion_model: equidistant\n'
        f'distortion_coefficients:\n  rows: 1\n  cols: 4\n  data: {DISTORTION.tolist()}\n')
    (calibration / 'cam-lidar-imu.yaml').write_text(
        'cam0:\n  T_cam_lidar:\n'
        + ''.join(f'  - {row.tolist()}\n' for row in T_CAMERA_LIDAR))
    T_base_camera = T_BASE_LIDAR @ np.linalg.inv(T_CAMERA_LIDAR)
    base = camera_poses(count) @ np.linalg.inv(T_base_camera)
    truth = folder / 'processed' / 'trajectory'
    truth.mkdir(parents=True)
    (truth / 'gt-tum.txt').write_text(tum_text(stamps[::2], base[::2]))
