# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Segments that follow each other, and what is remembered from one to the next.

A segment is a run of frames on one cache. When its cache is nearly used up, its last keyframes go
through the network again as anchors of the next segment, aside and in slices; where both agree is
a Sim(3). The first anchors, when they are chosen by motion, come about in the same way: until they
are complete, a provisional segment answers.
"""

from __future__ import annotations

import logging
from typing import Any

from lingbot_ros.checks import require
from lingbot_ros.config import StreamConfig
from lingbot_ros.geometry.similarity import Similarity
from lingbot_ros.streaming.anchor_pass import slices_of
from lingbot_ros.streaming.anchors import AnchorChoice
from lingbot_ros.streaming.cached_stream import CachedStream, RawOutput
from lingbot_ros.streaming.keyframes import KeyframePolicy, KeyView
from lingbot_ros.streaming.measures import FrameMeasures
from lingbot_ros.streaming.photometric import local_contrast
from lingbot_ros.streaming.published import Pose, Published
from lingbot_ros.streaming.pushed import Pushed
from lingbot_ros.streaming.stitching import JoinReport, restart_report, sampled, Sight
from lingbot_ros.streaming.succession import Joined, Succession

logger = logging.getLogger(__name__)


def lead_frames(config: StreamConfig, blocks: int) -> int:
    """
    Frames from the decision that a segment ends to its end.

    Parameters
    ----------
    config : StreamConfig
        Says how many anchors follow.
    blocks : int
        Aggregator blocks of the network.

    Returns
    -------
    int
        Every slice, the fit and the change over take a frame, and each may be a keyframe.

    """
    return slices_of(blocks, config.most_anchors) + 2 if config.hands_over else 0


def require_room(config: StreamConfig, blocks: int) -> None:
    """
    Raise ConfigError if a segment would be used up before the next one is ready.

    Parameters
    ----------
    config : StreamConfig
        Settings.
    blocks : int
        Aggregator blocks of the network.

    Raises
    ------
    ConfigError
        Saying how long a segment must be.

    """
    lead = lead_frames(config, blocks)
    least = config.most_anchors + lead + 1
    require(config.segments is None or config.kept_frames >= least,
            f'segment_keyframes must be at least {least} for this network (anchors, and {lead} '
            'frames that may come while the next segment is prepared), got '
            f'{config.kept_frames}')


class Segments:
    """
    The segment in service, the one that is prepared, and how they are counted.

    Parameters
    ----------
    stream : CachedStream
        Caches and network.
    config : StreamConfig
        Settings.
    published : Published
        Told when another segment serves.
    measures : FrameMeasures
        Told of each keyframe.

    Attributes
    ----------
    policy : KeyframePolicy
        Decides about frames after the anchors.
    succession : Succession
        The next segment.
    number : int
        Segment in service, from 0.
    keyframes : int
        Frames kept in all segments.
    initialising : bool
        Whether the first anchors are incomplete and poses provisional.
    joins, bad_joins : int
        Changes of segment, and those not to be trusted.
    last_join : JoinReport or None
        The last one.

    """

    def __init__(self, stream: CachedStream, config: StreamConfig, published: Published,
                 measures: FrameMeasures) -> None:
        self._stream = stream
        self._config = config
        self._published = published
        self._measures = measures
        self._lead = lead_frames(config, stream.blocks)
        self._anchors = AnchorChoice(config)
        self.policy = KeyframePolicy(config)
        self.succession = Succession(stream, config.most_anchors)
        self.number = 0
        self.keyframes = 0
        self.initialising = False
        self.joins = 0
        self.bad_joins = 0
        self.last_join: JoinReport | None = None

    @property
    def scale(self) -> float:
        """Unit of the segment in service in published units."""
        return self._published.world.scale

    @property
    def full(self) -> bool:
        """Whether the segment has no room, and another one will follow."""
        return (self._config.segments is not None
                and self._stream.kept >= self._config.kept_frames)

    def start_anchors(self, frames: int) -> None:
        """Count the anchors that the segment begins with; more may have to be chosen by motion."""
        config = self._config
        by_motion = config.anchors.policy == 'motion' or (
            frames == 1 and config.hands_over and config.measures_motion)
        self.initialising = by_motion and config.anchor_frames > frames
        self._anchors.start()

    def worth_keeping(self, motion: float, stamp_ns: int) -> bool:
        """Decide about a transient from its motion since the last keyframe."""
        if self.initialising:
            return self.succession.idle and self._anchors.offer(motion, stamp_ns)
        return self.policy.after(motion, self._stream.kept)

    def remember(self, frame: Pushed, raw: RawOutput, row: int, steady: Pose) -> None:
        """
        Count a keyframe, and keep what later frames and the next segment need of it.

        Parameters
        ----------
        frame : Pushed
            That was kept.
        raw : RawOutput
            Of the segment in service.
        row : int
            Of the frame in it.
        steady : ndarray of float64, shape [4, 4]
            Its pose in the published world.

        """
        self.keyframes += 1
        if raw.depth is None or raw.depth_confidence is None:
            return
        config = self._config
        contrast = local_contrast(frame.pixels) if config.tracking else None
        if config.measures_motion:
            self._measures.compare_with(raw.device_encoding[row], raw.depth[row], contrast)
        if config.hands_over:
            depth, confidence = sampled(raw.depth[row], raw.depth_confidence[row])
            self.succession.remember(KeyView(frame.patches, Sight(
                steady, depth * self.scale, confidence), contrast))

    def prepare_next(self, frame: Pushed, lost: bool = False) -> None:
        """
        Do one slice of the work for the next segment, when it is time.

        Parameters
        ----------
        frame : Pushed
            The newest frame.
        lost : bool
            Whether the next segment is to find the camera again.

        """
        config, succession = self._config, self.succession
        if not succession.idle:
            kind = 'relocalised' if lost else 'anchors' if self.initialising else 'segment'
            succession.work(kind, self.number + 1, frame.index, frame.stamp_ns, self.scale)
        elif lost or (self.initialising and self._anchors.complete(frame.stamp_ns)):
            succession.begin(config.most_anchors)
        elif (config.segments is not None and not self.initialising
              and self._stream.kept + self._lead >= config.kept_frames):
            succession.begin(config.segments.overlap)

    def enter(self, joined: Joined) -> None:
        """Put the prepared segment into service; `report` it once it answers."""
        self.succession.change_over()
        self._published.change_world(joined.world)
        self._measures.compare_with(joined.last_encoding, joined.last_depth,
                                    joined.views[-1].contrast)
        self.initialising = False

    def enter_anew(self, frame: Pushed, raw: RawOutput, pose: Pose, reason: str) -> None:
        """
        Begin a segment that shares nothing with the one before, at the last published pose.

        Parameters
        ----------
        frame : Pushed
            Its only anchor yet, committed.
        raw : RawOutput
            Of it.
        pose : ndarray of float64, shape [4, 4]
            Its pose in the new segment's world.
        reason : str
            Why the segment before was lost.

        """
        published = self._published
        if self.keyframes:
            self.report(restart_report(self.number + 1, frame.index, frame.stamp_ns, self.scale,
                                       reason))
        else:
            published.pose = pose  # nothing was published but that nothing was seen
        published.change_world(Similarity.from_poses(published.pose, pose, self.scale))
        self.start_anchors(1)
        self.remember(frame, raw, 0, published.pose)

    def report(self, report: JoinReport) -> None:
        """Count a change of segment, and say how good it is."""
        self.number = report.segment
        self.joins += 1
        self.bad_joins += bool(report.bad)
        self.last_join = report
        (logger.warning if report.bad else logger.info)('join: %s', report.summary)

    def state(self) -> dict[str, Any]:
        """Return all that `restore` needs."""
        join = self.last_join
        return {'anchors': self._anchors.state(), 'gap': self.policy.gap,
                'succession': self.succession.state(), 'number': self.number,
                'keyframes': self.keyframes, 'initialising': self.initialising,
                'joins': self.joins, 'bad_joins': self.bad_joins,
                'last_join': None if join is None else vars(join)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""
        self._anchors.restore(**state['anchors'])
        self.policy.gap = state['gap']
        self.succession.restore(state['succession'])
        self.number, self.keyframes = state['number'], state['keyframes']
        self.initialising = state['initialising']
        self.joins, self.bad_joins = state['joins'], state['bad_joins']
        join = state['last_join']
        self.last_join = None if join is None else JoinReport(**join)
