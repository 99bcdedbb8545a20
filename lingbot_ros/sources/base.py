# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What every source of frames has in common: order, counting, refusing."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from fractions import Fraction
import logging
from types import TracebackType
from typing import TypeVar

from lingbot_ros.errors import SourceError
from lingbot_ros.records import Frame

_S = TypeVar('_S', bound='Source')

_log = logging.getLogger(__name__)

_DROPS_LOGGED = 5

DEFAULT_FPS = 30.0
"""Where neither the user nor the recording states a frame rate."""


class Source(abc.ABC):
    """
    Frames of a recording, in their order, read while iterating.

    A frame that cannot be decoded is skipped, counted in `dropped` and logged with its reason (the
    first few; then only counted). A recording that breaks off is read up to there, and
    `incomplete` says why. Iterating again starts from the beginning.

    Attributes
    ----------
    name : str
        The path, as given.
    topic : str
        The image topic; empty for folders and videos.
    len_hint : int or None
        Frames the recording says it has, None when it does not say. An upper bound for bags and
        folders, an estimate for videos.
    dropped : int
        Frames skipped so far because they could not be decoded.
    incomplete : str
        Why the recording ended early; empty when it did not.

    """

    def __init__(self, name: str, topic: str = '', len_hint: int | None = None) -> None:
        self.name = name
        self.topic = topic
        self.len_hint = len_hint
        self.dropped = 0
        self.incomplete = ''
        self._first_reason = ''

    def __iter__(self) -> Iterator[Frame]:
        """
        Yield the frames in the order of the recording.

        Raises
        ------
        SourceError
            There were frames, but not one could be decoded, or the recording breaks off before
            its first frame.

        """
        self.dropped, self.incomplete, self._first_reason = 0, '', ''
        count = 0
        for frame in self._frames():
            count += 1
            yield frame
        if self.dropped > _DROPS_LOGGED:
            _log.warning('%s: %d frames dropped in all', self.name, self.dropped)
        if count == 0:
            self._refuse_nothing()

    def _refuse_nothing(self) -> None:
        where = f'{self.name}, topic {self.topic}' if self.topic else self.name
        if self.dropped:
            raise SourceError(f'{where}: none of {self.dropped} frames could be decoded: '
                              f'{self._first_reason}')
        raise SourceError(f'{where}: no frames'
                          + (f': {self.incomplete}' if self.incomplete else ''))

    def _drop(self, what: str, reason: Exception) -> None:
        """Count and log a frame that cannot be decoded."""
        self.dropped += 1
        self._first_reason = self._first_reason or one_line(reason)
        if self.dropped <= _DROPS_LOGGED:
            _log.warning('%s: %s dropped: %s', self.name, what, one_line(reason))

    def _break_off(self, reason: str) -> None:
        """Note and log why the recording ends early."""
        self.incomplete = reason
        _log.warning('%s: %s', self.name, reason)

    @abc.abstractmethod
    def _frames(self) -> Iterator[Frame]:
        """Yield what can be decoded; call `_drop` for what cannot."""

    @abc.abstractmethod
    def describe(self) -> str:
        """Say in one line what is read: kind, path, topic, number of frames."""

    def close(self) -> None:  # noqa: B027 - folders hold nothing open
        """Release files; the source cannot be iterated afterwards."""

    def __enter__(self: _S) -> _S:
        """Return the source; it is closed at the end of the block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        """Close the source."""
        self.close()


def one_line(error: Exception) -> str:
    """Return the message of an error as one line, or its type when it says nothing."""
    return ' '.join(str(error).split()) or type(error).__name__


def frame_stamp_ns(index: int, fps: Fraction) -> int:
    """
    Return the stamp of a frame that only has a number.

    Parameters
    ----------
    index : int
        Number of the frame, from 0.
    fps : Fraction
        Frames a second, greater than 0.

    Returns
    -------
    int
        index / fps in nanoseconds, rounded to the nearest one without floating-point error.

    """
    return (2 * index * 1_000_000_000 * fps.denominator + fps.numerator) // (2 * fps.numerator)


def exact_fps(fps: float) -> Fraction:
    """
    Return a frame rate as the fraction that was meant (29.97003 is 30000 / 1001).

    Raises
    ------
    SourceError
        The rate is not a number above 0.

    """
    if not 0 < fps < 1e6:  # also false for NaN
        raise SourceError(f'frames per second must be above 0, got {fps}')
    return Fraction(fps).limit_denominator(1001)
