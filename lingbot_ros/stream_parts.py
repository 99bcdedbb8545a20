# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Settings of the parts of a stream: anchors, keyframes, segments, tracking.

`StreamConfig` holds one of each. Motion is the mean distance that the pixels of a keyframe travel
in the image, by pose and depth, as a fraction of the image width, so that it means the same at
every image size.
"""

from __future__ import annotations

from dataclasses import dataclass

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
        since it. 'auto': by motion alone; the gap counts only while the camera moves, and the
        threshold rises while keyframes come faster than `max_gap` frames can fill a segment.
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

    Attributes
    ----------
    lost_frames : int
        Frames in a row that are lost before the stream starts anew at the last good pose.
    speed_factor : float
        A pose jumps when its speed exceeds this many times the recent speed.
    speed : float
        Speed that is never a jump, scene units a second.
    turn_deg : float
        Turning speed that is never a jump, degrees a second.
    confidence : float
        Depth confidence below this fraction of the usual one has collapsed.
    gap_s : float
        Stamps further apart than this are a gap, seconds.

    """

    lost_frames: int = 10
    speed_factor: float = 8.0
    speed: float = 1.0
    turn_deg: float = 180.0
    confidence: float = 0.3
    gap_s: float = 2.0

    def __post_init__(self) -> None:
        """Check every field."""
        require_at_least('lost_frames', self.lost_frames, 1)
        require_between('tracking speed_factor', self.speed_factor, 1.0, 1e6)
        require_between('tracking speed', self.speed, 0.0, 1e6)
        require_between('tracking turn_deg', self.turn_deg, 0.0, 1e6)
        require_between('tracking confidence', self.confidence, 0.0, 1.0)
        require_between('tracking gap_s', self.gap_s, 0.0, 1e6)
