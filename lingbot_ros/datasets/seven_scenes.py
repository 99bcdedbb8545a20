# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
7-Scenes: `SCENE/seq-XX/frame-XXXXXX.color.png` and `.pose.txt` (4 x 4, camera to world).

The sequences of `SCENE/TestSplit.txt` are scored, every fifth frame, as in the published
evaluation; all of a scene where it has no such file. Frames have no stamps: they are taken to be
30 a second.
"""

from __future__ import annotations

from pathlib import Path
import re

from lingbot_ros.datasets.base import (
    find_folders,
    Layout,
    ListedImages,
    Sequence,
    sequence_folder,
)
from lingbot_ros.errors import SourceError
from lingbot_ros.evaluation.track import make_track
from lingbot_ros.sources.base import exact_fps, frame_stamp_ns
from lingbot_ros.sources.folder import natural_key
import numpy as np
from numpy.typing import NDArray

_FORM = 'folders seq-XX with frame-XXXXXX.color.png and frame-XXXXXX.pose.txt (unpack the ' \
        'seq-XX.zip of each scene)'
_FPS = exact_fps(30.0)


class SevenScenesLayout(Layout):
    """See the module."""

    stride = 5

    def names(self, root: Path) -> list[str]:
        """Return the sequences of the test splits."""
        return [name for name in _all(root) if _in_test_split(root / name)]

    def load(self, root: Path, name: str) -> Sequence:
        """Return a sequence."""
        folder = sequence_folder(root, name, _all(root))
        files = sorted(folder.glob('frame-*.color.png'), key=lambda path: natural_key(path.name))
        stamps, poses = [], []
        for index, path in enumerate(files):
            pose = _read_pose(path.with_name(path.name.replace('.color.png', '.pose.txt')))
            if pose is not None:
                stamps.append(frame_stamp_ns(index, _FPS))
                poses.append(pose)
        if not poses:
            raise SourceError(f'{name}: expected frame-XXXXXX.pose.txt beside the '
                              f'{len(files)} pictures in {folder}, got none')
        frames = ListedImages(name, files, (frame_stamp_ns(i, _FPS) for i in range(len(files))))
        return Sequence(name, frames, make_track(f'{name} poses', poses, stamps), 0.001)


def _all(root: Path) -> list[str]:
    return find_folders(root, lambda folder: folder.name.startswith('seq-')
                        and any(folder.glob('frame-*.color.png')), 2, _FORM)


def _in_test_split(folder: Path) -> bool:
    split = folder.resolve().parent / 'TestSplit.txt'
    if not split.is_file():
        return True
    numbers = [int(number) for number in re.findall(r'\d+', split.read_text(errors='replace'))]
    return int(re.sub(r'\D', '', folder.resolve().name) or -1) in numbers


def _read_pose(path: Path) -> NDArray[np.float64] | None:
    """Return a pose; None where there is none, or where tracking left no finite one."""
    if not path.is_file():
        return None
    words = path.read_text(errors='replace').split()
    try:
        pose = np.array(words, np.float64).reshape(4, 4)
    except ValueError as error:
        raise SourceError(f'{path}: expected 4 x 4 numbers, got {len(words)} words: '
                          f'{" ".join(words)[:60]!r}') from error
    return pose if np.isfinite(pose).all() and np.abs(pose[:3, :3]).max() > 0 else None
