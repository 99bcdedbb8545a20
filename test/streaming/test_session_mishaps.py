# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong inside a push leaves a session that goes on, and no pose that looks good."""

from box_room import BoxRoom, pose
from lingbot_ros import SegmentConfig, StreamConfig, StreamSession, TrackingConfig
from lingbot_ros.errors import ConfigError
from lingbot_ros.records import TrackingState
from lingbot_ros.streaming.judgement import Judge
import numpy as np
from oracle_network import OracleNetwork
import pytest
import torch

ROOM = BoxRoom(0)
FRAME_NS = 33_333_333


class Room:
    """A session in a painted room, and what its camera sees."""

    def __init__(self, **changes):
        self.network = OracleNetwork()
        self.session = StreamSession(self.network, StreamConfig.endless(**{
            'anchor_frames': 4, 'window': 4, 'camera_iterations': 1, 'image_size': 112,
            'segments': SegmentConfig(20, 4), 'tracking': TrackingConfig(lost_frames=4),
            **changes}))

    def image(self, frame):
        return self.network.render(ROOM, pose(
            0.8 * np.sin(frame / 25), 0.1 * np.sin(frame / 7), 0.8 * np.sin(frame / 60),
            turn=(0, 0.35 * np.sin(frame / 18), 0)), seed=frame)

    def push(self, frame, stamp_ns=None):
        return self.session.push(
            self.image(frame), frame * FRAME_NS if stamp_ns is None else stamp_ns)

    def walk(self, frames):
        return [self.push(frame)[0] for frame in range(frames)]


@pytest.mark.parametrize('stamp', ['a', 1.5, None])
def test_a_stamp_that_is_no_integer_is_refused_before_anything_runs(stamp):
    room = Room()
    room.push(0)
    with pytest.raises(ConfigError, match='stamp_ns must be an integer'):
        room.session.push(room.image(1), stamp)
    assert room.push(1)[0].frame_index == 1


def test_stamps_of_numpy_can_be_saved(tmp_path):
    room = Room()
    for frame in range(8):
        estimate, = room.push(frame, np.int64(frame * FRAME_NS))
        assert type(estimate.stamp_ns) is int
    room.session.save(tmp_path / 'state.safetensors')


@pytest.mark.parametrize('error', [KeyboardInterrupt, MemoryError])
def test_an_interrupted_push_leaves_no_frame_open(monkeypatch, error):
    room = Room()
    room.walk(12)

    def fail(*args):
        raise error

    with monkeypatch.context() as patch, pytest.raises(error):
        patch.setattr(Judge, 'judge', fail)
        room.push(12)
    for frame in range(12, 40):
        estimate, = room.push(frame)
        assert estimate.frame_index == frame
        assert estimate.tracking.state is not TrackingState.LOST


@pytest.mark.parametrize('value', [float('nan'), float('inf'), 0.0])
def test_depth_that_is_no_depth_is_lost(monkeypatch, value):
    room = Room()
    room.walk(20)
    depth = room.network.depth

    def broken(taps, size):
        true, confidence = depth(taps, size)
        return torch.full_like(true, value), confidence

    monkeypatch.setattr(room.network, 'depth', broken)
    estimate, = room.push(20)
    assert estimate.tracking.state is TrackingState.LOST
    assert estimate.tracking.reason == 'depth not finite'
    assert estimate.depth is None


def test_a_black_image_after_a_failed_restart_starts_nothing():
    room = Room()
    room.walk(20)
    room.session._track.stream.reset()  # as a restart leaves it whose own pass gave no pose
    estimate, = room.session.push(torch.zeros_like(room.image(0)), 20 * FRAME_NS)
    assert estimate.tracking.state is TrackingState.LOST
    assert not estimate.is_keyframe
    estimate, = room.push(21)
    assert estimate.tracking.state is TrackingState.DEGRADED


def test_intrinsics_are_the_caller_s_own():
    room = Room()
    estimate, = room.push(0)
    estimate.K[:] = 7
    lost, = room.session.push(torch.zeros_like(room.image(0)), FRAME_NS)
    assert lost.K[0, 0] != 7


def test_one_gathered_frame_is_an_anchor_of_its_own_without_measured_motion():
    room = Room()
    room.session = StreamSession(room.network, StreamConfig(
        anchor_frames=4, window=4, camera_iterations=1, image_size=112,
        segments=SegmentConfig(20, 4)))
    room.push(0)
    assert len(room.session.flush()) == 1
    for frame in range(1, 60):
        room.push(frame)
    assert room.session.snapshot().segment > 0


def test_stamps_that_jump_back_do_not_keep_anchors_waiting():
    room = Room(tracking=TrackingConfig(lost_frames=4, frozen_frames=0), anchor_frames=8)
    hour = 3600 * 10**9
    frame = 0
    while room.session.keyframes < 3:
        room.push(frame, hour + frame * FRAME_NS)
        frame += 1
    states = [room.push(frame, second * 10**9)[0].tracking.state for second in range(30)]
    assert states[-1] is not TrackingState.INITIALISING
