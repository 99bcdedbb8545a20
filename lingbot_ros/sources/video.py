# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A video file as a source.

Stamps start at 0 and are frame number / frame rate; containers with variable frame times lose
them. A rotation stored in the file (phones) is applied by OpenCV.
"""

from __future__ import annotations

from collections.abc import Iterator
import logging
from pathlib import Path

import cv2
from lingbot_ros.errors import SourceError
from lingbot_ros.imaging.encodings import convert
from lingbot_ros.records import Frame
from lingbot_ros.sources.base import DEFAULT_FPS, exact_fps, frame_stamp_ns, Source

_log = logging.getLogger(__name__)

VIDEO_SUFFIXES = ('.mp4', '.avi', '.mkv', '.mov', '.webm', '.m4v', '.mpg', '.mpeg', '.ts', '.mts',
                  '.wmv', '.flv', '.ogv', '.3gp', '.mjpeg', '.mjpg')


class VideoSource(Source):
    """
    Frames of a video file.

    Parameters
    ----------
    path : Path
        A file that OpenCV's VideoCapture reads.
    fps : float or None
        Frames a second for the stamps; None means what the file says, or 30 when it says nothing.

    Raises
    ------
    SourceError
        The file is no video, or has a codec this OpenCV lacks.

    """

    def __init__(self, path: Path, fps: float | None = None) -> None:
        self._path = path
        capture = self._open()
        count = int(capture.get(cv2.CAP_PROP_FRAME_COUNT))
        rate = capture.get(cv2.CAP_PROP_FPS) if fps is None else fps
        capture.release()
        super().__init__(str(path), '', count if count > 0 else None)
        if fps is None and not 0 < rate < 1e6:
            _log.warning('%s: the file states no frame rate; %g is used', path, DEFAULT_FPS)
            rate = DEFAULT_FPS
        self._fps = exact_fps(rate)

    def _open(self) -> cv2.VideoCapture:
        try:
            capture = cv2.VideoCapture(str(self._path))
        except cv2.error as error:
            raise SourceError(f'{self._path}: cannot be read as a video: {error.err}') from error
        if not capture.isOpened():
            raise SourceError(f'{self._path}: cannot be read as a video (broken file, or a codec '
                              'that this OpenCV lacks)')
        return capture

    def describe(self) -> str:
        """Say in one line what is read."""
        count = 'unknown number of' if self.len_hint is None else f'about {self.len_hint}'
        return f'video {self._path}: {count} frames at {float(self._fps):.6g} a second'

    def _frames(self) -> Iterator[Frame]:
        capture = self._open()
        index = 0
        try:
            while True:
                ok, image = capture.read()
                if not ok:
                    break
                code = cv2.COLOR_GRAY2RGB if image.ndim == 2 else cv2.COLOR_BGR2RGB
                yield Frame(convert(image, code), frame_stamp_ns(index, self._fps))
                index += 1
        finally:
            capture.release()
        # Containers often promise a frame or two too many; a larger gap is a cut file.
        if self.len_hint is not None and self.len_hint - index > max(2, self.len_hint // 100):
            self._break_off(f'ended after {index} of {self.len_hint} promised frames')
