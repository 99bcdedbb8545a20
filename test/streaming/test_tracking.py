# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules of the monitor on plain numbers; real images and poses are in test_tracking_faults."""

import json

from box_room import pose
from hypothesis import given, settings
from hypothesis import strategies as st
from lingbot_ros.errors import ConfigError
from lingbot_ros.records import TrackingState
from lingbot_ros.stream_parts import TrackingConfig
from lingbot_ros.streaming.image_checks import ImageVerdict
from lingbot_ros.streaming.photometric import CHANCE, PhotometricCheck
from lingbot_ros.streaming.tracking import Observation, TrackingMonitor
import numpy as np
import pytest

GOOD = ImageVerdict('', 0.1, '')
DARK = ImageVerdict('dark', np.inf, 'image dark')
STEP_NS = 33_000_000
LOST, DEGRADED, TRACKING, INITIALISING = (
    TrackingState.LOST, TrackingState.DEGRADED, TrackingState.TRACKING, TrackingState.INITIALISING)


def check(residual, still=0.5, overlap=0.9):
    return PhotometricCheck(residual, still, overlap)


class Run:
    """A camera that goes forward at 0.6 units/s, 30 Hz, unless told otherwise."""

    def __init__(self, frames: int = 20, **changes) -> None:
        self.monitor = TrackingMonitor(TrackingConfig(**changes))
        self.stamp_ns, self.z = 0, 0.0
        for _ in range(frames):
            assert self.next().state == TRACKING

    def next(self, step=0.02, gap_ns=STEP_NS, image=GOOD, turn=(0, 0, 0), **known):
        self.stamp_ns += gap_ns
        self.z += step
        known.setdefault('pose', pose(z=self.z, turn=turn))
        return self.monitor.observe(Observation(
            self.stamp_ns, image=image,
            **{'confidence': 5.0, 'photometric': check(0.2), **known}))


def test_states_are_words():
    assert [str(state) for state in TrackingState] == [
        'initialising', 'tracking', 'degraded', 'lost']
    assert TrackingState.LOST == 'lost'


def test_a_good_stream_is_tracking_and_says_nothing():
    tracking = Run().next()
    assert (tracking.state, tracking.score, tracking.reason) == (TRACKING, 1.0, '')


def test_provisional_poses_are_initialising():
    run = Run(0)
    for _ in range(5):
        assert run.next(provisional=True).state == INITIALISING
    assert run.next().state == TRACKING
    assert run.next(provisional=True, pose=None).state == LOST


def test_no_pose_is_lost():
    tracking = Run().next(pose=None)
    assert (tracking.state, tracking.score, tracking.reason) == (LOST, 0.0, 'pose not finite')


@pytest.mark.parametrize('fault', ['dark', 'overexposed', 'blank', 'not_finite'])
def test_an_image_that_shows_nothing_is_lost(fault):
    tracking = Run().next(image=ImageVerdict(fault, np.inf, f'image {fault}'))
    assert (tracking.state, tracking.reason) == (LOST, f'image {fault}')


def test_frozen_is_degraded_for_ever_and_never_lost():
    run = Run()
    states = {run.next(0, image=ImageVerdict('frozen', 9, 'image frozen for 5 frames')).state
              for _ in range(300)}
    assert states == {DEGRADED}
    assert not run.monitor.restart_due


@pytest.mark.parametrize('excess', [1.01, 3, 100])
def test_blur_alone_degrades(excess):
    tracking = Run().next(image=ImageVerdict('blurred', excess, 'image blurred'))
    assert (tracking.state, tracking.reason) == (DEGRADED, 'image blurred')
    assert 0 < tracking.score < 0.5


def test_recovery_takes_several_good_frames():
    run = Run(recover_frames=3)
    assert run.next(image=DARK).state == LOST
    first = run.next()
    assert (first.state, first.reason) == (DEGRADED, 'recovering: 1 of 3 good frames')
    assert run.next().state == DEGRADED
    assert run.next(confidence=1.2).state == LOST  # not in a row
    assert [run.next().state for _ in range(4)] == [DEGRADED, DEGRADED, TRACKING, TRACKING]


def test_a_jump_off_the_recent_motion():
    # 0.6 units/s is usual; a change by 1 unit/s never is a jump: 0.033 units, and 0.05 for noise.
    assert Run().next(0.06).state == TRACKING
    jump = Run().next(1.0)
    assert (jump.state, jump.reason) == (
        LOST, 'pose jump: 0.98 units off the motion in 0.03 s, at most 0.08')
    assert Run().next(0.11).state == DEGRADED
    # To stop, or to go half as fast, is no jump at any speed.
    fast = Run()
    for step in (*np.arange(0.02, 0.4, 0.03), 0.4, 0.2, 0.2, 0.0, 0.0):
        assert fast.next(step).state == TRACKING


def test_trembling_poses_are_usual_in_time():
    rng = np.random.default_rng(0)
    run = Run(0)

    def tremble(size):
        return run.next(pose=pose(*size * rng.standard_normal(3)))

    # From the first frame on, and when it grows slowly.
    for size in np.linspace(0.1, 0.3, 200):
        assert tremble(size).state == TRACKING
    assert tremble(10.0).state == LOST


def test_a_jump_back_is_no_jump():
    run = Run()
    assert run.next(2.0).state == LOST
    assert run.next(-2.0).state == DEGRADED
    assert [run.next().state for _ in range(2)] == [DEGRADED, TRACKING]


def test_poses_that_jumped_do_not_become_usual():
    run = Run(lost_frames=10**6)
    for i in range(50):
        assert run.next(3.0 * (-1)**i).state == (LOST if i % 2 == 0 else DEGRADED)


def test_whoever_accelerates_is_not_stopped():
    run, step = Run(), 0.02
    while step < 0.5:
        step *= 1.1
        assert run.next(step).state == TRACKING


def test_the_distance_allowed_grows_with_time():
    for gap_s, state in ((0.033, LOST), (1.9, TRACKING)):
        assert Run().next(2.0, int(gap_s * 1e9)).state == state


def test_turning_beyond_the_limit():
    run = Run()
    assert run.next(turn=(0, 0.08, 0)).state == TRACKING  # 139 deg/s
    spin = Run().next(turn=(0, 0.3, 0))
    assert (spin.state, spin.reason) == (LOST, 'pose turns by 521 deg/s, at most 180')


def test_stamps_that_say_nothing_are_not_believed():
    run = Run(0)
    for gap_ns in (0, 1, 0, -5, 1, 1) * 3:
        assert run.next(0.02, gap_ns).state == TRACKING
    assert run.next(5.0, 1).state == LOST


def test_a_gap_degrades_one_frame():
    run = Run()
    gap = run.next(gap_ns=10_000_000_000)
    assert (gap.state, gap.reason) == (DEGRADED, 'no image for 10.0 s')
    assert [run.next().state for _ in range(3)] == [DEGRADED, DEGRADED, TRACKING]
    assert Run(gap_s=20).next(gap_ns=10_000_000_000).state == TRACKING


def test_confidence_relative_to_the_usual():
    for confidence, state in ((5.0, TRACKING), (2.4, TRACKING), (2.0, DEGRADED), (1.3, LOST),
                              (1.0, LOST), (0.0, LOST)):
        assert Run().next(confidence=confidence).state == state
    assert Run().next(confidence=1.31).reason == (
        'depth confidence 0.10 of the usual, at least 0.30')
    assert Run().next(confidence=None).state == TRACKING
    unsure = Run(0)
    for confidence in (1.05, 1.02, 1.07, 1.03) * 5:
        assert unsure.next(confidence=confidence).state == TRACKING


def test_less_confidence_for_long_becomes_usual():
    run = Run(40, memory_frames=40)
    states = [run.next(confidence=2.0).state for _ in range(30)]
    assert (states[0], states[-1]) == (DEGRADED, TRACKING)


def test_the_image_against_its_prediction():
    for residual, state in ((0.1, TRACKING), (0.55, TRACKING), (0.64, DEGRADED), (CHANCE, LOST)):
        assert Run().next(photometric=check(residual)).state == state
    assert Run().next(photometric=check(0.7)).reason == (
        'image unlike its prediction: residual 0.70, at most 0.60; 0.50 without motion')
    away = Run().next(photometric=check(1.0, overlap=0.02))
    assert (away.state, away.reason) == (
        DEGRADED, 'keyframe out of sight: overlap 0.02, at least 0.10')


def test_a_network_that_never_predicts_images_is_not_lost_for_it():
    # Nor are its keyframes given up: see PoseStream.
    run = Run(0)
    trackings = [run.next(photometric=check(r)) for r in (0.62, 0.69, 0.55, 0.7, 0.72) * 20]
    assert LOST not in {t.state for t in trackings}
    assert min(t.score for t in trackings) == 0.45
    # When two restarts did not help, what was usual was wrong.
    run = Run(lost_frames=3)
    for _ in range(6):
        assert run.next(photometric=check(0.72)).state == LOST
        if run.monitor.restart_due:
            run.monitor.restarted()
    assert run.next(photometric=check(0.72)).state == DEGRADED


def test_a_cut_is_lost_unless_the_pose_predicts_the_image():
    cut = ImageVerdict('cut', 2.0, 'image of another place')
    assert Run().next(image=cut, photometric=None).state == LOST
    assert Run().next(image=cut, photometric=check(0.7)).reason == 'image of another place'
    assert Run().next(image=cut, photometric=check(0.3)).state == TRACKING
    assert Run().next(image=cut, photometric=check(0.3, overlap=0.05)).state == LOST


def test_restart_is_due_after_enough_lost_frames_with_an_image():
    run = Run(lost_frames=4)
    for _ in range(10):
        run.next(image=DARK)
        assert not run.monitor.restart_due
    assert run.monitor.lost_in_a_row == 10
    assert run.next(confidence=1.0).state == LOST
    assert run.monitor.restart_due
    run.monitor.restarted()
    assert not run.monitor.restart_due
    # Another world with another speed and confidence: nothing is compared with the old one.
    assert run.next(50.0, confidence=1.5, provisional=True).state == INITIALISING


def test_motion_is_learnt_anew_when_a_restart_did_not_help():
    run = Run(lost_frames=2)
    rng = np.random.default_rng(0)

    def tremble():
        # From now on the network's poses tremble by far more than ever before.
        run.next(pose=pose(*rng.standard_normal(3)))
        if run.monitor.restart_due:
            run.monitor.restarted()
            return 1
        return 0

    assert sum(tremble() for _ in range(60)) == 2
    assert run.next(pose=pose(*rng.standard_normal(3))).state == TRACKING


def test_frames_between_that_are_only_degraded_do_not_put_it_off():
    run = Run(lost_frames=4)
    for i in range(4):
        assert run.next(pose=None).state == LOST
        assert run.monitor.restart_due == (i == 3)
        assert run.next().state == DEGRADED
        assert not run.monitor.restart_due
    for _ in range(3):
        run.next()
    assert run.monitor.lost_in_a_row == 0


events = st.lists(st.tuples(
    st.floats(-0.2, 2.0), st.sampled_from([0, 1, STEP_NS, 5 * 10**9]),
    st.sampled_from([GOOD, DARK, ImageVerdict('blurred', 1.2, 'b'),
                     ImageVerdict('cut', 2, 'c'), ImageVerdict('frozen', 2, 'f')]),
    st.sampled_from([1.0, 1.5, 5.0, None]), st.booleans(), st.booleans(),
    st.sampled_from([None, check(0.2), check(0.65), check(1.0, overlap=0.0)])), max_size=40)


@settings(deadline=None, max_examples=60)
@given(events)
def test_whatever_happens_the_answer_is_consistent(happened):
    run = Run(5, lost_frames=5)
    other = TrackingMonitor(TrackingConfig(lost_frames=5))
    other.restore(json.loads(json.dumps(run.monitor.state())))
    lost = 0
    for step, gap_ns, image, confidence, provisional, broken, photometric in happened:
        known = {'image': image, 'confidence': confidence, 'provisional': provisional,
                 'photometric': photometric, **({'pose': None} if broken else {})}
        tracking = run.next(step, gap_ns, **known)
        known.setdefault('pose', pose(z=run.z))
        # A restored monitor goes on exactly as the one it was taken from.
        assert other.observe(Observation(run.stamp_ns, **known)) == tracking
        assert 0 <= tracking.score <= 1
        assert (tracking.score == 0) == (tracking.state == LOST)
        assert (tracking.reason == '') == (tracking.state in (TRACKING, INITIALISING))
        lost = (lost + 1 if tracking.state == LOST
                else 0 if tracking.state in (TRACKING, INITIALISING) else lost)
        assert run.monitor.lost_in_a_row == lost
        assert run.monitor.restart_due == (
            lost >= 5 and image.usable and tracking.state == LOST)
        if run.monitor.restart_due:
            run.monitor.restarted()
            other.restarted()
            lost = 0


@pytest.mark.parametrize(('name', 'value'), [
    ('lost_frames', 0), ('recover_frames', 0), ('memory_frames', 1.5), ('frozen_frames', -1),
    ('speed_factor', 0.5), ('speed', -1), ('step', float('nan')), ('turn_deg', True),
    ('confidence', 1.5), ('residual', -0.1), ('sharpness', 2), ('similarity', '1'),
    ('gap_s', float('inf')),
])
def test_settings_are_checked(name, value):
    with pytest.raises(ConfigError, match=name):
        TrackingConfig(**{name: value})
