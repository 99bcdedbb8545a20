# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Published poses without steps.

Two answers for the same frame differ a little: those of two segments at a join, or what the
network says of a camera that rests. `Continuity` spreads the difference over frames.
"""

from __future__ import annotations

from lingbot_ros.geometry.rigid import invert_transform, make_transform
from lingbot_ros.geometry.rotation import matrix_from_rotation_vector, rotation_vector
import numpy as np
from numpy.typing import NDArray

Pose = NDArray[np.float64]

FADE_FRAMES = 30
"""Published poses take so many frames to forget a step, a second of a usual camera."""


class Continuity:
    """
    Corrects poses so that they go on where the published ones were.

    A step is turned into a correction of the camera's own frame, which fades: far from the origin
    a correction of the world would swing the camera about.
    """

    def __init__(self) -> None:
        self._turn = np.zeros(3)
        self._shift = np.zeros(3)
        self._left = 0

    def meet(self, pose: Pose, published: Pose) -> None:
        """
        Correct so that `pose` is published as `published`, and fade from there.

        Parameters
        ----------
        pose, published : ndarray of float64, shape [4, 4]
            Finite.

        """
        step = invert_transform(pose) @ published
        self._turn, self._shift = rotation_vector(step[:3, :3]), step[:3, 3].copy()
        self._left = FADE_FRAMES

    def apply(self, pose: Pose) -> Pose:
        """
        Pose to publish for the next frame; `advance` when it is published.

        Parameters
        ----------
        pose : ndarray of float64, shape [4, 4]
            Uncorrected.

        Returns
        -------
        ndarray of float64, shape [4, 4]
            The same array where nothing is left to correct.

        """
        if not self._left:
            return pose
        part = (self._left - 1) / FADE_FRAMES
        return pose @ make_transform(
            matrix_from_rotation_vector(part * self._turn), part * self._shift)

    def advance(self) -> None:
        """Count a published frame."""
        self._left = max(0, self._left - 1)

    def clear(self) -> None:
        """Correct nothing any more."""
        self._left = 0

    def state(self) -> dict[str, object]:
        """Return all that `restore` needs."""
        return {'turn': self._turn, 'shift': self._shift, 'left': self._left}

    def restore(self, turn: Pose, shift: Pose, left: int) -> None:
        """Go on from what `state` returned."""
        self._turn, self._shift, self._left = turn, shift, left
