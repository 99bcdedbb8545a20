# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Everything there is to see of a running session, at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from lingbot_ros.records import Tracking
from lingbot_ros.streaming.cached_stream import CachedStream
from lingbot_ros.streaming.pose_stream import PoseStream
from lingbot_ros.streaming.stitching import JoinReport


@dataclass(frozen=True)
class Snapshot:
    """
    Counters and gauges of a session; the node, the replay and tests read it.

    Attributes
    ----------
    frames : int
        Frames accepted since the reset.
    segment : int
        Segment in service, from 0.
    keyframes, keyframes_total : int
        Frames kept in the segment, anchors included, and kept since the reset.
    initialising : bool
        Whether the first anchors are incomplete.
    tracking : Tracking or None
        Of the last frame; None where poses are not judged.
    window : int
        Of the next frame.
    pages_used, pages_total : int
        Pages of one layer that hold a frame, and all.
    cache_bytes : int
        Bytes of all caches.
    scale : float
        Unit of the segment in service in published units.
    joins, bad_joins : int
        Changes from segment to segment since the reset, and those not to be trusted.
    last_join : JoinReport or None
        The last one with its residuals.
    resets : int
        Times the session forgot everything.
    last_reset_reason : str
        Why it did so last.
    stage_seconds : mapping of str to float
        How long each stage of a frame took when it ran last.

    """

    frames: int
    segment: int
    keyframes: int
    keyframes_total: int
    initialising: bool
    tracking: Tracking | None
    window: int
    pages_used: int
    pages_total: int
    cache_bytes: int
    scale: float
    joins: int
    bad_joins: int
    last_join: JoinReport | None
    resets: int
    last_reset_reason: str
    stage_seconds: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON types."""
        return asdict(self)


def take_snapshot(frames: int, window: int, resets: int, reset_reason: str,
                  stream: CachedStream | None, track: PoseStream | None) -> Snapshot:
    """
    Collect what there is to see.

    Parameters
    ----------
    frames, window, resets, reset_reason
        Of the session.
    stream : CachedStream or None
        None before the first frames ran.
    track : PoseStream or None
        None while the first frames gather.

    Returns
    -------
    Snapshot

    """
    segments = track.segments if track else None
    return Snapshot(
        frames=frames, segment=segments.number if segments else 0,
        keyframes=stream.kept if stream else 0,
        keyframes_total=segments.keyframes if segments else 0,
        initialising=segments.initialising if segments else True,
        tracking=track.tracking if track else None, window=window,
        pages_used=stream.caches.pages_used if stream else 0,
        pages_total=stream.caches.table.pages if stream else 0,
        cache_bytes=stream.nbytes if stream else 0,
        scale=segments.scale if segments else 1.0,
        joins=segments.joins if segments else 0,
        bad_joins=segments.bad_joins if segments else 0,
        last_join=segments.last_join if segments else None, resets=resets,
        last_reset_reason=reset_reason, stage_seconds=stream.times.seconds if stream else {})
