# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A camera at rest: its images say so, and its pose is then still.

The network's pose of a camera that stands still trembles a little. Images are compared with the
one at which the rest began, not with the one before, so that a slow motion adds up and ends it.
"""

from __future__ import annotations

from torch import Tensor

REST_MOTION = 0.002
"""Apparent motion below this is rest, fraction of the image width. Sensor noise and running motors
reach 0.0015 (EuRoC V1_01, standing); the slowest of the moving test sequences begins at 0.0047."""

REST_FRAMES = 3
"""So many frames in a row begin a rest, so that a slow motion is not cut into steps."""


class Rest:
    """
    Decides whether the camera rests; knows a reference image and numbers.

    Attributes
    ----------
    reference : Tensor of float32, shape [h, w], or None
        `thumbnail` of the frame at which a rest began, or of the last one that moved.

    """

    def __init__(self) -> None:
        self.reference: Tensor | None = None
        self._still = 0

    def start(self, thumbnail: Tensor) -> None:
        """Begin with a first frame: until something moves, the camera rests."""
        self.reference, self._still = thumbnail, REST_FRAMES

    def update(self, motion: float, thumbnail: Tensor) -> bool:
        """
        Take a frame.

        Parameters
        ----------
        motion : float
            `apparent_motion` since the reference.
        thumbnail : Tensor
            Of the frame.

        Returns
        -------
        bool
            Whether the camera rests.

        """
        if motion < REST_MOTION:  # false for NaN
            self._still += 1
            return self._still >= REST_FRAMES
        self.reference, self._still = thumbnail, 0
        return False

    def state(self) -> dict[str, object]:
        """Return all that `restore` needs."""
        return {'reference': self.reference, 'still': self._still}

    def restore(self, reference: Tensor | None, still: int) -> None:
        """Go on from what `state` returned."""
        self.reference, self._still = reference, still
