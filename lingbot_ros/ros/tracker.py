# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
One image stream to continuous poses in odom; no ROS import.

A session forgets everything at a reset and starts a world of its own. The tracker decides when to
reset (asked to, other image size, stamps that jump back, cache used up) and places the new world
so that its first pose is the last pose of the old one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, TYPE_CHECKING

from lingbot_ros.errors import CacheFullError, ImageError, NonFinitePoseError
from lingbot_ros.geometry.axes import T_ODOM_OPTICAL
from lingbot_ros.geometry.rigid import invert_transform
from lingbot_ros.records import PoseEstimate, TrackingState
from lingbot_ros.ros.transforms import body_twist, Matrix
from lingbot_ros.stream_parts import CovarianceModel
from lingbot_ros.streaming.covariance import (
    carry_covariance,
    restart_covariance,
    rotate_covariance,
)
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from lingbot_ros.streaming.snapshot import Snapshot

TIME_JUMP_NS = 500_000_000
"""A stamp older than the last one by more than this starts a new stream (a bag that loops)."""

SHORTEST_S = 1e-3
"""Stamps closer than this, seconds, say nothing of velocity: no camera is that fast."""


class Session(Protocol):
    """What the tracker needs of `lingbot_ros.StreamSession`."""

    def push(self, image: NDArray[np.uint8], stamp_ns: int) -> list[PoseEstimate]:
        """Take one frame; return the estimates that became known."""

    def set_window(self, window: int) -> None:
        """Change the window from the next frame on."""

    @property
    def window(self) -> int:
        """Window of the next frame."""

    def snapshot(self) -> Snapshot:
        """Counters and gauges; safe from any thread."""

    def reset(self, reason: str) -> None:
        """Forget the stream."""


@dataclass
class Counters:
    """What happened to the frames; `frames_in = processed + dropped + waiting`."""

    frames_in: int = 0
    processed: int = 0
    resets: int = 0
    last_reset_reason: str = ''
    dropped: dict[str, int] = field(default_factory=lambda: dict.fromkeys(
        ('busy', 'out_of_order', 'bad_image', 'non_finite', 'lost', 'reset', 'error'), 0))


@dataclass(frozen=True)
class TrackedPose:
    """
    One answer to publish.

    Attributes
    ----------
    header : object
        What was pushed with the frame.
    estimate : PoseEstimate
        Of the session.
    T_odom_camera : ndarray of float64, shape [4, 4]
        Camera (optical axes) to odom; scene units.
    seconds : float or None
        Since the pose before; None for the first of a stream, the first after a reset, and where
        two stamps are too close to tell a velocity.
    twist : ndarray of float64, shape [6]
        Linear and angular velocity in camera axes; zeros when `seconds` is None.
    covariance : ndarray of float64, shape [6, 6], or None
        Of the pose's error in odom axes, position then rotation; None where the session does not
        state one.
    poses_since_reset : int or None
        None while the stream never continued another one.
    original_size : tuple of int
        Height and width of the image as it came.

    """

    header: Any
    estimate: PoseEstimate
    T_odom_camera: Matrix
    seconds: float | None
    twist: Matrix
    covariance: Matrix | None
    poses_since_reset: int | None
    original_size: tuple[int, int]

    @property
    def lost(self) -> bool:
        """Whether the pose is only the last one that was believed."""
        tracking = self.estimate.tracking
        return tracking is not None and tracking.state is TrackingState.LOST


class Tracker:
    """
    Feeds a session and keeps the poses continuous.

    Parameters
    ----------
    session : Session
        Fresh.
    counters : Counters
        Counted into.

    """

    def __init__(self, session: Session, counters: Counters) -> None:
        self._session = session
        self._asked_window = session.window
        self._counters = counters
        self._waiting: dict[int, Any] = {}
        self._size: tuple[int, int] | None = None
        self._stamp_ns: int | None = None
        self._reset_reason = ''
        self._T_odom_world: Matrix | None = T_ODOM_OPTICAL
        self._last: tuple[int, Matrix] | None = None
        self._last_covariance: Matrix | None = None
        # Where the world of the session begins, and how uncertain that is.
        self._base: tuple[Matrix, Matrix] | None = None
        self._segment_poses = 0
        self._continues = False

    @property
    def waiting(self) -> int:
        """Frames the session holds without a pose yet (anchors that gather)."""
        return len(self._waiting)

    def request_reset(self, reason: str) -> None:
        """
        Drop the cache before the next frame; safe from any thread.

        Parameters
        ----------
        reason : str
            For the diagnostics.

        """
        self._reset_reason = reason

    def abandon(self, error: Exception) -> None:
        """
        Give up the frames the session holds after an unexpected error, and start anew.

        Parameters
        ----------
        error : Exception
            What the session raised.

        """
        self._drop_waiting('error')
        self.request_reset(f'{type(error).__name__}: {error}')

    def set_window(self, window: int) -> None:
        """
        Change the session's window from the next frame on, if it is another one.

        Parameters
        ----------
        window : int
            Keyframes.

        Raises
        ------
        LingbotError
            If the session refuses it; the old one stays, and it is not tried again.

        """
        if window != self._asked_window:
            self._asked_window = window
            self._session.set_window(window)

    def push(self, image: NDArray[np.uint8], stamp_ns: int, header: Any) -> list[TrackedPose]:
        """
        Take one frame.

        Parameters
        ----------
        image : ndarray of uint8, shape [H, W, 3]
            RGB.
        stamp_ns : int
            Its stamp.
        header : object
            Comes back with the frame's pose.

        Returns
        -------
        list of TrackedPose
            None, one, or all anchors at once; those of lost frames are not to be published as
            poses.

        Raises
        ------
        NonFinitePoseError
            If the network's output was refused; the frame is counted, the stream goes on.
        ImageError
            If the session cannot use an image of this shape; counted, the stream goes on.

        """
        size = (image.shape[0], image.shape[1])
        if self._stamp_ns is not None and stamp_ns <= self._stamp_ns:
            back_ns = self._stamp_ns - stamp_ns
            if back_ns <= TIME_JUMP_NS:
                self._counters.dropped['out_of_order'] += 1
                return []
            self.request_reset(f'stamps jumped back by {back_ns / 1e9:.3f} s')
        if self._size is not None and size != self._size:
            self.request_reset(f'image size changed from {self._size[1]}x{self._size[0]} to '
                               f'{size[1]}x{size[0]}')
        if self._reset_reason:
            reason, self._reset_reason = self._reset_reason, ''
            self._reset(reason)
        self._stamp_ns, self._size = stamp_ns, size
        self._waiting[stamp_ns] = header
        try:
            estimates = self._push_or_restart(image, stamp_ns)
        except NonFinitePoseError:
            self._drop_waiting('non_finite')
            raise
        except ImageError:
            del self._waiting[stamp_ns]
            self._counters.dropped['bad_image'] += 1
            raise
        return [self._place(estimate, size) for estimate in estimates]

    def _push_or_restart(self, image: NDArray[np.uint8], stamp_ns: int) -> list[PoseEstimate]:
        try:
            return self._session.push(image, stamp_ns)
        except CacheFullError as error:
            if not self._segment_poses:  # an empty cache is too large for the device
                raise
            header = self._waiting.pop(stamp_ns)
            self._reset(str(error))
            self._waiting[stamp_ns] = header
            return self._session.push(image, stamp_ns)

    def _place(self, estimate: PoseEstimate, size: tuple[int, int]) -> TrackedPose:
        T_world_camera = np.asarray(estimate.T_world_camera, dtype=np.float64)
        if self._T_odom_world is None:
            assert self._last is not None
            self._T_odom_world = self._last[1] @ invert_transform(T_world_camera)
        pose = self._T_odom_world @ T_world_camera
        seconds, twist = None, np.zeros(6)
        if self._segment_poses and self._last is not None:
            seconds = (estimate.stamp_ns - self._last[0]) / 1e9
            if seconds >= SHORTEST_S:
                twist = body_twist(self._last[1], pose, seconds)
            else:
                seconds = None
        covariance = estimate.covariance
        if covariance is not None:
            covariance = rotate_covariance(covariance, self._T_odom_world[:3, :3])
            if self._base is not None:
                covariance = carry_covariance(
                    self._base[1], pose[:3, 3] - self._base[0], covariance)
        tracked = TrackedPose(
            self._waiting.pop(estimate.stamp_ns), estimate, pose, seconds, twist, covariance,
            self._segment_poses if self._continues else None, size)
        if tracked.lost:
            # A velocity over the gap is known again at the next pose that is believed.
            self._counters.dropped['lost'] += 1
            return tracked
        self._last, self._last_covariance = (estimate.stamp_ns, pose), covariance
        self._segment_poses += 1
        self._counters.processed += 1
        return tracked

    def _reset(self, reason: str) -> None:
        self._drop_waiting('reset')
        self._session.reset(reason)
        self._counters.resets += 1
        self._counters.last_reset_reason = reason
        self._segment_poses = 0
        # Without any pose yet there is nothing to be continuous with.
        self._continues = self._last is not None
        if self._last is not None and self._last_covariance is not None:
            self._base = (self._last[1][:3, 3],
                          restart_covariance(self._last_covariance, CovarianceModel()))
        self._T_odom_world = None if self._continues else T_ODOM_OPTICAL

    def _drop_waiting(self, reason: str) -> None:
        self._counters.dropped[reason] += len(self._waiting)
        self._waiting.clear()
