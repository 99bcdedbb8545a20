# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Tanks and Temples, training set: pictures of a scene, `SCENE_COLMAP_SfM.log`, `SCENE_trans.txt`.

The log has five lines a pose: three numbers, of which the first is the picture's (from 0), and
the 4 x 4 matrix, camera to world. The world is that of a reconstruction, of arbitrary scale;
`SCENE_trans.txt`, a 4 x 4 similarity, maps it to the laser scan, in metres. Pictures lie in
`SCENE/`, `SCENE/images` or `SCENE/images_raw`; both files beside them or in the root. Frames have
no stamps: they are taken to be 30 a second.
"""

from __future__ import annotations

from pathlib import Path

from lingbot_ros.datasets.base import Layout, ListedImages, Sequence
from lingbot_ros.errors import SourceError
from lingbot_ros.evaluation.track import make_track
from lingbot_ros.sources.base import exact_fps, frame_stamp_ns
from lingbot_ros.sources.folder import list_images, natural_key
import numpy as np
from numpy.typing import NDArray

_FPS = exact_fps(30.0)


class TanksLayout(Layout):
    """See the module."""

    def names(self, root: Path) -> list[str]:
        """Return the scenes that have a log of poses."""
        names = [folder.name for folder in _folders(root) if _find(folder, '_COLMAP_SfM.log')]
        if not names:
            raise SourceError(f'{root}: expected scenes with SCENE/SCENE_COLMAP_SfM.log, or '
                              'SCENE_COLMAP_SfM.log beside the folder SCENE, got none; download '
                              'the camera poses of the training set')
        return sorted(names, key=natural_key)

    def load(self, root: Path, name: str) -> Sequence:
        """Return a scene."""
        folder = next((one for one in _folders(root) if one.name == name), None)
        if folder is None:
            raise SourceError(f'expected one of the scenes {", ".join(self.names(root))} in '
                              f'{root}, got {name!r}')
        files = next((found for place in (folder, folder / 'images', folder / 'images_raw')
                      if place.is_dir() and (found := list_images(place))), [])
        if not files:
            raise SourceError(f'{name}: expected pictures in {folder}, {folder}/images or '
                              f'{folder}/images_raw, got none; unpack the image set there')
        log = _find(folder, '_COLMAP_SfM.log')
        if log is None:
            raise SourceError(f'{name}: expected the file {folder / name}_COLMAP_SfM.log, and it '
                              'is missing')
        indices, poses = _read_log(log)
        if indices[-1] >= len(files):
            raise SourceError(f'{name}: {log} has a pose of picture {indices[-1]} (counted from '
                              f'0), and there are {len(files)} pictures; expected the set of '
                              'which the log was made')
        alignment = _find(folder, '_trans.txt')
        if alignment is not None:
            poses = _moved(poses, _matrix(alignment.read_text(errors='replace'), alignment))
        frames = ListedImages(name, files, (frame_stamp_ns(i, _FPS) for i in range(len(files))))
        truth = make_track(str(log), poses, [frame_stamp_ns(int(i), _FPS) for i in indices])
        return Sequence(name, frames, truth, 0.001, 'units' if alignment is None else 'm')


def _folders(root: Path) -> list[Path]:
    """Return the scenes' folders; the root may be one itself."""
    if not root.is_dir():
        raise SourceError(f'expected a folder of scenes, got {root}, which is '
                          f'{"a file" if root.exists() else "missing"}')
    resolved = root.resolve()
    if (resolved / f'{resolved.name}_COLMAP_SfM.log').is_file():
        return [resolved]
    return sorted(path for path in root.iterdir() if path.is_dir())


def _find(folder: Path, ending: str) -> Path | None:
    for place in (folder, folder.parent):
        path = place / f'{folder.name}{ending}'
        if path.is_file():
            return path
    return None


def _read_log(path: Path) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    lines = [line for line in path.read_text(errors='replace').splitlines() if line.strip()]
    if not lines or len(lines) % 5:
        raise SourceError(f'{path}: expected five lines a pose (three numbers, then 4 x 4), got '
                          f'{len(lines)} lines')
    indices, poses = [], []
    for at in range(0, len(lines), 5):
        head = lines[at].split()
        if len(head) != 3 or not head[0].isdecimal():
            raise SourceError(f'{path}: expected three whole numbers before pose {at // 5}, got '
                              f'{lines[at][:60]!r}')
        indices.append(int(head[0]))
        poses.append(_matrix('\n'.join(lines[at + 1:at + 5]), path))
    order = np.argsort(indices, kind='stable')
    return np.array(indices, np.int64)[order], np.stack(poses)[order]


def _matrix(text: str, path: Path) -> NDArray[np.float64]:
    words = text.split()
    try:
        return np.array(words, np.float64).reshape(4, 4)
    except ValueError as error:
        raise SourceError(f'{path}: expected 4 x 4 numbers, got {len(words)} words: '
                          f'{" ".join(words)[:60]!r}') from error


def _moved(poses: NDArray[np.float64], similarity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return poses in the world a similarity leads to; rotations stay rotations."""
    scale = np.cbrt(np.linalg.det(similarity[:3, :3]))
    moved = similarity @ poses
    moved[:, :3, :3] /= scale
    return np.asarray(moved)
