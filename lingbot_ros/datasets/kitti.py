# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
KITTI odometry: `sequences/NN/image_2` or `image_0`, `times.txt`, `calib.txt`, and `poses/NN.txt`.

Poses are those of camera 0, one a frame. Camera 2 sees the same way from a few centimetres
aside, by the fourth column of its projection P2 = K [I | t] in `calib.txt`; its poses are moved
there. The published evaluation takes the central part of 504 x 280 pixels.
"""

from __future__ import annotations

import logging
from pathlib import Path

from lingbot_ros.datasets.base import images_in, Layout, ListedImages, need_file, Sequence
from lingbot_ros.errors import SourceError
from lingbot_ros.evaluation.files import read_times, read_track
from lingbot_ros.evaluation.track import make_track
from lingbot_ros.sources.folder import natural_key
import numpy as np
from numpy.typing import NDArray

_log = logging.getLogger(__name__)

_CAMERAS = ('image_2', 'image_0')


class KittiLayout(Layout):
    """See the module."""

    image_width = 504
    crop = (504, 280)

    def names(self, root: Path) -> list[str]:
        """Return the sequences that have poses."""
        base = _base(root)
        names = [folder.name for folder in (base / 'sequences').iterdir()
                 if folder.is_dir() and (base / 'poses' / f'{folder.name}.txt').is_file()]
        if not names:
            raise SourceError(f'{base}: expected poses/NN.txt for a folder sequences/NN, got none '
                              'that fit; unpack data_odometry_poses.zip there')
        return sorted(names, key=natural_key)

    def load(self, root: Path, name: str) -> Sequence:
        """Return a sequence."""
        base = _base(root)
        folder = base / 'sequences' / name
        if not folder.is_dir():
            raise SourceError(f'expected one of the sequences {", ".join(self.names(root))} in '
                              f'{base}, got {name!r}')
        camera = next((one for one in _CAMERAS if (folder / one).is_dir()), _CAMERAS[0])
        files = images_in(folder / camera, name)
        times = read_times(need_file(folder / 'times.txt', name))
        poses = read_track(need_file(base / 'poses' / f'{name}.txt', name), 'kitti').poses
        for what, count in (('times.txt', len(times)), (f'poses/{name}.txt', len(poses))):
            if count != len(files):
                raise SourceError(f'{name}: expected a line of {what} for each of the '
                                  f'{len(files)} pictures in {folder / camera}, got {count}')
        if camera == 'image_2':
            poses = poses @ _camera_0_from_2(folder / 'calib.txt')
        return Sequence(name, ListedImages(name, files, times), make_track(
            f'poses/{name}.txt', poses, times))


def _base(root: Path) -> Path:
    """Return the folder that holds `sequences`; the archives unpack into one more, `dataset`."""
    for base in (root, root / 'dataset'):
        if (base / 'sequences').is_dir():
            return base
    raise SourceError(f'{root}: expected the folders sequences and poses of KITTI odometry, got '
                      'none; give the folder they lie in (it is often called dataset)')


def _camera_0_from_2(path: Path) -> NDArray[np.float64]:
    transform = np.eye(4)
    if not path.is_file():
        _log.warning('%s is missing: camera 2 is taken to be where camera 0 is (6 cm off)', path)
        return transform
    for line in path.read_text(errors='replace').splitlines():
        label, _, rest = line.partition(':')
        if label.strip() == 'P2':
            try:
                projection = np.array(rest.split(), np.float64).reshape(3, 4)
            except ValueError as error:
                raise SourceError(f'{path}: expected 12 numbers after P2:, got '
                                  f'{rest.strip()[:60]!r}') from error
            # P2 maps points of camera 0: K (x + t), and camera 2 stands at -t.
            transform[:3, 3] = -np.linalg.solve(projection[:, :3], projection[:, 3])
            return transform
    raise SourceError(f'{path}: expected a line P2:, got none; use the calib.txt of '
                      'data_odometry_calib.zip')
