# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Oxford Spires: `sequences/NAME/raw/cam0`, `processed/trajectory/gt-tum.txt`, and `calibration/`.

`raw/images.zip` of the release unpacks to `raw/cam0`, pictures named by their stamp in seconds.
The truth (20 Hz) is that of the base, in the world of a laser scanner. `cam-lidar-imu.yaml` has
`cam0: T_cam_lidar`, which maps points of the lidar to the camera; the lidar stands 0.124 m above
the base and looks back (the release's own tools have this constant). So the camera's pose is
T_world_base T_base_lidar inverse(T_cam_lidar). The fisheye lens (`cam0.yaml`, equidistant) is
taken out. Every twelfth frame is used, with the nearest truth within 0.1 s, as in the published
evaluation.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
import logging
from pathlib import Path

import cv2
from lingbot_ros.datasets.base import (
    images_in,
    Layout,
    ListedImages,
    need_file,
    Prepare,
    Sequence,
    sequence_folder,
)
from lingbot_ros.datasets.calibration import matrix_4x4, numbers, read_yaml
from lingbot_ros.errors import ImageError, SourceError
from lingbot_ros.evaluation.files import read_track
from lingbot_ros.evaluation.track import make_track
from lingbot_ros.geometry.rigid import invert_transform, make_transform
from lingbot_ros.sources.folder import natural_key
import numpy as np
from numpy.typing import NDArray

_log = logging.getLogger(__name__)

T_BASE_LIDAR = make_transform(np.diag([-1.0, -1.0, 1.0]), [0.0, 0.0, 0.124])
"""Maps points of the lidar to the base."""


class OxfordSpiresLayout(Layout):
    """See the module."""

    stride = 12

    def names(self, root: Path) -> list[str]:
        """Return the sequences that have truth."""
        names = [name for name in _all(root) if _truth(root, name).is_file()]
        if not names:
            raise SourceError(f'{root}: expected sequences/NAME/processed/trajectory/gt-tum.txt, '
                              'got none; download the processed/trajectory of the sequences')
        return names

    def load(self, root: Path, name: str) -> Sequence:
        """Return a sequence."""
        folder = sequence_folder(root / 'sequences', name, _all(root))
        if not (folder / 'raw' / 'cam0').is_dir() and (folder / 'raw' / 'images.zip').is_file():
            raise SourceError(f'{name}: expected the folder {folder / "raw" / "cam0"}, got only '
                              'images.zip; unpack it in its place')
        files = images_in(folder / 'raw' / 'cam0', name)
        base = read_track(need_file(_truth(root, folder.name), name), 'tum')
        extrinsics = _calibration(root, 'cam-lidar-imu.yaml')
        cam0 = read_yaml(extrinsics).get('cam0')
        T_camera_lidar = matrix_4x4(cam0.get('T_cam_lidar') if isinstance(cam0, dict) else None,
                                    f'{extrinsics}, cam0, T_cam_lidar')
        T_base_camera = T_BASE_LIDAR @ invert_transform(T_camera_lidar)
        truth = make_track(base.name, base.poses @ T_base_camera, base.stamps_ns)
        prepare = _undistorter(_calibration(root, 'cam0.yaml'))
        return Sequence(name, ListedImages(name, files, map(_stamp_ns, files), prepare), truth,
                        0.1)


def _all(root: Path) -> list[str]:
    folder = root / 'sequences'
    names = [path.name for path in folder.iterdir() if (path / 'raw').is_dir()] \
        if folder.is_dir() else []
    if not names:
        raise SourceError(f'{root}: expected the folders calibration and sequences of Oxford '
                          'Spires, with sequences/NAME/raw; give the folder they lie in')
    return sorted(names, key=natural_key)


def _truth(root: Path, name: str) -> Path:
    return root / 'sequences' / name / 'processed' / 'trajectory' / 'gt-tum.txt'


def _calibration(root: Path, name: str) -> Path:
    """Return a calibration file; some downloads hold them one folder deeper, by date."""
    folder = root / 'calibration'
    found = [folder / name] if (folder / name).is_file() else sorted(folder.glob(f'*/{name}'))
    if not found:
        raise SourceError(f'expected the file {folder / name}, and it is missing; download the '
                          'calibration folder of the dataset')
    if len(found) > 1:
        raise SourceError(f'expected one {name} in {folder}, got {len(found)}: '
                          f'{", ".join(str(path.relative_to(folder)) for path in found)}; move '
                          f'the one of these sequences to {folder}')
    return found[0]


def _stamp_ns(path: Path) -> int:
    try:
        return int((Decimal(path.stem) * 1_000_000_000).to_integral_value())
    except (InvalidOperation, ValueError, OverflowError) as error:
        raise SourceError(f'{path}: expected a picture named by its stamp, seconds.nanoseconds'
                          '.jpg') from error


def _undistorter(path: Path) -> Prepare:
    """Return what turns a fisheye picture into that of a pinhole camera, without black rims."""
    content = read_yaml(path)
    if content.get('distortion_model') != 'equidistant':
        raise SourceError(f"{path}: expected distortion_model 'equidistant', got "
                          f'{content.get("distortion_model")!r}')
    K = numbers(content.get('camera_matrix'), 9, f'{path}, camera_matrix').reshape(3, 3)
    distortion = numbers(content.get('distortion_coefficients'), 4,
                         f'{path}, distortion_coefficients')
    size = (int(numbers(content.get('image_width'), 1, f'{path}, image_width')[0]),
            int(numbers(content.get('image_height'), 1, f'{path}, image_height')[0]))
    pinhole = cv2.fisheye.estimateNewCameraMatrixForUndistortRectify(
        K, distortion, size, np.eye(3), balance=0.0)
    maps = cv2.fisheye.initUndistortRectifyMap(
        K, distortion, np.eye(3), pinhole, size, cv2.CV_16SC2)

    def prepare(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        if image.shape[1::-1] != size:
            raise ImageError(f'expected pictures of {size[0]} x {size[1]}, as {path} has it, got '
                             f'{image.shape[1]} x {image.shape[0]}')
        return np.asarray(cv2.remap(image, maps[0], maps[1], cv2.INTER_LINEAR), np.uint8)

    return prepare
