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
from typing import Any

from lingbot_ros.errors import NonFinitePoseError
from lingbot_ros.geometry.pose_encoding import decode_pose
from lingbot_ros.geometry.similarity import Similarity
from lingbot_ros.streaming.cached_stream import CachedStream
from lingbot_ros.streaming.keyframes import KeyView
from lingbot_ros.streaming.stitching import join, JoinReport, sampled, Sight
import torch
from torch import Tensor

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
    last_encoding : Tensor of float32, shape [9]
        Pose encoding of the last of them, in its world.
    last_depth : Tensor of float32, shape [H, W]
        Its depth.

    """

    world: Similarity
    report: JoinReport
    views: list[KeyView]
    last_encoding: Tensor
    last_depth: Tensor


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
                                        sight.confidence), view.contrast)
            for view, sight in zip(self._views, new, strict=True)],
            anchors.device_poses[-1], anchors.depths[-1])

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

    def state(self) -> dict[str, Any]:
        """Return all that `restore` needs; the anchor pass itself is the stream's."""
        joined = self.joined
        return {
            'ring': [_view_state(view) for view in self._ring],
            'views': [_view_state(view) for view in self._views],
            'joined': None if joined is None else {
                'world': [joined.world.scale, joined.world.rotation, joined.world.translation],
                'report': vars(joined.report),
                'views': [_view_state(view) for view in joined.views],
                'last': [joined.last_encoding, joined.last_depth]}}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""
        self._ring.clear()
        self._ring.extend(_view(view) for view in state['ring'])
        self._views = [_view(view) for view in state['views']]
        joined = state['joined']
        self.joined = None if joined is None else Joined(
            Similarity(*joined['world']), JoinReport(**joined['report']),
            [_view(view) for view in joined['views']], *joined['last'])


def _view_state(view: KeyView) -> list[Any]:
    sight = view.sight
    return [view.patches, sight.pose, sight.depth, sight.confidence, view.contrast]


def _view(state: list[Any]) -> KeyView:
    patches, pose, depth, confidence, contrast = state
    return KeyView(patches, Sight(pose, depth, confidence), contrast)
