# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
EuRoC MAV: `SEQUENCE/mav0/cam0` with `data.csv`, `data/` and `sensor.yaml`, and the truth.

The truth, `mav0/state_groundtruth_estimate0/data.csv`, is that of the body (the IMU) at 200 Hz;
`T_BS` in `sensor.yaml` maps points of the camera to the body, so the camera's pose is the body's
times T_BS. The nearest truth within 0.01 s is taken.
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
from lingbot_ros.datasets.calibration import matrix_4x4, read_yaml
from lingbot_ros.errors import SourceError
from lingbot_ros.evaluation.files import read_track
from lingbot_ros.evaluation.track import make_track

_FORM = 'folders with mav0/cam0/data.csv in them (as in MH_01_easy)'


class EurocLayout(Layout):
    """See the module."""

    def names(self, root: Path) -> list[str]:
        """Return the folders with truth."""
        return [name for name in _all(root) if _truth(root / name).is_file()] or _all(root)

    def load(self, root: Path, name: str) -> Sequence:
        """Return a sequence."""
        folder = sequence_folder(root, name, _all(root))
        camera = folder / 'mav0' / 'cam0'
        listed = _read_listing(need_file(camera / 'data.csv', name))
        present = {path.name: path for path in images_in(camera / 'data', name)}
        missing = [file for _, file in listed if file not in present]
        if missing:
            raise SourceError(f'{name}: expected the {len(listed)} pictures that '
                              f'{camera / "data.csv"} lists, {len(missing)} are missing, first '
                              f'{missing[0]}; unpack it again')
        body = read_track(need_file(_truth(folder), name), 'euroc')
        sensor = need_file(camera / 'sensor.yaml', name)
        T_body_camera = matrix_4x4(read_yaml(sensor).get('T_BS'), f'{sensor}, T_BS')
        frames = ListedImages(name, [present[file] for _, file in listed],
                              (stamp_ns for stamp_ns, _ in listed))
        return Sequence(name, frames, make_track(body.name, body.poses @ T_body_camera,
                                                 body.stamps_ns))


def _all(root: Path) -> list[str]:
    return find_folders(root, lambda folder: (folder / 'mav0' / 'cam0' / 'data.csv').is_file(),
                        2, _FORM)


def _truth(folder: Path) -> Path:
    return folder / 'mav0' / 'state_groundtruth_estimate0' / 'data.csv'


def _read_listing(path: Path) -> list[tuple[int, str]]:
    listed = []
    for number, line in enumerate(path.read_text(errors='replace').splitlines(), 1):
        words = line.split('#')[0].replace(',', ' ').split()
        if not words:
            continue
        if len(words) != 2 or not words[0].isdecimal():
            raise SourceError(f"{path}, line {number}: expected 'nanoseconds,file', got "
                              f'{line[:60]!r}')
        listed.append((int(words[0]), words[1]))
    if not listed:
        raise SourceError(f"{path}: expected lines 'nanoseconds,file', got none")
    return listed
