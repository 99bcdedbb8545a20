# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Trajectory files: TUM, KITTI and EuRoC, told apart by their content where that is certain.

TUM: `seconds tx ty tz qx qy qz qw`. KITTI: twelve numbers, the upper rows of the pose; a frame
number may stand before them. EuRoC: `nanoseconds, x, y, z, qw, qx, qy, qz`, more columns are
ignored. `#` starts a comment everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path

from lingbot_ros.errors import EvaluationError
from lingbot_ros.evaluation.poses import LARGEST_POSITION
from lingbot_ros.evaluation.track import make_track, Track
from lingbot_ros.geometry.rotation import matrix_from_quat_xyzw
import numpy as np
from numpy.typing import NDArray

FORMATS = ('tum', 'kitti', 'euroc')

# Stamps above this cannot be seconds, and those of a clock that counts from 1970 in nanoseconds
# are above it.
_NANOSECONDS = 1e14

# Differences of stamps up to this fit 64 bits.
_LARGEST_STAMP_NS = 2**62

# Doubles hold whole numbers exactly up to this.
_LARGEST_NUMBER = 2**53

Rows = list[tuple[int, list[str]]]


def read_track(path: str | Path, kind: str = 'auto') -> Track:
    """
    Read a trajectory.

    Parameters
    ----------
    path : str or Path
        The file.
    kind : str
        'tum', 'kitti', 'euroc', or 'auto'.

    Returns
    -------
    Track
        With stamps (TUM, EuRoC) or frame numbers (KITTI).

    Raises
    ------
    EvaluationError
        The file cannot be read, is empty, has a line of another form (quoted), or is of a form
        that is not certain; or its poses or stamps are refused by `make_track`.

    """
    path = Path(path)
    if kind not in (*FORMATS, 'auto'):
        raise EvaluationError(f'format must be one of auto, {", ".join(FORMATS)}, got {kind!r}')
    try:
        text = path.read_text(encoding='utf-8-sig', errors='replace')
    except OSError as error:
        raise EvaluationError(f'cannot read {path}: {error.strerror}') from error
    rows = [(number, words) for number, line in enumerate(text.splitlines(), 1)
            if (words := line.split('#')[0].replace(',', ' ').split())]
    if not rows:
        raise EvaluationError(f'{path}: expected a trajectory, got a file without poses')
    readers: dict[str, Callable[[Path, Rows], Track]] = {
        'tum': _read_tum, 'kitti': _read_kitti, 'euroc': _read_euroc}
    return readers[_guess(path, text, rows) if kind == 'auto' else kind](path, rows)


def read_times(path: str | Path) -> NDArray[np.int64]:
    """
    Read a list of stamps, one number of seconds a line, as KITTI's times.txt has them.

    Returns
    -------
    ndarray of int64, shape [N]
        Nanoseconds.

    Raises
    ------
    EvaluationError
        The file cannot be read, or a line is no number.

    """
    try:
        lines = Path(path).read_text(encoding='utf-8-sig', errors='replace').splitlines()
    except OSError as error:
        raise EvaluationError(f'cannot read {path}: {error.strerror}') from error
    return np.array([_stamp_ns(Path(path), number, line.split(), 1_000_000_000)
                     for number, line in enumerate(lines, 1) if line.strip()], np.int64)


def _guess(path: Path, text: str, rows: Rows) -> str:
    words = rows[0][1]
    commas = ',' in text.splitlines()[rows[0][0] - 1]
    if len(words) in (12, 13) and not commas:
        return 'kitti'
    if len(words) == 8 and not commas:
        return 'tum'
    if len(words) >= 8 and commas and float(_numbers(path, rows[0][0], words)[0]) > _NANOSECONDS:
        return 'euroc'
    raise EvaluationError(
        f'{path}: expected numbers separated by spaces, 8 a line (TUM), 12 or 13 (KITTI), or at '
        'least 8 separated by commas that begin with nanoseconds (EuRoC), got '
        f'{len(words)} separated by {"commas" if commas else "spaces"} in line {rows[0][0]}; '
        'separate them so, or name the format with --format, or --truth-format')


def _numbers(path: Path, number: int, words: list[str]) -> NDArray[np.float64]:
    try:
        return np.array(words, np.float64)
    except ValueError as error:
        raise EvaluationError(f'{path}, line {number}: expected numbers, got '
                              f'{" ".join(words)[:60]!r}') from error


def _table(path: Path, rows: Rows, columns: tuple[int, int], what: str) -> NDArray[np.float64]:
    """Return all rows as numbers, having refused those with too few or too many columns."""
    width = len(rows[0][1])
    for number, words in rows:
        if not columns[0] <= len(words) <= columns[1] or len(words) != width:
            raise EvaluationError(f'{path}, line {number}: expected {what}, got {len(words)} '
                                  f'words: {" ".join(words)[:60]!r}')
    return np.stack([_numbers(path, number, words) for number, words in rows])


def _stamp_ns(path: Path, number: int, words: list[str], unit: int) -> int:
    # Decimals are exact where a double would lose what is below a quarter of a microsecond.
    try:
        stamp = Decimal(words[0])
    except InvalidOperation as error:
        raise EvaluationError(f'{path}, line {number}: expected a stamp, got '
                              f'{words[0][:60]!r}') from error
    if not stamp.is_finite():
        raise EvaluationError(f'{path}, line {number}: expected a stamp, got {words[0][:60]!r}, '
                              'which is not finite; remove the line')
    largest = _LARGEST_STAMP_NS // unit
    if not -largest <= stamp <= largest:
        raise EvaluationError(f'{path}, line {number}: expected a stamp of at most {largest} '
                              f'{"ns" if unit == 1 else "s"}, got {words[0][:60]!r}; '
                              'correct or remove the line')
    return int((stamp * unit).to_integral_value())


def _from_quaternions(path: Path, rows: Rows, positions: NDArray[np.float64],
                      quat_xyzw: NDArray[np.float64]) -> NDArray[np.float64]:
    # Not a number is not at most anything.
    usable = (np.abs(np.hstack([positions, quat_xyzw])) <= LARGEST_POSITION).all(axis=1)
    broken = np.flatnonzero(~usable | (np.abs(quat_xyzw).max(axis=1) < 1e-6))
    if len(broken):
        number, words = rows[broken[0]]
        raise EvaluationError(f'{path}, line {number}: expected finite numbers up to '
                              f'{LARGEST_POSITION:g} and a quaternion that is not zero, got '
                              f'{" ".join(words)[:80]!r} ({len(broken)} such lines); remove them')
    poses = np.tile(np.eye(4), (len(rows), 1, 1))
    poses[:, :3, :3] = matrix_from_quat_xyzw(quat_xyzw)
    poses[:, :3, 3] = positions
    return poses


def _read_tum(path: Path, rows: Rows) -> Track:
    values = _table(path, rows, (8, 8), '8 numbers (stamp tx ty tz qx qy qz qw)')
    large = np.flatnonzero(np.isfinite(values[:, 0]) & (np.abs(values[:, 0]) > _NANOSECONDS))
    if len(large):
        number, words = rows[large[0]]
        raise EvaluationError(f'{path}, line {number}: expected stamps in seconds, got '
                              f'{words[0][:60]}, which '
                              + ('looks like nanoseconds; divide them by 1e9'
                                 if len(large) == len(rows) else
                                 f'is too large ({len(large)} such lines); remove them'))
    poses = _from_quaternions(path, rows, values[:, 1:4], values[:, 4:8])
    stamps = [_stamp_ns(path, number, words, 1_000_000_000) for number, words in rows]
    return make_track(str(path), poses, stamps)


def _read_euroc(path: Path, rows: Rows) -> Track:
    values = _table(path, rows, (8, 99), 'at least 8 numbers (nanoseconds, x, y, z, qw, qx, qy, '
                    'qz) in every line')
    poses = _from_quaternions(path, rows, values[:, 1:4], values[:, [5, 6, 7, 4]])
    return make_track(str(path), poses,
                      [_stamp_ns(path, number, words, 1) for number, words in rows])


def _read_kitti(path: Path, rows: Rows) -> Track:
    values = _table(path, rows, (12, 13), '12 numbers ([R | t] row by row), or 13 with a frame '
                    'number before them, the same in every line')
    numbers = np.arange(len(rows))
    if values.shape[1] == 13:
        first = values[:, 0]
        broken = np.flatnonzero(~((first >= 0) & (first <= _LARGEST_NUMBER))
                                | (np.floor(first) != first))
        if len(broken):
            number, words = rows[broken[0]]
            raise EvaluationError(f'{path}, line {number}: expected a frame number (0, 1, ...), '
                                  f'got {words[0]}')
        numbers = first.astype(np.int64)
    poses = np.tile(np.eye(4), (len(rows), 1, 1))
    poses[:, :3] = values[:, -12:].reshape(-1, 3, 4)
    return replace(make_track(str(path), poses, numbers=numbers), by_row=values.shape[1] == 12)
