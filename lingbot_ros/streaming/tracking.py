# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Whether a pose is to be believed, and when to give up and start anew; numbers only.

Every check gives a score: 1 where nothing is unusual, 0.5 at its limit, 0 where the pose means
nothing. The worst one counts. A stream that was degraded or lost is tracking again only after
several good frames in a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
import math
from typing import Any

from lingbot_ros.geometry.rotation import rotation_angle
from lingbot_ros.records import Tracking, TrackingState
from lingbot_ros.stream_parts import TrackingConfig
from lingbot_ros.streaming.image_checks import ImageVerdict
from lingbot_ros.streaming.photometric import CHANCE, PhotometricCheck
from lingbot_ros.streaming.running import RunningMedian
import numpy as np
from numpy.typing import NDArray

Score = tuple[float, str]

_GOOD = 0.5
# Scores of faults that alone say neither that a pose is right nor that it is wrong.
_FROZEN = 0.3
_GAP = 0.4
_OUT_OF_SIGHT = 0.45
# A network whose poses do not predict images anyway is not lost where they do not.
_UNPROVEN = 0.45
_PROVEN_PART = 0.75
# Confidence that is noise where a network is never sure.
_CONFIDENCE_NOISE = 0.1
_BLURRED_LEAST = 0.2
# Stamps closer than this say nothing of speed: no camera is that fast.
_SHORTEST_S = 1e-3
_USUAL_INTERVAL_S = 1 / 30
_LEAST_OVERLAP = 0.1
# Poses of every network tremble, and none predicts an image exactly; how much is usual has to be
# seen before anything can be told.
_LEAST_KNOWN = 10


@dataclass(frozen=True, eq=False)
class Observation:
    """
    What is known of one frame.

    Attributes
    ----------
    stamp_ns : int
        Its stamp, nanoseconds.
    pose : ndarray of float64, shape [4, 4], or None
        Camera to the world that is published; None when the network's answer was no pose.
    image : ImageVerdict
        Of its image.
    confidence : float or None
        Mean depth confidence, at least 1; None without depth.
    photometric : PhotometricCheck or None
        Comparison with the last keyframe; None when there is none.
    provisional : bool
        Whether origin and scale are still being fixed.
    depth : float or None
        Typical depth; None where it was not measured.

    """

    stamp_ns: int
    pose: NDArray[np.float64] | None
    image: ImageVerdict
    confidence: float | None = None
    photometric: PhotometricCheck | None = None
    provisional: bool = False
    depth: float | None = None


class TrackingMonitor:
    """
    Judges the poses of one stream, frame by frame.

    Parameters
    ----------
    config : TrackingConfig
        The limits.

    """

    def __init__(self, config: TrackingConfig) -> None:
        self._config = config
        self._speed = RunningMedian(config.memory_frames)
        self._turn = RunningMedian(config.memory_frames)
        self._interval = RunningMedian(config.memory_frames)
        self._confidence = RunningMedian(config.memory_frames)
        self._residual = RunningMedian(config.memory_frames)
        self._velocity = np.zeros(3)
        self._stamp_ns: int | None = None
        self._good_pose: NDArray[np.float64] | None = None
        self._good_stamp_ns = 0
        self._lost = 0
        self._good = config.recover_frames
        self._restart_due = False
        self._proven = False

    @property
    def lost_in_a_row(self) -> int:
        """Lost frames since the stream was tracking."""
        return self._lost

    @property
    def restart_due(self) -> bool:
        """
        Whether to start anew with the last frame observed, which is lost as so many before it.

        Never with an image that shows nothing: that would only begin another lost stream.
        """
        return self._restart_due

    def observe(self, observation: Observation) -> Tracking:
        """
        Judge the next frame.

        Parameters
        ----------
        observation : Observation
            What is known of it.

        Returns
        -------
        Tracking

        """
        seen = observation
        score, reason = min(self._checks(seen), key=lambda check: check[0])
        tracking = self._conclude(score, reason, seen.provisional)
        self._remember(seen, tracking)
        self._proven |= tracking.state == TrackingState.TRACKING
        self._restart_due = (tracking.state == TrackingState.LOST and seen.image.usable
                             and self._lost >= self._config.lost_frames)
        return tracking

    def restarted(self) -> None:
        """
        Begin a new stream at the last good pose.

        Usual motion and prediction stay usual, unless the stream never was tracking since the
        restart before: then they were learnt wrongly.
        """
        self._confidence.clear()
        if not self._proven:
            for usual in (self._speed, self._turn, self._residual):
                usual.clear()
        self._proven = False
        self._velocity = np.zeros(3)
        self._good_pose = None
        self._lost = 0
        self._good = 0
        self._restart_due = False

    def state(self) -> dict[str, Any]:
        """Return all that `restore` needs, of JSON types."""
        pose = None if self._good_pose is None else self._good_pose.tolist()
        return {
            'usual': [usual.values for usual in self._all_usual()],
            'velocity': self._velocity.tolist(), 'stamp_ns': self._stamp_ns,
            'good_pose': pose, 'good_stamp_ns': self._good_stamp_ns,
            'counts': [self._lost, self._good], 'restart_due': self._restart_due,
            'proven': self._proven}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""
        for usual, values in zip(self._all_usual(), state['usual'], strict=True):
            usual.restore(values)
        self._velocity = np.array(state['velocity'])
        self._stamp_ns, self._proven = state['stamp_ns'], state['proven']
        self._restart_due = state['restart_due']
        pose = state['good_pose']
        self._good_pose = None if pose is None else np.array(pose)
        self._good_stamp_ns = state['good_stamp_ns']
        self._lost, self._good = state['counts']

    def _all_usual(self) -> tuple[RunningMedian, ...]:
        return self._speed, self._turn, self._interval, self._confidence, self._residual

    def _conclude(self, score: float, reason: str, provisional: bool) -> Tracking:
        wanted = self._config.recover_frames
        if score <= 0:
            self._lost += 1
            self._good = 0
            return Tracking(TrackingState.LOST, 0.0, reason)
        if score < _GOOD:
            self._good = 0
            return Tracking(TrackingState.DEGRADED, score, reason)
        self._good = min(self._good + 1, wanted)
        if self._good < wanted and not provisional:
            return Tracking(TrackingState.DEGRADED, min(score, _GOOD),
                            f'recovering: {self._good} of {wanted} good frames')
        self._lost = 0
        state = TrackingState.INITIALISING if provisional else TrackingState.TRACKING
        return Tracking(state, score)

    def _remember(self, seen: Observation, tracking: Tracking) -> None:
        if self._stamp_ns is not None and seen.stamp_ns > self._stamp_ns:
            self._interval.add((seen.stamp_ns - self._stamp_ns) / 1e9)
        self._stamp_ns = seen.stamp_ns
        if seen.pose is None or tracking.state == TrackingState.LOST:
            return
        # What degraded frames show as well: another kind of scene becomes usual in time.
        if seen.confidence is not None:
            self._confidence.add(seen.confidence)
        if seen.photometric is not None:
            self._residual.add(seen.photometric.residual)
        velocity = np.zeros(3)
        if self._good_pose is not None:
            seconds = self._seconds_since(self._good_stamp_ns, seen.stamp_ns)
            self._speed.add(self._departure(seen.pose, seconds) / seconds)
            self._turn.add(self._angle_deg(seen.pose) / seconds)
            velocity = (seen.pose[:3, 3] - self._good_pose[:3, 3]) / seconds
        if tracking.score < _GOOD:
            return
        self._velocity = velocity
        self._good_pose, self._good_stamp_ns = seen.pose.copy(), seen.stamp_ns

    def _checks(self, seen: Observation) -> Iterator[Score]:
        yield self._check_image(seen)
        if seen.pose is None:
            yield 0.0, 'pose not finite'
            return
        if seen.depth is not None and not 0 < seen.depth < math.inf:
            yield 0.0, 'depth not finite'
            return
        yield self._check_gap(seen.stamp_ns)
        if self._good_pose is not None and len(self._speed.values) >= _LEAST_KNOWN:
            yield from self._check_motion(seen.pose, seen.stamp_ns)
        if seen.confidence is not None:
            yield self._check_confidence(seen.confidence)
        if seen.photometric is not None:
            yield self._check_photometric(seen.photometric)

    def _check_image(self, seen: Observation) -> Score:
        image, photometric = seen.image, seen.photometric
        if not image.fault:
            return 1.0, ''
        if image.fault == 'frozen':
            return _FROZEN, image.reason
        if image.fault == 'blurred':
            return max(_BLURRED_LEAST, min(_score(image.excess), _GOOD - 0.01)), image.reason
        # A pose that predicts the image outweighs that the image looks unlike the one before.
        if (image.fault == 'cut' and seen.pose is not None and photometric is not None
                and photometric.overlap > _LEAST_OVERLAP
                and photometric.residual < self._config.residual):
            return 1.0, ''
        return 0.0, image.reason

    def _check_gap(self, stamp_ns: int) -> Score:
        if self._stamp_ns is not None:
            seconds = (stamp_ns - self._stamp_ns) / 1e9
            if seconds > self._config.gap_s:
                return _GAP, f'no image for {seconds:.1f} s'
        return 1.0, ''

    def _check_motion(self, pose: NDArray[np.float64], stamp_ns: int) -> Iterator[Score]:
        c = self._config
        seconds = self._seconds_since(self._good_stamp_ns, stamp_ns)
        departure = self._departure(pose, seconds)
        limit = max(c.speed, c.speed_factor * (self._speed.value or 0.0))
        yield _score((departure - c.step) / seconds / max(limit, 1e-9)), (
            f'pose jump: {departure:.2f} units off the motion in {seconds:.2f} s, at most '
            f'{c.step + limit * seconds:.2f}')
        turn = self._angle_deg(pose) / seconds
        limit = max(c.turn_deg, c.speed_factor * (self._turn.value or 0.0))
        yield _score(turn / max(limit, 1e-9)), (
            f'pose turns by {turn:.0f} deg/s, at most {limit:.0f}')

    def _check_confidence(self, confidence: float) -> Score:
        usual = self._confidence.value
        if not math.isfinite(confidence):
            return 0.0, 'depth confidence not finite'
        if usual is None:
            return 1.0, ''
        # Confidence is 1 where the network knows nothing.
        part = ((max(confidence - 1, 0) + _CONFIDENCE_NOISE)
                / (max(usual - 1, 0) + _CONFIDENCE_NOISE))
        return _score(self._config.confidence / part), (
            f'depth confidence {part:.2f} of the usual, at least {self._config.confidence:.2f}')

    def _check_photometric(self, check: PhotometricCheck) -> Score:
        if check.overlap < _LEAST_OVERLAP:
            return _OUT_OF_SIGHT, (f'keyframe out of sight: overlap {check.overlap:.2f}, at '
                                   f'least {_LEAST_OVERLAP:.2f}')
        limit = self._config.residual
        excess = check.residual / max(limit, 1e-9)
        if check.residual > limit:
            # Between the limit and chance, where prediction and image have nothing in common.
            excess = 1 + 0.5 * (check.residual - limit) / max(CHANCE - limit, 0.05)
        usual = self._residual.value
        proven = (usual is not None and usual < _PROVEN_PART * limit
                  and len(self._residual.values) >= _LEAST_KNOWN)
        score = _score(excess) if proven else max(_score(excess), _UNPROVEN)
        return score, (f'image unlike its prediction: residual {check.residual:.2f}, at most '
                       f'{limit:.2f}; {check.still:.2f} without motion')

    def _seconds_since(self, before_ns: int, stamp_ns: int) -> float:
        seconds = (stamp_ns - before_ns) / 1e9
        if seconds >= _SHORTEST_S:
            return seconds
        return self._interval.value or _USUAL_INTERVAL_S

    def _departure(self, pose: NDArray[np.float64], seconds: float) -> float:
        """Return how far a pose is from where a camera that goes on, or slows down, would be."""
        assert self._good_pose is not None
        moved = pose[:3, 3] - self._good_pose[:3, 3]
        ahead = self._velocity * seconds
        part = float(moved @ ahead) / max(float(ahead @ ahead), 1e-12)
        return float(np.linalg.norm(moved - min(1.0, max(0.0, part)) * ahead))

    def _angle_deg(self, pose: NDArray[np.float64]) -> float:
        assert self._good_pose is not None
        return float(np.degrees(rotation_angle(self._good_pose[:3, :3].T @ pose[:3, :3])))


def _score(excess: float) -> float:
    """Score a measure over its limit: 1 up to half of it, 0.5 at it, 0 from one and a half on."""
    return float(min(1.0, max(0.0, 1.5 - excess)))
