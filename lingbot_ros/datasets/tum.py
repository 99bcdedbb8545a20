# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
TUM RGB-D benchmark: `rgbd_dataset_*/` with `rgb.txt`, `rgb/` and `groundtruth.txt`.

`rgb.txt` has lines `seconds rgb/file.png`. The truth is that of the colour camera, from motion
capture at 100 Hz; the nearest one within 0.02 s is taken, as the benchmark's own script and the
published evaluation do.
"""

from __future__ import annotations

from pathlib import Path

from lingbot_ros.datasets.base import (
    find_folders,
    images_in,
    Layout,
    ListedImages,
    need_file,
    Sequence,
    sequence_folder,
)
from lingbot_ros.errors import SourceError
from lingbot_ros.evaluation.files import read_track
from lingbot_ros.sources.folder import read_stamps

_FORM = 'rgb.txt and groundtruth.txt in it or in the folders below (as in rgbd_dataset_*)'


class TumLayout(Layout):
    """See the module."""

    def names(self, root: Path) -> list[str]:
        """Return the folders with both lists."""
        return find_folders(root, lambda folder: (folder / 'rgb.txt').is_file()
                            and (folder / 'groundtruth.txt').is_file(), 1, _FORM)

    def load(self, root: Path, name: str) -> Sequence:
        """Return a sequence."""
        folder = sequence_folder(root, name, self.names(root))
        listing = need_file(folder / 'rgb.txt', name)
        stamps = read_stamps(listing)
        files = [path for path in images_in(folder / 'rgb', name) if path.name in stamps]
        missing = len(stamps) - len(files)
        if missing:
            raise SourceError(f'{name}: expected the {len(stamps)} pictures that {listing} lists '
                              f'in {folder / "rgb"}, got {len(files)} of them; unpack it again')
        files.sort(key=lambda path: stamps[path.name])
        return Sequence(name, ListedImages(name, files, (stamps[path.name] for path in files)),
                        read_track(folder / 'groundtruth.txt', 'tum'), 0.02)
