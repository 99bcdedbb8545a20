# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The next segment, while the one in service goes on.

The last keyframes wait in a bounded ring. `begin` takes some of them as anchors, each call of
`work` does one slice, and when all is done `joined` says how the next segment lies in the
published world; `change_over` puts its caches into service.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
import logging

from lingbot_ros.errors import NonFinitePoseError
from lingbot_ros.geometry.pose_encoding import decode_pose
from lingbot_ros.geometry.similarity import Similarity
from lingbot_ros.streaming.cached_stream import CachedStream
from lingbot_ros.streaming.keyframes import KeyView
from lingbot_ros.streaming.stitching import join, JoinReport, sampled, Sight
import torch

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Joined:
    """
    The next segment, ready to change over to.

    Attributes
    ----------
    world : Similarity
        Its world to the published one.
    report : JoinReport
        How well they fit.
    views : list of KeyView
        Its anchors as it sees them.

    """

    world: Similarity
    report: JoinReport
    views: list[KeyView]


class Succession:
    """
    Prepares segments from the last keyframes.

    Parameters
    ----------
    stream : CachedStream
        Runs the anchors aside.
    most_anchors : int
        Keyframes that the ring holds.

    Attributes
    ----------
    joined : Joined or None
        What is ready.

    """

    def __init__(self, stream: CachedStream, most_anchors: int) -> None:
        self._stream = stream
        self._ring: deque[KeyView] = deque(maxlen=most_anchors)
        self._views: list[KeyView] = []
        self.joined: Joined | None = None

    @property
    def idle(self) -> bool:
        """Whether nothing is being prepared."""
        return self._stream.next is None

    @property
    def remembered(self) -> int:
        """Keyframes in the ring."""
        return len(self._ring)

    def remember(self, view: KeyView) -> None:
        """Put a keyframe into the ring; the oldest one makes room."""
        self._ring.append(view)

    def begin(self, anchors: int) -> None:
        """Begin with the newest `anchors` keyframes of the ring."""
        self._views = list(self._ring)[-anchors:]
        self._stream.begin_next(torch.stack([view.patches for view in self._views]))

    def work(self, kind: str, segment: int, frame_index: int, stamp_ns: int,
             scale_before: float) -> None:
        """
        Do one slice of what was begun.

        Parameters
        ----------
        kind, segment, frame_index, stamp_ns
            For the report; see `JoinReport`.
        scale_before : float
            Unit of the segment in service in published units.

        """
        anchors = self._stream.next
        assert anchors is not None
        if not anchors.done:
            anchors.advance()
            return
        if self.joined is not None:
            return
        try:
            new = [Sight(decode_pose(encoding), *sampled(depth, confidence))
                   for encoding, depth, confidence
                   in zip(anchors.poses, anchors.depths, anchors.confidences, strict=True)]
        except NonFinitePoseError as error:
            logger.warning('the next segment is prepared anew: %s', error)
            self.drop()
            return
        world, report = join([view.sight for view in self._views], new, kind, segment,
                             frame_index, stamp_ns, scale_before)
        self.joined = Joined(world, report, [
            KeyView(view.patches, Sight(world.pose(sight.pose), sight.depth * world.scale,
                                        sight.confidence))
            for view, sight in zip(self._views, new, strict=True)])

    def change_over(self) -> None:
        """Put what is ready into service; its anchors are the ring now."""
        assert self.joined is not None
        self._stream.hand_over()
        self._ring.clear()
        self._ring.extend(self.joined.views)
        self.drop()

    def drop(self) -> None:
        """Forget what was begun; the ring stays."""
        self._stream.next = None
        self._views = []
        self.joined = None

    def clear(self) -> None:
        """Forget everything."""
        self.drop()
        self._ring.clear()
