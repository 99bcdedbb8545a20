# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
From the world of the segment in service to what is published: one world, one unit, no steps.

A camera at rest is published at rest, a lost one where it was believed last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lingbot_ros.geometry.similarity import Similarity
from lingbot_ros.streaming.continuity import Continuity
from lingbot_ros.streaming.rest import Rest
import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Pose = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Placed:
    """
    One frame in the published world.

    Attributes
    ----------
    steady : ndarray of float64, shape [4, 4]
        Where the segment says the camera is.
    published : ndarray of float64, shape [4, 4]
        The same without a step to the frame before.
    resting : bool
        Whether the camera rests.

    """

    steady: Pose
    published: Pose
    resting: bool


class Published:
    """
    Places frames, one after the other.

    Attributes
    ----------
    world : Similarity
        World of the segment in service to the published one.
    pose : ndarray of float64, shape [4, 4]
        The last one published.

    """

    def __init__(self) -> None:
        self.world = Similarity.identity()
        self.pose: Pose = np.eye(4)
        self._continuity = Continuity()
        self._rest = Rest()

    @property
    def still_image(self) -> Tensor:
        """Small image that tells whether the camera rests."""
        assert self._rest.reference is not None
        return self._rest.reference

    def start(self, pose: Pose, thumbnail: Tensor) -> None:
        """
        Begin, or begin anew at another place, with a first frame.

        Parameters
        ----------
        pose : ndarray of float64, shape [4, 4]
            To publish for it.
        thumbnail : Tensor of float32, shape [h, w]
            Of its image; until something moves, the camera rests.

        """
        self.pose = pose
        self._continuity.clear()
        self._rest.start(thumbnail)

    def place(self, pose: Pose, apparent: float | None, thumbnail: Tensor) -> Placed:
        """
        Place a frame, without publishing it yet.

        Parameters
        ----------
        pose : ndarray of float64, shape [4, 4]
            Camera to the world of the segment in service.
        apparent : float or None
            `apparent_motion` to `still_image`; None where nobody asks whether the camera rests.
        thumbnail : Tensor of float32, shape [h, w]
            Of its image.

        Returns
        -------
        Placed

        """
        steady = self.world.pose(pose)
        if apparent is not None and self._rest.update(apparent, thumbnail):
            return Placed(steady, self.pose, True)
        return Placed(steady, self._continuity.apply(steady), False)

    def publish(self, placed: Placed) -> None:
        """Take a placed frame as published."""
        if placed.resting:
            # When the rest ends the pose goes on from here.
            self._continuity.meet(placed.steady, placed.published)
        else:
            self._continuity.advance()
        self.pose = placed.published

    def change_world(self, world: Similarity) -> None:
        """Serve with another segment; `meet` tells where it sees the last published frame."""
        self.world = world

    def meet(self, steady: Pose) -> None:
        """Go on from the last published pose, which the new segment sees at `steady`."""
        self._continuity.meet(steady, self.pose)

    def state(self) -> dict[str, Any]:
        """Return all that `restore` needs."""
        return {'world': [self.world.scale, self.world.rotation, self.world.translation],
                'pose': self.pose, 'continuity': self._continuity.state(),
                'rest': self._rest.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""
        self.world = Similarity(*state['world'])
        self.pose = state['pose']
        self._continuity.restore(**state['continuity'])
        self._rest.restore(**state['rest'])
