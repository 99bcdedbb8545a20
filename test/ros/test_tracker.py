# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
from hypothesis import given
from hypothesis import strategies as st
from lingbot_ros.errors import CacheFullError, ImageError, NonFinitePoseError
from lingbot_ros.geometry.axes import T_ODOM_OPTICAL
from lingbot_ros.records import Tracking, TrackingState
from lingbot_ros.ros.tracker import Counters, Tracker
import numpy as np
import pytest
from stream_fakes import FakeSession, START, STEP

IMAGE = np.zeros((48, 64, 3), np.uint8)
PERIOD_NS = 100_000_000


class Stream:
    """A tracker that is fed with a regular stream."""

    def __init__(self, **options):
        self.session = FakeSession(**options)
        self.counters = Counters()
        self.tracker = Tracker(self.session, self.counters)
        self.poses = []
        self.stamp_ns = 10**18
        self.pushed = 0

    def push(self, stamp_ns=None, image=IMAGE):
        self.stamp_ns = self.stamp_ns + PERIOD_NS if stamp_ns is None else stamp_ns
        self.pushed += 1
        new = self.tracker.push(image, self.stamp_ns, f'header {self.stamp_ns}')
        self.poses += new
        return new

    def check_books(self):
        assert self.pushed == (self.counters.processed + sum(self.counters.dropped.values())
                               + self.tracker.waiting)


def test_anchors_come_together_each_with_its_header():
    stream = Stream(anchors=3)
    assert [len(stream.push()) for _ in range(5)] == [0, 0, 3, 1, 1]
    stamps = [10**18 + PERIOD_NS * number for number in range(1, 6)]
    assert [pose.estimate.stamp_ns for pose in stream.poses] == stamps
    assert [pose.header for pose in stream.poses] == [f'header {stamp}' for stamp in stamps]
    stream.check_books()


def test_pose_is_the_networks_in_odom_axes():
    stream = Stream()
    for _ in range(4):
        stream.push()
    for number, pose in enumerate(stream.poses):
        wanted = T_ODOM_OPTICAL @ START @ np.linalg.matrix_power(STEP, number)
        np.testing.assert_allclose(pose.T_odom_camera, wanted, atol=1e-12)
    assert stream.poses[-1].T_odom_camera[0, 3] > 0.25  # forward is x


def test_twist_is_known_from_the_second_pose_on():
    stream = Stream()
    for _ in range(4):
        stream.push()
    assert [pose.seconds for pose in stream.poses] == [None, 0.1, 0.1, 0.1]
    np.testing.assert_array_equal(stream.poses[0].twist, 0)
    for pose in stream.poses[1:]:
        assert pose.twist[2] == pytest.approx(1.0, rel=1e-2)
        assert pose.twist[4] == pytest.approx(1.0)


def test_a_dropped_frame_stretches_the_time_not_the_speed():
    stream = Stream()
    for _ in range(3):
        stream.push()
    stream.push(stream.stamp_ns + 4 * PERIOD_NS)
    assert stream.poses[-1].seconds == 0.4
    assert stream.poses[-1].twist[4] == pytest.approx(0.25)


def test_stamps_too_close_say_nothing_of_velocity():
    stream = Stream()
    for _ in range(2):
        stream.push()
    stream.push(stream.stamp_ns + 1)
    assert stream.poses[-1].seconds is None
    np.testing.assert_array_equal(stream.poses[-1].twist, 0)


def after_reset(stream, cause):
    """Run to a reset and on; return the last pose before and the poses after."""
    for _ in range(4):
        stream.push()
    before = stream.poses[-1]
    count = len(stream.poses)
    cause(stream)
    for _ in range(3):
        stream.push()
    return before, stream.poses[count:]


CAUSES = {
    'service': (lambda stream: stream.tracker.request_reset('service call'), 'service call'),
    'size': (lambda stream: None, 'image size changed from 64x48 to 32x48'),
    'time': (lambda stream: stream.push(stream.stamp_ns - 10**9), 'stamps jumped back by 1.000 s'),
}


@pytest.mark.parametrize('name', CAUSES)
def test_reset_continues_at_the_last_pose(name):
    cause, reason = CAUSES[name]
    stream = Stream()
    if name == 'size':
        def cause(stream):
            stream.push(image=IMAGE[:, :32])
            plain = stream.push
            stream.push = lambda: plain(image=IMAGE[:, :32])
    before, poses = after_reset(stream, cause)
    assert stream.counters.resets == 1 and stream.counters.last_reset_reason == reason
    np.testing.assert_allclose(poses[0].T_odom_camera, before.T_odom_camera, atol=1e-12)
    for first, second in zip(poses, poses[1:], strict=False):
        np.testing.assert_allclose(second.T_odom_camera, first.T_odom_camera @ STEP, atol=1e-12)
    assert poses[0].seconds is None and poses[1].seconds == 0.1
    assert before.poses_since_reset is None
    assert [pose.poses_since_reset for pose in poses] == list(range(len(poses)))
    stream.check_books()


def test_full_cache_restarts_with_the_same_frame():
    stream = Stream(anchors=1, fail={3: CacheFullError('max_keyframes is used up')})
    for _ in range(6):
        stream.push()
    assert len(stream.poses) == 6
    assert stream.counters.last_reset_reason == 'max_keyframes is used up'
    np.testing.assert_allclose(stream.poses[3].T_odom_camera, stream.poses[2].T_odom_camera,
                               atol=1e-12)
    stream.check_books()


def test_reset_before_any_pose_starts_at_the_origin():
    stream = Stream(anchors=3)
    stream.push()
    stream.tracker.request_reset('service call')
    for _ in range(3):
        stream.push()
    np.testing.assert_allclose(stream.poses[0].T_odom_camera, T_ODOM_OPTICAL @ START, atol=1e-12)
    assert stream.counters.dropped['reset'] == 1
    assert stream.poses[0].poses_since_reset is None
    stream.check_books()


def test_old_and_equal_stamps_are_dropped_and_counted():
    stream = Stream()
    for _ in range(3):
        stream.push()
    newest = stream.stamp_ns
    for stamp_ns in (newest, newest - 1, newest - 500_000_000):
        assert stream.push(stamp_ns) == []
    assert stream.counters.dropped['out_of_order'] == 3 and stream.counters.resets == 0
    assert stream.session.pushes == 3
    stream.stamp_ns = newest
    assert stream.push()[0].seconds == 0.1
    stream.push(newest - 500_000_001)
    assert stream.counters.resets == 1


def test_window_reaches_the_session_once():
    stream = Stream()
    for window in (64, 64, 32, 32, 8):
        stream.tracker.set_window(window)
        stream.push()
    assert stream.session.windows == [(2, 32), (4, 8)]


def test_empty_cache_that_does_not_fit_is_an_error_not_a_reset():
    stream = Stream(fail={1: CacheFullError('does not fit')})
    stream.push()
    with pytest.raises(CacheFullError):
        stream.push()
    assert stream.counters.resets == 0


def test_non_finite_output_is_counted_and_the_stream_goes_on():
    stream = Stream(fail={3: NonFinitePoseError('nan')})
    for _ in range(3):
        stream.push()
    with pytest.raises(NonFinitePoseError):
        stream.push()
    pose = stream.push()[0]
    assert pose.seconds == 0.2 and stream.counters.dropped['non_finite'] == 1
    assert stream.counters.resets == 0
    stream.check_books()


def test_an_image_the_session_refuses_costs_that_image_only():
    stream = Stream(anchors=3, fail={1: ImageError('too wide')})
    stream.push()
    with pytest.raises(ImageError):
        stream.push()
    stream.push()
    assert len(stream.push()) == 3
    assert stream.counters.dropped['bad_image'] == 1
    stream.check_books()


def test_unexpected_error_starts_anew_at_the_last_pose():
    stream = Stream(fail={3: RuntimeError('out of memory')})
    for _ in range(3):
        stream.push()
    with pytest.raises(RuntimeError) as caught:
        stream.push()
    stream.tracker.abandon(caught.value)
    last = stream.poses[-1]
    for _ in range(2):
        stream.push()
    assert stream.counters.last_reset_reason == 'RuntimeError: out of memory'
    assert stream.counters.dropped['error'] == 1
    np.testing.assert_allclose(stream.poses[3].T_odom_camera, last.T_odom_camera, atol=1e-12)
    stream.check_books()


@given(st.lists(st.sampled_from(['push', 'reset', 'old', 'loop', 'narrow', 'wide']), max_size=60),
       st.integers(1, 4))
def test_no_frame_is_lost_from_the_books_and_no_pose_jumps(actions, anchors):
    stream = Stream(anchors=anchors)
    image = IMAGE
    for action in actions:
        if action == 'reset':
            stream.tracker.request_reset('service call')
        elif action == 'old':
            newest = stream.stamp_ns
            stream.push(newest - 10, image)
            stream.stamp_ns = newest
        elif action == 'loop':
            stream.push(stream.stamp_ns - 10**9, image)
        else:
            image = {'narrow': IMAGE[:, :32], 'wide': IMAGE}.get(action, image)
            stream.push(image=image)
    stream.check_books()
    step = np.linalg.norm(STEP[:3, 3])
    for first, second in zip(stream.poses, stream.poses[1:], strict=False):
        jump = np.linalg.norm(first.T_odom_camera[:3, 3] - second.T_odom_camera[:3, 3])
        assert jump <= step + 1e-9


def test_covariance_goes_on_over_a_reset():
    stream = Stream()
    good = Tracking(TrackingState.TRACKING, 1.0)
    stream.session.tracking = dict.fromkeys(range(100), good)
    for _ in range(5):
        stream.push()
    before = stream.poses[-1].covariance
    stream.tracker.request_reset('a test')
    for _ in range(30):
        stream.push()
    after = [pose.covariance for pose in stream.poses[5:]]
    assert np.trace(after[0][:3, :3]) > np.trace(before[:3, :3]) + 0.2
    assert np.trace(after[0][3:, 3:]) > np.trace(before[3:, 3:]) + 0.1
    # What the rotation is wrong by moves what follows.
    assert np.trace(after[-1][:3, :3]) > np.trace(after[0][:3, :3])
    for P in after:
        np.testing.assert_allclose(P, P.T, atol=1e-12)
        assert np.linalg.eigvalsh(P).min() > 0
