# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Everything there is to see of a running session, at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from lingbot_ros.records import Tracking
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
