# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Trajectories and their files: TUM (`seconds tx ty tz qx qy qz qw`) and KITTI (rows of [R | t]).

Stamps are integers in nanoseconds and are written digit by digit; a floating-point number of
seconds since 1970 would lose everything below a quarter of a microsecond.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from types import TracebackType
from typing import TextIO

from lingbot_ros.errors import ConfigError, ShapeError, SourceError
from lingbot_ros.geometry.rotation import matrix_from_quat_xyzw, quat_xyzw_from_matrix
import numpy as np
from numpy.typing import ArrayLike, NDArray

TUM_HEADER = '# timestamp_s tx ty tz qx qy qz qw (camera to world, optical axes, scene units)\n'


def format_stamp(stamp_ns: int) -> str:
    """Return a stamp in nanoseconds as seconds with nine decimals, exactly."""
    seconds, rest = divmod(abs(int(stamp_ns)), 1_000_000_000)
    return f'{"-" if stamp_ns < 0 else ""}{seconds}.{rest:09d}'


def _pose(T: ArrayLike) -> NDArray[np.float64]:
    pose = np.array(T, np.float64)
    if pose.shape != (4, 4):
        raise ShapeError(f'expected a pose [4, 4], got shape {pose.shape}')
    return pose


def tum_line(stamp_ns: int, T_world_camera: ArrayLike) -> str:
    """
    Format one line of a TUM file.

    Parameters
    ----------
    stamp_ns : int
        Stamp, nanoseconds.
    T_world_camera : array_like, shape [4, 4]
        Rigid transform, camera points to world.

    Returns
    -------
    str
        'sec.nanosec tx ty tz qx qy qz qw' without a line end; nine decimals each, qw >= 0.

    Raises
    ------
    ShapeError
        The transform is not 4 x 4.

    """
    pose = _pose(T_world_camera)
    # Adding 0.0 turns -0.0 into 0.0 after rounding, so that equal poses print equal.
    values = np.round([*pose[:3, 3], *quat_xyzw_from_matrix(pose[:3, :3])], 9) + 0.0
    return ' '.join([format_stamp(stamp_ns), *(f'{value:.9f}' for value in values)])


def kitti_line(T_world_camera: ArrayLike) -> str:
    """Format one line of a KITTI file: the upper 3 x 4 of a pose [4, 4], row by row."""
    return ' '.join(f'{value:.9e}' for value in (_pose(T_world_camera)[:3] + 0.0).ravel())


class LateFile:
    """
    A text file that is created when its first text comes.

    What stands at the path is not touched before: a run that produces nothing, or is refused,
    leaves older results alone. Every write is flushed, so that an interrupted run keeps what it
    has.

    Parameters
    ----------
    path : Path
        The file; missing folders are made.
    header : str
        What stands before the first text.

    """

    def __init__(self, path: Path, header: str = '') -> None:
        self._path = path
        self._header = header
        self._file: TextIO | None = None

    def __enter__(self) -> LateFile:
        """Return the file itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        """Close the file, if there is one."""
        if self._file is not None:
            self._file.close()

    def write(self, text: str) -> None:
        """
        Append text.

        Raises
        ------
        ConfigError
            If the file cannot be created.

        """
        if self._file is None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self._path.open('w', encoding='utf-8')
            except OSError as error:
                raise ConfigError(f'cannot write {self._path}: {error.strerror}; choose another '
                                  'place') from error
            self._file.write(self._header)
        self._file.write(text)
        self._file.flush()


class Trajectory:
    """
    Stamped poses in the order in which they were appended.

    Stamps need neither ascend nor differ; a recording may hold anything.
    """

    def __init__(self) -> None:
        self._stamps: list[int] = []
        self._poses: list[NDArray[np.float64]] = []

    def append(self, stamp_ns: int, T_world_camera: ArrayLike) -> None:
        """
        Add a pose at the end.

        Parameters
        ----------
        stamp_ns : int
            Stamp, nanoseconds.
        T_world_camera : array_like, shape [4, 4]
            Rigid transform, camera points to world; copied.

        Raises
        ------
        ShapeError
            The transform is not 4 x 4.

        """
        self._poses.append(_pose(T_world_camera))
        self._stamps.append(int(stamp_ns))

    def __len__(self) -> int:
        return len(self._stamps)

    def __iter__(self) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield (stamp_ns, T_world_camera)."""
        return iter(zip(self._stamps, self._poses, strict=True))

    @property
    def stamps_ns(self) -> NDArray[np.int64]:
        """Stamps, nanoseconds, shape [N]."""
        return np.array(self._stamps, np.int64)

    @property
    def poses(self) -> NDArray[np.float64]:
        """Poses camera to world, shape [N, 4, 4]."""
        return np.array(self._poses).reshape(-1, 4, 4)

    @property
    def positions(self) -> NDArray[np.float64]:
        """Camera centres in the world, scene units, shape [N, 3]."""
        return self.poses[:, :3, 3]

    @property
    def path_length(self) -> float:
        """Sum of the steps between successive camera centres, scene units."""
        return float(np.linalg.norm(np.diff(self.positions, axis=0), axis=1).sum())


def write_tum(path: str | Path, trajectory: Trajectory) -> None:
    """Write a trajectory as a TUM file, replacing what is there."""
    lines = [tum_line(stamp_ns, pose) + '\n' for stamp_ns, pose in trajectory]
    Path(path).write_text(TUM_HEADER + ''.join(lines))


def write_kitti(path: str | Path, trajectory: Trajectory) -> None:
    """Write the poses of a trajectory as a KITTI file, which holds no stamps."""
    Path(path).write_text(''.join(kitti_line(pose) + '\n' for _, pose in trajectory))


def _rows(path: str | Path, columns: int, what: str) -> Iterator[list[str]]:
    for number, line in enumerate(Path(path).read_text(errors='replace').splitlines(), 1):
        words = line.split('#')[0].replace(',', ' ').split()
        if not words:
            continue
        try:
            if len(words) != columns:
                raise ValueError
            Decimal(words[0])
            np.array(words, np.float64)
        except (ValueError, InvalidOperation) as error:
            raise SourceError(f'{path}, line {number}: expected {columns} numbers ({what}), got '
                              f'{line[:60]!r}') from error
        yield words


def read_tum(path: str | Path) -> Trajectory:
    """
    Read a TUM file; quaternions are normalised, stamps rounded to nanoseconds.

    Raises
    ------
    SourceError
        A line has another form; the message quotes it.

    """
    trajectory = Trajectory()
    for words in _rows(path, 8, 'stamp tx ty tz qx qy qz qw'):
        values = np.array(words[1:], np.float64)
        pose = np.eye(4)
        pose[:3, 3] = values[:3]
        pose[:3, :3] = matrix_from_quat_xyzw(values[3:])
        trajectory.append(int((Decimal(words[0]) * 1_000_000_000).to_integral_value()), pose)
    return trajectory


def read_kitti(path: str | Path) -> NDArray[np.float64]:
    """
    Read a KITTI file of poses.

    Returns
    -------
    ndarray of float64, shape [N, 4, 4]
        Poses; the file holds no stamps.

    Raises
    ------
    SourceError
        A line has another form; the message quotes it.

    """
    rows = list(_rows(path, 12, '[R | t] row by row'))
    poses = np.tile(np.eye(4), (len(rows), 1, 1))
    if rows:
        poses[:, :3] = np.array(rows, np.float64).reshape(-1, 3, 4)
    return poses
