# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A plain layout for one's own recordings: `images/`, `timestamps.txt` and `groundtruth.txt`.

`timestamps.txt` has lines `seconds file`; the truth is a TUM file, camera to world, optical
axes. The nearest truth within 0.01 s is taken.
"""

from __future__ import annotations

from pathlib import Path

from lingbot_ros.datasets.base import (
    find_folders,
    images_in,
    Layout,
    need_file,
    Sequence,
    sequence_folder,
)
from lingbot_ros.evaluation.files import read_track
from lingbot_ros.sources.folder import FolderSource

_FORM = 'images, timestamps.txt and groundtruth.txt in it or in the folders below'


class FolderLayout(Layout):
    """See the module."""

    def names(self, root: Path) -> list[str]:
        """Return the folders with pictures and truth."""
        return find_folders(root, lambda folder: (folder / 'groundtruth.txt').is_file()
                            and (folder / 'images').is_dir(), 1, _FORM)

    def load(self, root: Path, name: str) -> Sequence:
        """Return a sequence."""
        folder = sequence_folder(root, name, self.names(root))
        images_in(folder / 'images', name)
        need_file(folder / 'timestamps.txt', name)
        return Sequence(name, FolderSource(folder),
                        read_track(folder / 'groundtruth.txt', 'tum'))
