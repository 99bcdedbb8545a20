# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A stream over successive segments: frames in, estimates in one world out.

A segment is a run of frames on one cache. When its cache is nearly used up, its last keyframes go
through the network again as anchors of the next segment, aside and in slices. The frame at which
that is ready is answered by both segments; where they agree is a Sim(3), and the stream changes
over. The first anchors, when they are chosen by motion, come about in the same way: until they are
complete, a provisional segment answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
import logging

from lingbot_ros.cache.spec import FrameKind
from lingbot_ros.config import require, StreamConfig
from lingbot_ros.errors import NonFinitePoseError
from lingbot_ros.geometry.pose_encoding import decode_intrinsics, decode_pose
from lingbot_ros.geometry.similarity import Similarity
from lingbot_ros.records import PoseEstimate, Tracking
from lingbot_ros.streaming.anchors import AnchorChoice
from lingbot_ros.streaming.cached_stream import CachedStream, Measure, RawOutput
from lingbot_ros.streaming.continuity import Continuity
from lingbot_ros.streaming.keyframes import KeyframePolicy, KeyView
from lingbot_ros.streaming.motion import apparent_motion, MotionReference, thumbnail
from lingbot_ros.streaming.rest import Rest
from lingbot_ros.streaming.stitching import JoinReport, Pose, sampled, Sight
from lingbot_ros.streaming.succession import Joined, Succession
import torch
from torch import Tensor

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Pushed:
    """
    A frame that has been encoded.

    Attributes
    ----------
    patches : Tensor, shape [patches, width]
        Patch tokens.
    pixels : Tensor of float32, shape [3, H, W]
        The network's input.
    stamp_ns, index : int
        Its stamp, and its number since the reset.

    """

    patches: Tensor
    pixels: Tensor
    stamp_ns: int
    index: int


class SegmentedStream:
    """
    Poses of one world from segments that follow each other.

    Parameters
    ----------
    stream : CachedStream
        Fresh.
    config : StreamConfig
        Settings.

    Attributes
    ----------
    stream : CachedStream
        Caches and network.
    segment : int
        Segment in service.
    initialising : bool
        Whether the first anchors are incomplete and poses provisional.
    keyframes : int
        Frames kept since the reset, in all segments.
    tracking : Tracking or None
        Of the last frame; None where poses are not judged.
    joins, bad_joins : int
        Joins since the reset, and those not to be trusted.
    last_join : JoinReport or None
        The last one.

    Raises
    ------
    ConfigError
        If a segment is too short for its anchors and the frames during which the next ones are
        prepared.

    """

    def __init__(self, stream: CachedStream, config: StreamConfig) -> None:
        self.stream = stream
        self._config = config
        self._lead = stream.next_slices + 2 if config.hands_over else 0
        least = config.most_anchors + self._lead + 1
        require(config.segments is None or config.kept_frames >= least,
                f'segment_keyframes must be at least {least} for this network (anchors, and '
                f'{self._lead} frames that may come while the next segment is prepared), got '
                f'{config.kept_frames}')
        self._policy = KeyframePolicy(config)
        self._anchors = AnchorChoice(config)
        self._continuity = Continuity()
        self._rest = Rest()
        self._succession = Succession(stream, config.most_anchors)
        self._reference: MotionReference | None = None
        self._world = Similarity.identity()
        self._published: Pose | None = None
        self._later = 0
        self.segment = 0
        self.initialising = False
        self.keyframes = 0
        self.tracking: Tracking | None = None
        self.joins = 0
        self.bad_joins = 0
        self.last_join: JoinReport | None = None

    @property
    def scale(self) -> float:
        """Unit of the segment in service in published units."""
        return self._world.scale

    def begin(self, frames: Sequence[Pushed]) -> list[PoseEstimate]:
        """
        Run the first frames, which are anchors.

        Parameters
        ----------
        frames : sequence of Pushed
            All anchors, or the first frame where anchors are chosen by motion.

        Returns
        -------
        list of PoseEstimate
            One a frame.

        Raises
        ------
        NonFinitePoseError
            If a pose is none; the frames are dropped.

        """
        raw = self.stream.run(torch.stack([frame.patches for frame in frames]), 'anchor')
        try:
            poses = [decode_pose(encoding) for encoding in raw.pose_encoding]
        except NonFinitePoseError:
            self.stream.discard()
            raise
        self.stream.commit()
        self.initialising = (self._config.anchors.policy == 'motion'
                             and self._config.anchor_frames > len(frames))
        self._anchors.start()
        for row, frame in enumerate(frames):
            self._remember(frame, raw, row, poses[row])
        self._rest.start(thumbnail(frames[-1].pixels))
        self._published = poses[-1]
        return [self._estimate(frame, raw, row, poses[row], 'anchor')
                for row, frame in enumerate(frames)]

    def step(self, frame: Pushed) -> PoseEstimate:
        """
        Run one frame after the anchors.

        Parameters
        ----------
        frame : Pushed
            The next one.

        Returns
        -------
        PoseEstimate

        Raises
        ------
        NonFinitePoseError
            If its pose is none; the frame is dropped as if never pushed.
        CacheFullError
            If it is to be kept, no room is left and no segment follows.

        """
        stream, config = self.stream, self._config
        joined = self._succession.joined
        full = config.segments is not None and stream.kept >= config.kept_frames
        kind: FrameKind = 'transient'
        if joined is None and not full and not self.initialising:
            kind = self._policy.before(self._later)
        measure = self._measure(frame) if config.measures_motion else None
        raw = stream.run(frame.patches[None], kind, measure)
        try:
            pose = decode_pose(raw.pose_encoding[0])
        except NonFinitePoseError:
            stream.discard()
            raise
        resting, keep = False, kind == 'keyframe'
        if measure is not None:
            motion, apparent = raw.measures.tolist()
            resting = self._rest.update(apparent, thumbnail(frame.pixels))
            keep = keep or not (joined or resting) and self._worth_keeping(motion, frame)
            if keep and kind == 'transient':
                stream.promote()
        steady = self._world.pose(pose)
        published = self._publish(steady, resting)
        stream.commit()
        self._policy.count(keep)
        self._later += 1
        self._published = published
        if keep:
            self._remember(frame, raw, 0, steady)
        estimate = self._estimate(frame, raw, 0, published, 'keyframe' if keep else 'transient')
        if joined is not None:
            self._hand_over(frame, joined, published)
            return replace(estimate, is_keyframe=True)
        if config.hands_over:
            self._prepare_next(frame)
        return estimate

    def _measure(self, frame: Pushed) -> Measure:
        reference, still = self._reference, self._rest.reference
        assert reference is not None and still is not None

        def measure(encodings: Tensor, _depth: Tensor, _confidence: Tensor) -> Tensor:
            return torch.stack((reference.motion(encodings[0]),
                                apparent_motion(thumbnail(frame.pixels), still)))

        return measure

    def _worth_keeping(self, motion: float, frame: Pushed) -> bool:
        if self.initialising:
            return self._succession.idle and self._anchors.offer(motion, frame.stamp_ns)
        return self._policy.after(motion, self.stream.kept)

    def _publish(self, steady: Pose, resting: bool) -> Pose:
        if not resting:
            return self._continuity.apply(steady)
        assert self._published is not None
        self._continuity.meet(steady, self._published)
        return self._published

    def _remember(self, frame: Pushed, raw: RawOutput, row: int, steady: Pose) -> None:
        """Count a keyframe, and keep what later frames and the next segment need of it."""
        self.keyframes += 1
        if raw.depth is None or raw.depth_confidence is None:
            return
        if self._config.measures_motion:
            self._reference = MotionReference.of(raw.device_encoding[row], raw.depth[row])
        if self._config.hands_over:
            depth, confidence = sampled(raw.depth[row], raw.depth_confidence[row])
            self._succession.remember(KeyView(frame.patches, Sight(
                steady, depth * self._world.scale, confidence)))

    def _prepare_next(self, frame: Pushed) -> None:
        """Do one slice of the work for the next segment, when it is time."""
        config, succession = self._config, self._succession
        if not succession.idle:
            succession.work('anchors' if self.initialising else 'segment', self.segment + 1,
                            frame.index, frame.stamp_ns, self._world.scale)
        elif self.initialising:
            if self._anchors.complete(frame.stamp_ns):
                succession.begin(config.most_anchors)
        elif config.segments is not None and self.stream.kept + self._lead >= config.kept_frames:
            succession.begin(config.segments.overlap)

    def _hand_over(self, frame: Pushed, joined: Joined, published: Pose) -> None:
        """Change over to the next segment; the frame is its first keyframe."""
        stream = self.stream
        self._succession.change_over()
        self._world, self.last_join = joined.world, joined.report
        self.segment += 1
        self.joins += 1
        self.bad_joins += bool(joined.report.bad)
        self.initialising = False
        (logger.warning if joined.report.bad else logger.info)('join: %s', joined.report)
        raw = stream.run(frame.patches[None], 'keyframe')
        try:
            steady = self._world.pose(decode_pose(raw.pose_encoding[0]))
        except NonFinitePoseError:
            stream.discard()
            raise
        stream.commit()
        self._remember(frame, raw, 0, steady)
        self._policy.count(True)
        # Both segments have answered for this frame: that of the old one is published.
        self._continuity.meet(steady, published)

    def _estimate(self, frame: Pushed, raw: RawOutput, row: int, published: Pose,
                  kind: str) -> PoseEstimate:
        depth = raw.depth[row] if raw.depth is not None and self._config.depth else None
        confidence = (raw.depth_confidence[row] if raw.depth_confidence is not None
                      and self._config.depth else None)
        scale = self._world.scale
        return PoseEstimate(
            frame_index=frame.index, stamp_ns=frame.stamp_ns, T_world_camera=published,
            K=decode_intrinsics(raw.pose_encoding[row], *self.stream.size),
            image_size=self.stream.size, is_anchor=kind == 'anchor',
            is_keyframe=kind != 'transient', pose_encoding=raw.pose_encoding[row],
            depth=depth if depth is None or scale == 1 else depth * scale,
            depth_confidence=confidence, segment=self.segment)
