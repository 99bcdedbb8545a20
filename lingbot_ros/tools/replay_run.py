# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The loop of `lingbot_ros replay`: frames in, lines of a TUM file out.

Knows a session by what it calls on it, so tests run it with one that needs no network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
import logging
import time
from typing import Protocol

from lingbot_ros.errors import CacheFullError, ImageError, NonFinitePoseError, ShapeError
from lingbot_ros.records import Frame, PoseEstimate, TrackingState
from lingbot_ros.sources.base import Source
from lingbot_ros.streaming.trajectory import Trajectory, tum_line
import numpy as np
from numpy.typing import NDArray

_log = logging.getLogger(__name__)

_REFUSALS_LOGGED = 5


class Output(Protocol):
    """Where the lines of the trajectory go, one by one as they come."""

    def write(self, text: str, /) -> object:
        """Append a line."""


class Session(Protocol):
    """What a replay needs of a stream session."""

    def push(self, image: NDArray[np.uint8], stamp_ns: int) -> list[PoseEstimate]:
        """Take a frame, return the estimates that became known."""

    def flush(self) -> list[PoseEstimate]:
        """Return the estimates of anchors that still wait at the end of the input."""

    @property
    def keyframes(self) -> int:
        """Frames kept in the cache."""


@dataclass(frozen=True)
class Selection:
    """
    Which frames of a source are used.

    Attributes
    ----------
    stride : int
        Every stride-th frame, counted from `start_s`.
    start_s : float
        Seconds after the stamp of the first frame.
    duration_s : float or None
        Seconds from `start_s` on; the first frame at or after that ends the replay.
    max_frames : int or None
        Most frames that are used.

    """

    stride: int = 1
    start_s: float = 0.0
    duration_s: float | None = None
    max_frames: int | None = None


@dataclass
class Replay:
    """
    What a replay has done so far.

    Attributes
    ----------
    trajectory : Trajectory
        Poses in the order in which they became known.
    read, used, refused : int
        Frames decoded, handed to the session, and refused by it.
    lost : int
        Frames whose pose the session did not believe; they are not written.
    keyframes : int
        Frames the session keeps in its cache.
    seconds : float
        Time of the loop, reading included.
    stopped : str
        Why it ended before the end of the source; empty when it did not.
    interrupted : bool
        Whether a person or the system asked it to stop.

    """

    trajectory: Trajectory = field(default_factory=Trajectory)
    read: int = 0
    used: int = 0
    refused: int = 0
    lost: int = 0
    keyframes: int = 0
    seconds: float = 0.0
    stopped: str = ''
    interrupted: bool = False


def select(source: Source, selection: Selection, state: Replay) -> Iterator[Frame]:
    """Yield the selected frames of a source in its order, counting all that were decoded."""
    first_ns: int | None = None
    inside = taken = 0
    if selection.max_frames == 0:
        return
    for frame in source:
        state.read += 1
        first_ns = frame.stamp_ns if first_ns is None else first_ns
        after_ns = frame.stamp_ns - first_ns - round(selection.start_s * 1e9)
        if after_ns < 0:
            continue
        if selection.duration_s is not None and after_ns >= round(selection.duration_s * 1e9):
            return
        inside += 1
        if (inside - 1) % selection.stride == 0:
            yield frame
            taken += 1
            if taken == selection.max_frames:
                return


def run_replay(
    source: Source,
    session: Session,
    output: Output,
    selection: Selection,
    should_stop: Callable[[], bool] = lambda: False,
    on_frame: Callable[[Replay], None] = lambda state: None,
) -> Replay:
    """
    Push the frames of a source through a session and write each pose as soon as it is known.

    Parameters
    ----------
    source : Source
        Where the frames come from.
    session : Session
        A fresh one.
    output : Output
        Gets one TUM line a pose, as soon as it is known.
    selection : Selection
        Which frames to use.
    should_stop : callable
        Asked before each frame.
    on_frame : callable
        Told the state after each frame.

    Returns
    -------
    Replay
        What was done. Frames that the session refuses (another size, a non-finite answer) are
        counted and logged; a full cache ends the replay with the reason in `stopped`.

    Raises
    ------
    SourceError
        Not one frame could be decoded.

    """
    state = Replay()
    begin = time.perf_counter()

    def keep(estimates: list[PoseEstimate]) -> None:
        for estimate in estimates:
            if estimate.tracking is not None and estimate.tracking.state is TrackingState.LOST:
                state.lost += 1
                continue
            state.trajectory.append(estimate.stamp_ns, estimate.T_world_camera)
            output.write(tum_line(estimate.stamp_ns, estimate.T_world_camera) + '\n')
        state.keyframes = session.keyframes
        state.seconds = time.perf_counter() - begin

    def attempt(step: Callable[[], list[PoseEstimate]], what: str) -> None:
        try:
            keep(step())
        except (ShapeError, ImageError, NonFinitePoseError) as error:
            state.refused += 1
            if state.refused <= _REFUSALS_LOGGED:
                _log.warning('%s refused: %s', what, error)

    try:
        for frame in select(source, selection, state):
            if should_stop():
                state.interrupted, state.stopped = True, 'interrupted'
                break
            state.used += 1
            attempt(lambda frame=frame: session.push(  # type: ignore[misc]
                frame.image, frame.stamp_ns), f'frame {state.used}')
            on_frame(state)
        else:
            attempt(session.flush, 'end of input')
    except CacheFullError as error:
        state.stopped = str(error)
    if state.refused > _REFUSALS_LOGGED:
        _log.warning('%d frames refused in all', state.refused)
    state.seconds = time.perf_counter() - begin
    return state
