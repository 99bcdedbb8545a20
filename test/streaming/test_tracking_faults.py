# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Faults of a camera and of a network, from images to the state, without a network.

The poses and depths of a painted room stand for the network's answers, with errors of its size.
"""

from collections.abc import Callable
from dataclasses import dataclass

from box_room import blurred, BoxRoom, encoding, pose
from lingbot_ros.geometry.rotation import matrix_from_rotation_vector
from lingbot_ros.records import Tracking, TrackingState
from lingbot_ros.stream_parts import TrackingConfig
from lingbot_ros.streaming.image_checks import ImageJudge, ImageStatistics, measure, small_image
from lingbot_ros.streaming.photometric import PhotometricCheck, PhotometricReference
from lingbot_ros.streaming.tracking import Observation, TrackingMonitor
import numpy as np
import pytest
import torch

CONFIG = TrackingConfig(lost_frames=5)
ROOM, OTHER_ROOM = BoxRoom(0), BoxRoom(31)
STEP_NS = 33_333_333
KEYFRAME_EVERY = 5
LOST, DEGRADED, TRACKING = TrackingState.LOST, TrackingState.DEGRADED, TrackingState.TRACKING


def path(frame: float) -> np.ndarray:
    """Where a hand holds the camera at a frame."""
    return pose(0.8 * np.sin(frame / 25), 0.1 * np.sin(frame / 7), 0.012 * frame,
                turn=(0.06 * np.sin(frame / 9), 0.35 * np.sin(frame / 18), 0.03 * np.sin(frame)))


@dataclass
class Seen:
    """One frame as camera and network give it."""

    image: torch.Tensor
    answer: np.ndarray | None
    depth: torch.Tensor
    confidence: float
    gap_ns: int = STEP_NS


@dataclass
class Stream:
    """Everything between image and state but the network."""

    seed: int = 0
    before: torch.Tensor | None = None
    good: torch.Tensor | None = None
    keyframe: PhotometricReference | None = None
    frames: int = 0
    stamp_ns: int = 0
    restarts: int = 0

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.judge = ImageJudge(CONFIG.sharpness, CONFIG.similarity, CONFIG.frozen_frames,
                                CONFIG.memory_frames)
        self.monitor = TrackingMonitor(CONFIG)

    def frame(self, at: float, room: BoxRoom = ROOM) -> Seen:
        """A healthy frame; rotation is off by 0.3 degrees, position by 0.01, depth by 8 %."""
        T = path(at)
        image, depth = room.render(T, 0.01, int(self.rng.integers(2**31)))
        answer = T.copy()
        answer[:3, :3] = T[:3, :3] @ matrix_from_rotation_vector(
            np.radians(0.3) * self.rng.standard_normal(3))
        answer[:3, 3] += 0.01 * self.rng.standard_normal(3)
        bumps = torch.from_numpy(0.08 * self.rng.standard_normal((1, 1, 6, 8))).float()
        depth = depth * torch.exp(torch.nn.functional.interpolate(
            bumps, depth.shape, mode='bilinear')[0, 0])
        return Seen(image, answer, depth, 8.0 * float(np.exp(0.1 * self.rng.standard_normal())))

    def push(self, seen: Seen) -> Tracking:
        self.stamp_ns += seen.gap_ns
        numbers = measure(seen.image, self.before, self.good)
        self.before = seen.image
        photometric = None
        if self.keyframe is not None and seen.answer is not None:
            photometric = PhotometricCheck(*self.keyframe.compare(
                encoding(seen.answer), seen.depth, seen.image).tolist())
        verdict = self.judge.judge(ImageStatistics(*numbers.tolist()))
        tracking = self.monitor.observe(Observation(
            self.stamp_ns, seen.answer, verdict, seen.confidence, photometric))
        if self.monitor.restart_due:
            self.restarts += 1
            self.monitor.restarted()
            self.keyframe = None
            self.good = small_image(seen.image)
        if tracking.state != LOST:
            self.good = small_image(seen.image)
            if self.frames % KEYFRAME_EVERY == 0 and seen.answer is not None:
                self.keyframe = PhotometricReference.of(encoding(seen.answer), seen.image)
        self.frames += 1
        return tracking

    def run(self, frames: int, first: int = 0) -> 'Stream':
        for i in range(first, first + frames):
            tracking = self.push(self.frame(i))
            assert tracking.state == TRACKING, (i, tracking)
        return self


@pytest.fixture(scope='module')
def healthy() -> Callable[[], Stream]:
    """Make a stream that has run for 30 frames; the same each time."""
    import copy
    stream = Stream().run(30)
    return lambda: copy.deepcopy(stream)


def test_a_healthy_stream_never_complains():
    stream = Stream(1).run(100)
    assert stream.restarts == 0


def test_black_frames(healthy):
    stream = healthy()
    for i in range(20):
        seen = stream.frame(30 + i)
        # What a network says of nothing: somewhere near, unsure.
        seen.image = torch.zeros_like(seen.image)
        seen.confidence = 1.3
        tracking = stream.push(seen)
        assert (tracking.state, tracking.score) == (LOST, 0)
        assert tracking.reason.startswith('image dark: structure in 0.0 %')
    assert stream.restarts == 0  # nothing to start anew with
    states = [stream.push(stream.frame(50 + i)).state for i in range(4)]
    assert states == [DEGRADED, DEGRADED, TRACKING, TRACKING]
    assert stream.restarts == 0


@pytest.mark.parametrize('answer', ['goes on', 'jumps'])
def test_a_cut_to_another_scene(healthy, answer):
    stream = healthy()
    for i in range(CONFIG.lost_frames):
        seen = stream.frame(30 + i, OTHER_ROOM)
        if answer == 'jumps':
            seen.answer[:3, 3] += [1.5, 0.3, -1]
        tracking = stream.push(seen)
        assert tracking.state == LOST
        assert tracking.reason.startswith('image of another place: similarity 0.')
    # The stream starts anew in the new scene, and is believed there.
    assert stream.restarts == 1
    states = [stream.push(stream.frame(30 + i, OTHER_ROOM)).state for i in range(5, 12)]
    assert states == [DEGRADED, DEGRADED, *[TRACKING] * 5]


def test_a_cut_and_back(healthy):
    stream = healthy()
    for i in range(CONFIG.lost_frames - 1):
        assert stream.push(stream.frame(30 + i, OTHER_ROOM)).state == LOST
    states = [stream.push(stream.frame(34 + i)).state for i in range(4)]
    assert (states, stream.restarts) == ([DEGRADED, DEGRADED, TRACKING, TRACKING], 0)


def test_repeated_frames(healthy):
    stream = healthy()
    last = stream.frame(30)
    trackings = [stream.push(last) for _ in range(8)]
    assert [t.state for t in trackings] == [TRACKING] * 3 + [DEGRADED] * 5
    assert trackings[-1].reason == 'image frozen for 7 frames'
    states = [stream.push(stream.frame(31 + i)).state for i in range(4)]
    assert states == [DEGRADED, DEGRADED, TRACKING, TRACKING]


def test_a_camera_at_rest_is_tracking(healthy):
    stream = healthy()
    assert {stream.push(stream.frame(30)).state for _ in range(30)} == {TRACKING}


def test_shuffled_frames(healthy):
    stream = healthy()
    order = np.random.default_rng(3).permutation(np.arange(30, 150, 4))
    trackings = []
    for i in order:
        trackings.append(stream.push(stream.frame(int(i))))
        # Every pose here is right. When two restarts did not help it may be learnt that the
        # camera really moves so.
        if stream.restarts == 2:
            break
    states = [t.state for t in trackings]
    assert len(states) > 2 * CONFIG.lost_frames
    # Now and then the next frame is close to the last good one by chance.
    assert states.count(TRACKING) <= 0.1 * len(states)
    assert states.count(LOST) > 0.5 * len(states)
    for tracking in trackings:
        assert tracking.state == TRACKING or tracking.reason.startswith((
            'pose jump: ', 'pose turns by ', 'recovering: ', 'image of another place: ',
            'image unlike its prediction: '))


def test_heavy_blur(healthy):
    stream = healthy()
    for i in range(6):
        seen = stream.frame(30 + i)
        seen.image = blurred(seen.image, 5)
        tracking = stream.push(seen)
        assert tracking.state == DEGRADED
        assert tracking.reason.startswith('image blurred: sharpness 0.')
    states = [stream.push(stream.frame(36 + i)).state for i in range(4)]
    assert states == [DEGRADED, DEGRADED, TRACKING, TRACKING]


def test_weights_turn_into_nan(healthy):
    stream = healthy()
    for i in range(CONFIG.lost_frames):
        seen = stream.frame(30 + i)
        tracking = stream.push(Seen(seen.image, None, seen.depth * np.nan, float('nan')))
        assert (tracking.state, tracking.reason) == (LOST, 'pose not finite')
    # The images are fine: starting anew may help.
    assert stream.restarts == 1


def test_depth_that_is_nan_alone(healthy):
    stream = healthy()
    seen = stream.frame(30)
    seen.depth, seen.confidence = seen.depth * np.nan, float('nan')
    tracking = stream.push(seen)
    assert tracking.state == LOST
    assert tracking.reason == 'depth confidence not finite'


def test_a_gap_of_ten_seconds_at_the_same_place(healthy):
    stream = healthy()
    seen = stream.frame(31)
    seen.gap_ns = 10_000_000_000
    tracking = stream.push(seen)
    assert (tracking.state, tracking.reason) == (DEGRADED, 'no image for 10.0 s')
    states = [stream.push(stream.frame(32 + i)).state for i in range(3)]
    assert states == [DEGRADED, DEGRADED, TRACKING]


def test_a_gap_of_ten_seconds_and_elsewhere(healthy):
    stream = healthy()
    for i in range(CONFIG.lost_frames):
        seen = stream.frame(31 + i, OTHER_ROOM)
        seen.gap_ns = 10_000_000_000 if i == 0 else STEP_NS
        assert stream.push(seen).state == LOST
    assert stream.restarts == 1


def test_the_network_loses_itself_while_the_images_are_fine(healthy):
    stream = healthy()
    rng = np.random.default_rng(5)
    trackings = []
    for i in range(2 * CONFIG.lost_frames):
        seen = stream.frame(30 + i)
        seen.answer[:3, :3] = matrix_from_rotation_vector(rng.uniform(-1, 1, 3))
        seen.answer[:3, 3] += rng.uniform(-2, 2, 3)
        trackings.append(stream.push(seen))
        if stream.restarts:
            break
    assert stream.restarts == 1
    assert TRACKING not in [t.state for t in trackings]
    assert trackings[0].state == LOST
    for tracking in trackings:
        assert tracking.reason.startswith(('pose jump: ', 'pose turns by ', 'image unlike its'))


def test_slow_drift_of_the_pose_against_the_image(healthy):
    # No step is a jump; only the image tells.
    stream = healthy()
    trackings = []
    for i in range(25):
        seen = stream.frame(30)
        seen.answer[:3, 3] += [0.04 * (i % 30), 0, 0]
        stream.frames = 1  # no further keyframe
        trackings.append(stream.push(seen))
    worst = [t for t in trackings if t.state != TRACKING]
    assert worst
    assert all(t.reason.startswith(('image unlike its prediction', 'recovering')) for t in worst)


def test_confidence_collapses(healthy):
    stream = healthy()
    seen = stream.frame(30)
    seen.confidence = 1.1
    tracking = stream.push(seen)
    assert (tracking.state, tracking.reason[:25]) == (LOST, 'depth confidence 0.03 of ')
