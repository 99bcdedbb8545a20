# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What all layouts have in common: a sequence, how it is found, and how its images are read."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lingbot_ros.errors import ImageError, SourceError
from lingbot_ros.evaluation.track import Track
from lingbot_ros.imaging.compressed import decode_compressed
from lingbot_ros.records import Frame
from lingbot_ros.sources.base import Source
from lingbot_ros.sources.folder import IMAGE_SUFFIXES, list_images, natural_key
import numpy as np
from numpy.typing import NDArray

Prepare = Callable[[NDArray[np.uint8]], NDArray[np.uint8]]


@dataclass(frozen=True, eq=False)
class Sequence:
    """
    A recording with truth.

    Attributes
    ----------
    name : str
        Within its dataset.
    frames : Source
        Iterates `records.Frame` in the order of the recording.
    truth : Track
        Stamped `T_world_camera` of the camera whose images these are: optical axes (x right, y
        down, z forward), camera to world. It may begin later, end earlier or have gaps; frames
        without truth are run, and not scored.
    max_difference_s : float
        How far the stamps of an image and of its truth may be apart, seconds.
    unit : str
        Of the truth's lengths: 'm', or 'units' where the scale is arbitrary.

    """

    name: str
    frames: Source
    truth: Track
    max_difference_s: float = 0.01
    unit: str = 'm'


class Layout(abc.ABC):
    """
    How a dataset lies on disk.

    Attributes
    ----------
    stride : int
        Every stride-th frame is what the published benchmark uses.
    image_width : int or None
        Width of the processed images there, pixels; None: the network's own.
    crop : tuple of int or None
        Width to height of the central part there; None: the whole image.

    """

    stride: int = 1
    image_width: int | None = None
    crop: tuple[int, int] | None = None

    @abc.abstractmethod
    def names(self, root: Path) -> list[str]:
        """
        Return the sequences with truth that the benchmark scores, in natural order.

        Raises
        ------
        SourceError
            The folder holds none; says what it should look like.

        """

    @abc.abstractmethod
    def load(self, root: Path, name: str) -> Sequence:
        """
        Return one sequence, also one that `names` leaves out.

        Raises
        ------
        SourceError
            There is none of this name, or parts of it are missing.
        EvaluationError
            Its truth cannot be read.

        """


class ListedImages(Source):
    """
    Pictures from a list, each with its stamp.

    Parameters
    ----------
    name : str
        Of the sequence.
    files : sequence of Path
        Pictures; one that is missing or broken is dropped and counted when its turn comes.
    stamps_ns : sequence of int
        One for each.
    prepare : callable, optional
        Applied to each picture, uint8 [H, W, 3].

    Raises
    ------
    SourceError
        No files.

    """

    def __init__(self, name: str, files: list[Path], stamps_ns: Iterable[int],
                 prepare: Prepare | None = None) -> None:
        if not files:
            raise SourceError(f'{name}: expected pictures, got an empty list')
        super().__init__(name, '', len(files))
        self.files = files
        self.stamps_ns = [int(stamp) for stamp in stamps_ns]
        self._prepare = prepare

    def describe(self) -> str:
        """Say in one line what is read."""
        return f'{self.name}: {len(self.files)} pictures in {self.files[0].parent}'

    def _frames(self) -> Iterator[Frame]:
        for path, stamp_ns in zip(self.files, self.stamps_ns, strict=True):
            try:
                image = decode_compressed(path.read_bytes())
                frame = Frame(self._prepare(image) if self._prepare else image, stamp_ns)
            except (ImageError, OSError) as error:
                self._drop(path.name, error)
                continue
            yield frame


class Cropped(Source):
    """
    The largest central part of each frame that has a given shape.

    Parameters
    ----------
    source : Source
        Whose frames are cropped.
    width, height : int
        The shape; only their ratio matters.

    """

    def __init__(self, source: Source, width: int, height: int) -> None:
        super().__init__(source.name, source.topic, source.len_hint)
        self._source, self._width, self._height = source, width, height

    def describe(self) -> str:
        """Say in one line what is read."""
        return f'{self._source.describe()}, cropped to {self._width}:{self._height}'

    def _frames(self) -> Iterator[Frame]:
        for frame in self._source:
            rows, columns = frame.image.shape[:2]
            height = min(rows, max(1, round(columns * self._height / self._width)))
            width = min(columns, max(1, round(rows * self._width / self._height)))
            top, left = (rows - height) // 2, (columns - width) // 2
            image = np.ascontiguousarray(
                frame.image[top:top + height, left:left + width])
            yield Frame(image, frame.stamp_ns, frame.frame_id)
        self.dropped, self.incomplete = self._source.dropped, self._source.incomplete


def images_in(folder: Path, what: str) -> list[Path]:
    """Return the pictures of a folder in natural order, or say that there are none."""
    if not folder.is_dir():
        raise SourceError(f'{what}: expected pictures in {folder}, and there is no such folder')
    files = list_images(folder)
    if not files:
        raise SourceError(f'{what}: expected pictures ({", ".join(IMAGE_SUFFIXES)}) in {folder}, '
                          'got none; unpack them there')
    return files


def need_file(path: Path, what: str) -> Path:
    """Return a path that is a file, or say which one is missing."""
    if not path.is_file():
        raise SourceError(f'{what}: expected the file {path}, and it is missing')
    return path


def find_folders(root: Path, fits: Callable[[Path], bool], depth: int, form: str) -> list[str]:
    """
    Return the folders that hold a sequence, as paths relative to the root.

    Parameters
    ----------
    root : Path
        Where to look; '.' stands for the root itself.
    fits : callable
        Whether a folder holds a sequence; nothing is looked for inside such a one.
    depth : int
        How many levels below the root.
    form : str
        What a sequence looks like, for the message.

    Raises
    ------
    SourceError
        The root is no folder, or holds no sequence.

    """
    if not root.is_dir():
        raise SourceError(f'expected a folder of sequences, got {root}, which is '
                          f'{"a file" if root.exists() else "missing"}')
    found: list[Path] = []
    level = [root]
    for _ in range(depth + 1):
        found += [folder for folder in level if fits(folder)]
        level = [child for folder in level if folder not in found
                 for child in sorted(folder.iterdir()) if child.is_dir()
                 and not child.name.startswith('.')]
    if not found:
        inside = sorted((p.name for p in root.iterdir() if not p.name.startswith('.')),
                        key=natural_key)
        raise SourceError(f'{root}: expected {form}; got '
                          + (f'only {", ".join(inside[:8])}' if inside else 'an empty folder')
                          + '; give the folder above or below, or another --dataset')
    return sorted((folder.relative_to(root).as_posix() for folder in found), key=natural_key)


def sequence_folder(root: Path, name: str, names: list[str]) -> Path:
    """
    Return the folder of a sequence by its name.

    Parameters
    ----------
    root : Path
        The dataset.
    name : str
        As in `names`, or the last part of one, if only one ends so.
    names : list of str
        All there are.

    Raises
    ------
    SourceError
        None or several are called so.

    """
    fitting = [one for one in names if name in (one, one.rsplit('/', 1)[-1])]
    if name in names:
        fitting = [name]
    if len(fitting) != 1:
        raise SourceError(f'expected one of the sequences {", ".join(names)} in {root}, got '
                          f'{name!r}' + (', which fits several' if fitting else ''))
    return root / fitting[0]
