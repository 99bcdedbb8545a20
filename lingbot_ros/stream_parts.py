# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Settings of the parts of a stream: anchors, keyframes, segments, tracking, covariance.

`StreamConfig` holds one of each. Motion is the mean distance that the pixels of a keyframe travel
in the image, by pose and depth, as a fraction of the image width, so that it means the same at
every image size.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from lingbot_ros.checks import require, require_at_least, require_between


@dataclass(frozen=True)
class AnchorConfig:
    """
    How the frames that fix origin and scale are chosen.

    Attributes
    ----------
    policy : str
        'first': the first frames, as the reference takes them; no pose is known before all have
        come. 'motion': frames between which the camera moved; poses are known from the first
        frame on, and provisional until the anchors are complete.
    motion : float
        Motion between two anchors, fraction of the image width; for 'motion'.
    wait_s : float
        Anchors are closed this long after the first motion, however few they are, seconds of the
        stamps; for 'motion'. A camera that never moved keeps its first frame alone.

    """

    policy: str = 'first'
    motion: float = 0.02
    wait_s: float = 10.0

    def __post_init__(self) -> None:
        """Check every field."""
        require(self.policy in ('first', 'motion'),
                f"anchor policy must be 'first' or 'motion', got {self.policy!r}")
        require_between('anchor motion', self.motion, 0.0, 1.0)
        require_between('anchor wait_s', self.wait_s, 0.0, 3600.0)


@dataclass(frozen=True)
class KeyframeConfig:
    """
    Which frames after the anchors are kept.

    Attributes
    ----------
    policy : str
        'interval': every `keyframe_interval`-th frame, as the reference does. 'motion': when the
        camera has moved by `motion` since the last keyframe, or `max_gap` frames have passed
        since it. 'auto': the same, but the gap counts only while the camera moves, and without
        segments the threshold rises as the room is used up, so that it never is.
    motion : float
        Motion since the last keyframe, fraction of the image width.
    max_gap : int
        Most frames from keyframe to keyframe.

    """

    policy: str = 'interval'
    motion: float = 0.05
    max_gap: int = 30

    def __post_init__(self) -> None:
        """Check every field."""
        require(self.policy in ('interval', 'motion', 'auto'),
                f"keyframe policy must be 'interval', 'motion' or 'auto', got {self.policy!r}")
        require_between('keyframe motion', self.motion, 0.0, 1.0)
        require_at_least('keyframe max_gap', self.max_gap, 1)


@dataclass(frozen=True)
class SegmentConfig:
    """
    How a stream goes on when a cache is used up.

    Attributes
    ----------
    keyframes : int
        Kept frames of a segment, anchors included.
    overlap : int
        Last keyframes of a segment that are the anchors of the next one.

    """

    keyframes: int = 320
    overlap: int = 8

    def __post_init__(self) -> None:
        """Check every field."""
        require_at_least('segment overlap_keyframes', self.overlap, 1)
        require_at_least('segment_keyframes', self.keyframes, 2)


@dataclass(frozen=True)
class TrackingConfig:
    """
    When a pose is no longer believed.

    What is usual is the median of the last good frames. A measure at its limit makes a pose
    degraded, one at one and a half times its limit makes it lost.

    Attributes
    ----------
    lost_frames : int
        Frames in a row that are lost before the stream starts anew at the last good pose.
    recover_frames : int
        Good frames in a row before a stream that was not is tracking again.
    memory_frames : int
        Frames that say what is usual.
    speed_factor : float
        A pose jumps when it leaves the recent motion (the same velocity, or less of it) this many
        times faster than usual, or turns this many times faster.
    speed : float
        Change of velocity that is never a jump, scene units a second.
    step : float
        Distance from the recent motion that is never a jump, scene units: the noise of a pose.
    turn_deg : float
        Turning speed that is never a jump, degrees a second.
    confidence : float
        Depth confidence below this fraction of the usual one has collapsed.
    residual : float
        Difference between an image and what depth and pose predict of it that is an
        inconsistency, as a fraction of the image's contrast.
    sharpness : float
        Sharpness of an image below this fraction of the usual one is blur.
    similarity : float
        Correlation with the last good image below which an image shows another place, 0 to 1.
    frozen_frames : int
        Repetitions of one and the same image that mean a frozen camera; 0 allows any number (a
        simulated camera at rest has no noise).
    gap_s : float
        Stamps further apart than this are a gap, seconds.

    """

    lost_frames: int = 10
    recover_frames: int = 3
    memory_frames: int = 100
    speed_factor: float = 8.0
    speed: float = 1.0
    step: float = 0.05
    turn_deg: float = 180.0
    confidence: float = 0.3
    residual: float = 0.6
    sharpness: float = 0.25
    similarity: float = 0.35
    frozen_frames: int = 3
    gap_s: float = 2.0

    def __post_init__(self) -> None:
        """Check every field."""
        for name in ('lost_frames', 'recover_frames', 'memory_frames'):
            require_at_least(f'tracking {name}', vars(self)[name], 1)
        require_at_least('tracking frozen_frames', self.frozen_frames, 0)
        require_between('tracking speed_factor', self.speed_factor, 1.0, 1e6)
        for name in ('speed', 'step', 'turn_deg', 'gap_s'):
            require_between(f'tracking {name}', vars(self)[name], 0.0, 1e6)
        for name in ('confidence', 'residual', 'sharpness', 'similarity'):
            require_between(f'tracking {name}', vars(self)[name], 0.0, 1.0)


@dataclass(frozen=True)
class CovarianceModel:
    """
    How wrong poses are; `benchmarks/covariance.py` fits the coefficients to a network.

    All are standard deviations; see `lingbot_ros.streaming.covariance` for what they mean.

    The first seven say how a stream drifts, the last three what a restart adds, which nothing can
    calibrate: the camera's motion while it was lost is not known.

    Attributes
    ----------
    position_noise : float
        Of each single position, typical depths.
    rotation_noise : float
        Of each single rotation, rad.
    position_walk : float
        Of position after a way of one depth, depths.
    rotation_walk : float
        Of rotation after a way of one depth, rad.
    turn_walk : float
        Of rotation after a turn of one radian, rad.
    scale_start : float
        Of the scale that the anchors fixed, as a part of it.
    scale_walk : float
        Of the scale after a way of one depth, as a part of it.
    restart_position : float
        Of position after a restart at the last good pose, depths.
    restart_rotation : float
        Of rotation after a restart, rad.
    restart_scale : float
        Of the scale after a restart, as a part of it.

    """

    position_noise: float = 0.02
    rotation_noise: float = 0.01
    position_walk: float = 0.05
    rotation_walk: float = 0.01
    turn_walk: float = 0.03
    scale_start: float = 0.05
    scale_walk: float = 0.02
    restart_position: float = 0.3
    restart_rotation: float = 0.2
    restart_scale: float = 0.5

    def __post_init__(self) -> None:
        """Check every field."""
        for field in fields(self):
            require_between(f'covariance {field.name}', vars(self)[field.name], 0.0, 10.0)
        require_between('covariance position_noise', self.position_noise, 1e-4, 10.0)
        require_between('covariance rotation_noise', self.rotation_noise, 1e-4, 10.0)
