# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Anchors by motion: the frames that will fix origin and scale, gathered while poses are provisional.

A robot that starts at rest shows the same view again and again, and eight copies of one view tell
no scale. The first frame is an anchor; each further one has moved since the one before.
"""

from __future__ import annotations

import math

from lingbot_ros.config import StreamConfig


class AnchorChoice:
    """
    Decides which frames become anchors, and when they are complete; knows numbers only.

    Parameters
    ----------
    config : StreamConfig
        Number of anchors, motion between them, and how long to wait.

    """

    def __init__(self, config: StreamConfig) -> None:
        self._settings = config.anchors
        self._wanted = config.anchor_frames
        self._chosen = 0
        self._since_ns = 0

    def start(self) -> None:
        """Begin with a first frame, which is always an anchor."""
        self._chosen = 1

    def offer(self, motion: float, stamp_ns: int) -> bool:
        """
        Decide about a frame.

        Parameters
        ----------
        motion : float
            Since the last anchor, fraction of the image width.
        stamp_ns : int
            Its stamp, nanoseconds.

        Returns
        -------
        bool
            Whether it is an anchor.

        """
        if (self._chosen >= self._wanted or not math.isfinite(motion)
                or motion < self._settings.motion):
            return False
        self._chosen += 1
        if self._chosen == 2:
            self._since_ns = stamp_ns
        return True

    def complete(self, stamp_ns: int) -> bool:
        """
        Whether the anchors are all there, or the wait is over.

        Parameters
        ----------
        stamp_ns : int
            Stamp of the newest frame, nanoseconds.

        Returns
        -------
        bool
            Never while the camera has not moved.

        """
        # Stamps that jump back must not keep the anchors waiting.
        self._since_ns = min(self._since_ns, stamp_ns)
        waited_s = (stamp_ns - self._since_ns) / 1e9
        return self._chosen >= self._wanted or (
            self._chosen > 1 and waited_s >= self._settings.wait_s)

    def state(self) -> dict[str, object]:
        """Return all that `restore` needs."""
        return {'chosen': self._chosen, 'since_ns': self._since_ns}

    def restore(self, chosen: int, since_ns: int) -> None:
        """Go on from what `state` returned."""
        self._chosen, self._since_ns = chosen, since_ns
