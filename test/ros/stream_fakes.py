# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A session that answers with poses of a known motion, and an engine around it."""

from __future__ import annotations

import time

from lingbot_ros.config import StreamConfig
from lingbot_ros.errors import CacheFullError, ImageError
from lingbot_ros.geometry.rigid import make_transform
from lingbot_ros.geometry.rotation import matrix_from_quat_xyzw
from lingbot_ros.records import PoseEstimate, Tracking
from lingbot_ros.ros.engine import Engine
from lingbot_ros.streaming.snapshot import Snapshot
from lingbot_ros.streaming.stitching import JoinReport
import numpy as np

STEP = make_transform(matrix_from_quat_xyzw([0, np.sin(0.05), 0, np.cos(0.05)]), [0, 0, 0.1])
START = make_transform(matrix_from_quat_xyzw([0.01, 0, 0, 1]), [0.001, 0, 0])


class FakeSession:
    """
    Moves by STEP a frame from START after every reset.

    `fail` maps the number of a push (all pushes, from 0) to an exception to raise there, and
    `tracking` the number of a frame since the reset to what is said of it.
    """

    def __init__(self, anchors: int = 2, seconds: float = 0.0, fail: dict | None = None) -> None:
        self.anchors, self.seconds, self.fail = anchors, seconds, fail or {}
        self.pushes, self.resets, self.windows = 0, 0, []
        self.window = 64
        self.tracking: dict[int, Tracking] = {}
        self.last_tracking: Tracking | None = None
        self.reset()

    def reset(self, reason: str = '') -> None:
        self.resets += 1
        self.reset_reason = reason
        self._pose, self._index, self._gathered = START, 0, []

    def set_window(self, window: int) -> None:
        self.windows.append((self.pushes, window))
        if window > 1000:
            raise CacheFullError('window 1001 does not fit')
        self.window = window

    def snapshot(self) -> Snapshot:
        join = JoinReport('segment', 3, 40, 0, 8, 1.5, 1.1, bad='only a test')
        return Snapshot(
            frames=self.pushes, segment=3, keyframes=5, keyframes_total=9, initialising=False,
            tracking=self.last_tracking, window=self.window, pages_used=11, pages_total=20,
            cache_bytes=12345, scale=1.0, joins=2, bad_joins=1, last_join=join,
            resets=self.resets, last_reset_reason='', stage_seconds={'encoder': 0.002})

    def push(self, image: np.ndarray, stamp_ns: int) -> list[PoseEstimate]:
        number = self.pushes
        self.pushes += 1
        time.sleep(self.seconds)
        if number in self.fail:
            raise self.fail[number]
        self._gathered.append(stamp_ns)
        if self._index == 0 and len(self._gathered) < self.anchors:
            return []
        stamps, self._gathered = self._gathered, []
        return [self._estimate(stamp) for stamp in stamps]

    def _estimate(self, stamp_ns: int) -> PoseEstimate:
        pose, self._pose = self._pose, self._pose @ STEP
        index, self._index = self._index, self._index + 1
        K = np.array([[50.0, 0, 28], [0, 60, 21], [0, 0, 1]])
        self.last_tracking = self.tracking.get(index)
        covariance = None if self.last_tracking is None else np.diag(
            [0.04, 0.09, 0.16, 1e-6, 2e-6, 3e-6])
        return PoseEstimate(index, stamp_ns, pose, K, (42, 56), index < self.anchors, True,
                            np.zeros(9, np.float32), tracking=self.last_tracking,
                            covariance=covariance)


def original_K(K: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    if size[1] == 1:
        raise ImageError('too tall')
    return K * [[size[1] / 56], [size[0] / 42], [1]]


def fake_engine(session: FakeSession) -> Engine:
    return Engine(session, False, StreamConfig(), 'window 64 (fake)', 'cpu (fake)',
                  'float32 (fake)', 'sdpa (fake)', original_K)
