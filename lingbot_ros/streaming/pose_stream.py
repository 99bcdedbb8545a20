# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Frames in, estimates in one world out, for as long as frames come.

Each frame runs, is judged, is kept or not, and is published. At the end of a segment one frame is
answered by both segments and the stream changes over. A stream that is lost looks for its last
keyframes, and else starts anew at the last pose that was believed.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any

from lingbot_ros.cache.spec import FrameKind
from lingbot_ros.config import StreamConfig
from lingbot_ros.errors import NonFinitePoseError
from lingbot_ros.geometry.pose_encoding import decode_pose
from lingbot_ros.records import PoseEstimate, Tracking, TrackingState
from lingbot_ros.streaming.cached_stream import CachedStream, RawOutput
from lingbot_ros.streaming.estimates import Estimates
from lingbot_ros.streaming.judgement import Judge
from lingbot_ros.streaming.measures import FrameMeasures
from lingbot_ros.streaming.published import Placed, Pose, Published
from lingbot_ros.streaming.pushed import Pushed
from lingbot_ros.streaming.segments import Segments
from lingbot_ros.streaming.succession import Joined
import numpy as np
import torch

# Less believed poses are kept out of the cache. Not all that are degraded are: a stream whose last
# keyframe is out of sight, or that recovers, needs new ones.
_LEAST_KEPT_SCORE = 0.4


class PoseStream:
    """
    Poses of one world.

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
    segments : Segments
        The segment in service and the next one.
    tracking : Tracking or None
        Of the last frame; None where poses are not judged.

    """

    def __init__(self, stream: CachedStream, config: StreamConfig) -> None:
        self.stream = stream
        self._config = config
        self._published = Published()
        self._judge = Judge(config.tracking) if config.tracking else None
        self._measures = FrameMeasures(self._published, self._judge)
        self._estimates = Estimates(stream.size, config.depth, config.covariance)
        self.segments = Segments(stream, config, self._published, self._measures)
        self.tracking: Tracking | None = None
        self._later = 0
        self._searching = False

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
        segments = self.segments
        if self._judge is not None:
            verdict = self._judge.start(frames[-1].pixels)
            if len(frames) == 1 and not verdict.usable:
                self.stream.discard()
                self.tracking = Tracking(TrackingState.LOST, 0.0, verdict.reason)
                return [self._lost(frames[0], raw)]
        self.stream.commit()
        segments.start_anchors(len(frames))
        for row, frame in enumerate(frames):
            segments.remember(frame, raw, row, poses[row])
        self._published.start(poses[-1], frames[-1].thumbnail)
        if self._judge is not None:
            self.tracking = Tracking(TrackingState.INITIALISING if segments.initialising
                                     else TrackingState.TRACKING, 1.0)
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
            If its pose is none and poses are not judged; the frame is dropped as if never pushed.
        CacheFullError
            If it is to be kept, no room is left and no segment follows.

        """
        stream, segments, measures = self.stream, self.segments, self._measures
        if not stream.kept:
            return self._start_anew(frame, unseen=True)
        joined = segments.succession.joined
        kind: FrameKind = 'transient'
        if not (joined or segments.full or segments.initialising):
            kind = segments.policy.before(self._later)
        raw = stream.run(frame.patches[None], kind,
                         measures.of(frame) if self._config.measures_motion else None)
        pose, measured = self._pose_of(raw), measures.read(raw)
        placed = None if pose is None else self._published.place(
            pose, measured.apparent, frame.thumbnail)
        self._later += 1
        if self._judge is not None:
            self.tracking = self._judge.judge(
                measured.numbers, frame.pixels, frame.stamp_ns,
                None if placed is None else placed.published, segments.initialising,
                measured.depth)
            if placed is None or self.tracking.state is TrackingState.LOST:
                stream.discard()
                segments.policy.count(False)
                return self._recover(frame, raw, pose is not None)
        assert placed is not None
        if self._searching:
            self._searching = False
            segments.succession.drop()
            joined = None
        keep = kind == 'keyframe'
        if (kind == 'transient' and not (joined or placed.resting) and self._believed
                and segments.worth_keeping(measured.motion, frame.stamp_ns)):
            keep = True
            stream.promote()
        stream.commit()
        segments.policy.count(keep)
        return self._publish(frame, raw, placed, keep, joined, measured.depth)

    @property
    def _believed(self) -> bool:
        """Whether the last frame may be kept; without depth or judge no motion is known."""
        if not self._config.measures_motion:
            return False
        return self.tracking is None or self.tracking.score >= _LEAST_KEPT_SCORE

    def _pose_of(self, raw: RawOutput) -> Pose | None:
        try:
            return decode_pose(raw.pose_encoding[0])
        except NonFinitePoseError:
            if self._judge is None:
                raise
            return None

    def _publish(self, frame: Pushed, raw: RawOutput, placed: Placed, keep: bool,
                 joined: Joined | None, depth: float) -> PoseEstimate:
        self._published.publish(placed)
        if keep:
            self.segments.remember(frame, raw, 0, placed.steady)
        estimate = self._estimate(frame, raw, 0, placed.published,
                                  'keyframe' if keep or joined else 'transient', depth)
        if joined is not None:
            self._change_over(frame, joined)
        elif self._config.hands_over:
            self.segments.prepare_next(frame)
        return estimate

    def _change_over(self, frame: Pushed, joined: Joined) -> None:
        """Go on with the next segment; the frame, which is published already, is its keyframe."""
        self.segments.enter(joined)
        self._count(joined)
        raw = self.stream.run(frame.patches[None], 'keyframe')
        pose = self._pose_of(raw)
        if pose is None:
            self.stream.discard()
            return
        self.stream.commit()
        steady = self._published.world.pose(pose)
        self.segments.remember(frame, raw, 0, steady)
        self.segments.policy.count(True)
        self._published.meet(steady)

    def _count(self, joined: Joined) -> None:
        self.segments.report(joined.report)
        fit = joined.report
        # Ratios of one frame err together: as many samples as frames.
        self._estimates.uncertainty.joined(
            float(np.radians(fit.rotation_deg)), fit.translation,
            fit.scale_spread / fit.shared_frames**0.5)

    def _recover(self, frame: Pushed, raw: RawOutput, has_pose: bool) -> PoseEstimate:
        """Answer a lost frame; after several, look for the last keyframes, then start anew."""
        assert self._judge is not None
        succession = self.segments.succession
        # A network that gives no pose would give none to a new segment either.
        if not (self._judge.restart_due and has_pose):
            return self._lost(frame, raw)
        if not self._searching and succession.remembered > 1:
            self._searching = True
            succession.drop()
        elif not self._searching or succession.idle:
            return self._start_anew(frame)
        if succession.joined is not None:
            return self._relocalise(frame, succession.joined) or self._start_anew(frame)
        self.segments.prepare_next(frame, lost=True)
        return self._lost(frame, raw)

    def _relocalise(self, frame: Pushed, joined: Joined) -> PoseEstimate | None:
        """Go on from the last keyframes, if they show what the frame shows."""
        assert self._judge is not None
        self.segments.enter(joined)
        raw = self.stream.run(frame.patches[None], 'transient', self._measures.of(frame))
        pose = self._pose_of(raw)
        if pose is None or not self._judge.recognises(self._measures.read(raw).numbers):
            self.stream.discard()
            return None
        self.stream.promote()
        self.stream.commit()
        self._count(joined)
        steady = self._published.world.pose(pose)
        self.segments.remember(frame, raw, 0, steady)
        return self._resume(frame, raw, steady, 'keyframe', 'found by the last keyframes')

    def _start_anew(self, frame: Pushed, unseen: bool = False) -> PoseEstimate:
        """Begin a segment with a frame, judged or unseen, at the last pose that was believed."""
        assert self._judge is not None
        first = not self.segments.keyframes
        self.stream.reset()
        self.segments.succession.clear()
        raw = self.stream.run(frame.patches[None], 'anchor')
        pose = self._pose_of(raw)
        verdict = self._judge.start(frame.pixels) if unseen else None
        if pose is None or (verdict is not None and not verdict.usable):
            self.stream.discard()
            if verdict is not None:
                self.tracking = Tracking(TrackingState.LOST, 0.0,
                                         verdict.reason or 'pose not finite')
            return self._lost(frame, raw)
        self.stream.commit()
        if not first:
            self._estimates.uncertainty.restarted()
        self.segments.enter_anew(frame, raw, pose, self.tracking.reason if self.tracking else '')
        return self._resume(frame, raw, self._published.pose, 'anchor',
                            'the first image to see anything' if first
                            else 'started anew at the last good pose')

    def _resume(self, frame: Pushed, raw: RawOutput, pose: Pose, kind: str,
                reason: str) -> PoseEstimate:
        """Publish the first frame after the stream was lost."""
        assert self._judge is not None
        self._searching = False
        self._judge.restarted(frame.pixels)
        self.segments.policy.count(True)
        self._published.start(pose, frame.thumbnail)
        self.tracking = Tracking(TrackingState.DEGRADED, 0.5, reason)
        return self._estimate(frame, raw, 0, pose, kind)

    def _lost(self, frame: Pushed, raw: RawOutput) -> PoseEstimate:
        return self._estimates.lost(frame, raw, self._published.pose, self.segments.number,
                                    self.tracking)

    def _estimate(self, frame: Pushed, raw: RawOutput, row: int, published: Pose,
                  kind: str, depth: float = math.nan) -> PoseEstimate:
        return self._estimates.of(frame, raw, row, published, kind, self.segments.number,
                                  self.segments.scale, self.tracking, depth)

    def state(self) -> dict[str, Any]:
        """Return all that `restore` needs."""
        tracking = self.tracking
        return {
            'caches': self.stream.state(), 'segments': self.segments.state(),
            'published': self._published.state(), 'measures': self._measures.state(),
            'judge': None if self._judge is None else self._judge.state(),
            'tracking': None if tracking is None else [
                tracking.state.value, tracking.score, tracking.reason],
            'K': self._estimates.K, 'uncertainty': self._estimates.uncertainty.state(),
            'later': self._later, 'searching': self._searching}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""
        self.stream.restore(state['caches'])
        self.segments.restore(state['segments'])
        self._published.restore(state['published'])
        self._measures.restore(**state['measures'])
        if self._judge is not None:
            self._judge.restore(state['judge'])
        tracking = state['tracking']
        self.tracking = None if tracking is None else Tracking(
            TrackingState(tracking[0]), *tracking[1:])
        self._estimates.K = state['K']
        self._estimates.uncertainty.restore(**state['uncertainty'])
        self._later, self._searching = state['later'], state['searching']
