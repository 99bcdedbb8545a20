# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A folder of pictures as a source.

Order: natural, so `frame_10` comes after `frame_9`. Stamps: from `timestamps.txt` in the folder or
beside it (lines `seconds file`, more words are ignored, `#` starts a comment), else from the frame
rate. EXIF orientation is not applied: one stream keeps one size and the axes of the sensor.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
import logging
from pathlib import Path
import re

from lingbot_ros.errors import ImageError, SourceError
from lingbot_ros.imaging.compressed import decode_compressed
from lingbot_ros.records import Frame
from lingbot_ros.sources.base import DEFAULT_FPS, exact_fps, frame_stamp_ns, Source

_log = logging.getLogger(__name__)

IMAGE_SUFFIXES = ('.png', '.jpg', '.jpeg', '.bmp', '.webp', '.tif', '.tiff', '.pgm', '.ppm',
                  '.pnm')


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key that compares runs of digits as numbers and text without case."""
    parts = re.findall(r'\d+|\D+', name)
    return [(0, int(p), p) if p.isdecimal() else (1, 0, p.lower()) for p in parts]


def list_images(folder: Path) -> list[Path]:
    """Return the picture files of a folder in natural order; hidden files are left out."""
    found = [p for p in folder.iterdir() if p.suffix.lower() in IMAGE_SUFFIXES
             and not p.name.startswith('.') and p.is_file()]
    return sorted(found, key=lambda p: (natural_key(p.name), p.name))


def read_stamps(path: Path) -> dict[str, int]:
    """
    Read a list of stamps.

    Parameters
    ----------
    path : Path
        Text file with lines `seconds file`.

    Returns
    -------
    dict of str to int
        File name (without folders) to stamp in nanoseconds; the decimal is read exactly.

    Raises
    ------
    SourceError
        A line has another form; the message quotes it.

    """
    stamps = {}
    for number, line in enumerate(path.read_text(errors='replace').splitlines(), 1):
        words = line.split('#')[0].split()
        if not words:
            continue
        try:
            name, seconds = words[1], Decimal(words[0])
            stamps[name.replace('\\', '/').rsplit('/', 1)[-1]] = int(
                (seconds * 1_000_000_000).to_integral_value())
        except (IndexError, InvalidOperation, ValueError, OverflowError) as error:
            raise SourceError(f"{path}, line {number}: expected 'seconds file', got "
                              f'{line[:60]!r}; give the frame rate (--fps) to do without this '
                              'file') from error
    return stamps


class FolderSource(Source):
    """
    Pictures of a folder.

    Parameters
    ----------
    path : Path
        Folder with pictures, or with a folder `images` that has them.
    fps : float or None
        Frames a second for the stamps; None means `timestamps.txt` where there is one, else 30.

    Raises
    ------
    SourceError
        No pictures, a broken timestamps.txt, or one that leaves pictures out.

    """

    def __init__(self, path: Path, fps: float | None = None) -> None:
        self._files = list_images(path)
        self._folder = path
        if not self._files and (path / 'images').is_dir():
            self._folder = path / 'images'
            self._files = list_images(self._folder)
        if not self._files:
            raise SourceError(f'{path}: no pictures ({", ".join(IMAGE_SUFFIXES)}) and no bag '
                              'in this folder' + _hint(path))
        super().__init__(str(path), '', len(self._files))
        self._stamps, self._stamp_source = self._read_stamps(fps)

    def _read_stamps(self, fps: float | None) -> tuple[list[int], str]:
        if fps is None:
            for listing in (self._folder / 'timestamps.txt', self._folder.parent /
                            'timestamps.txt'):
                if not listing.is_file():
                    continue
                stamps = read_stamps(listing)
                missing = [p.name for p in self._files if p.name not in stamps]
                if len(missing) == len(self._files):
                    _log.warning('%s lists none of the pictures in %s; not used', listing,
                                 self._folder)
                    continue
                if missing:
                    raise SourceError(f'{listing}: no stamp for {len(missing)} of '
                                      f'{len(self._files)} pictures, first {missing[0]}')
                return [stamps[p.name] for p in self._files], f'stamps from {listing.name}'
        rate = DEFAULT_FPS if fps is None else fps
        exact = exact_fps(rate)
        return ([frame_stamp_ns(i, exact) for i in range(len(self._files))],
                f'stamps from {rate:g} frames a second')

    def describe(self) -> str:
        """Say in one line what is read."""
        return f'folder {self._folder}: {len(self._files)} pictures, {self._stamp_source}'

    def _frames(self) -> Iterator[Frame]:
        for path, stamp_ns in zip(self._files, self._stamps, strict=True):
            try:
                yield Frame(decode_compressed(path.read_bytes()), stamp_ns)
            except (ImageError, OSError) as error:
                self._drop(path.name, error)


def _hint(path: Path) -> str:
    """Name what the folder has instead, so that the right path is easy to see."""
    inside = sorted(p.name for p in path.iterdir() if p.suffix in ('.bag', '.mp4', '.avi', '.mkv')
                    or (p.is_dir() and not p.name.startswith('.')))
    return f'; did you mean one of: {", ".join(inside[:6])}?' if inside else ''
