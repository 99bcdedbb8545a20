# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Streams without an end around a network that knows the truth.

The network answers each segment in another world and unit: whatever is not joined exactly shows.
"""

from box_room import blurred, BoxRoom, pose
from lingbot_ros import SegmentConfig, StreamConfig, StreamSession, TrackingConfig
from lingbot_ros.errors import StateError
from lingbot_ros.geometry.rigid import invert_transform
from lingbot_ros.geometry.rotation import rotation_angle
from lingbot_ros.streaming.continuity import FADE_FRAMES
import numpy as np
from oracle_network import OracleNetwork, unit_of
import pytest
from safetensors.torch import load_file, save_file
import torch

ROOM, OTHER_ROOM = BoxRoom(0), BoxRoom(31)
FRAME_NS = 33_333_333
LOST_FRAMES = 4


def path(frame: float) -> np.ndarray:
    """Where a hand holds the camera at a frame; for ever inside the room."""
    return pose(0.8 * np.sin(frame / 25), 0.1 * np.sin(frame / 7), 0.8 * np.sin(frame / 60),
                turn=(0.06 * np.sin(frame / 9), 0.35 * np.sin(frame / 18), 0.03 * np.sin(frame)))


def config(**changes):
    return StreamConfig.endless(**{
        'anchor_frames': 4, 'window': 4, 'camera_iterations': 1, 'image_size': 112,
        'segments': SegmentConfig(20, 4), 'tracking': TrackingConfig(lost_frames=LOST_FRAMES),
        **changes})


class Camera:
    """A session, and the frames of a path that go into it."""

    def __init__(self, network=None, **changes):
        self.network = network or OracleNetwork()
        self.session = StreamSession(self.network, config(**changes))
        self.frame = 0
        self.stamp_ns = 0

    def see(self, image, gap_ns=FRAME_NS):
        self.stamp_ns += gap_ns
        estimate, = self.session.push(image, self.stamp_ns)
        return estimate

    def image(self, at=None, room=ROOM):
        at = self.frame if at is None else at
        return self.network.render(room, path(at), seed=int(at))

    def walk(self, frames, room=ROOM):
        estimates = []
        for _ in range(frames):
            estimates.append(self.see(self.image(room=room)))
            self.frame += 1
        return estimates

    @property
    def snapshot(self):
        return self.session.snapshot()


def states(estimates):
    return [str(e.tracking.state) for e in estimates]


def true_pose(frame, unit):
    T = invert_transform(path(0)) @ path(frame)
    T[:3, 3] *= unit
    return T


def assert_near(estimate, frame, unit, position=0.01, degrees=0.1):
    difference = invert_transform(true_pose(frame, unit)) @ estimate.T_world_camera
    assert np.linalg.norm(difference[:3, 3]) < position
    assert np.degrees(rotation_angle(difference[:3, :3])) < degrees


# The first complete anchors fix the unit.
UNIT = unit_of(0, 4)


def test_poses_and_depth_keep_one_world_and_one_unit_over_all_segments():
    camera = Camera()
    estimates = camera.walk(170)
    assert camera.snapshot.segment >= 4
    settled = next(e.frame_index for e in estimates if e.segment == 1) + FADE_FRAMES
    for estimate in estimates[settled:]:
        assert_near(estimate, estimate.frame_index, UNIT)
        depth = camera.network.truth.depths[estimate.frame_index]
        assert torch.allclose(estimate.depth, depth * UNIT, rtol=1e-3)
    assert set(states(estimates[settled:])) == {'tracking'}
    assert states(estimates)[0] == 'initialising'
    join = camera.snapshot.last_join
    assert join.rotation_deg < 0.01 and join.translation_relative < 0.01
    assert join.inlier_fraction == 1 and join.shared_frames == 4


def test_the_first_steps_are_provisional_and_go_over_without_a_jump():
    camera = Camera()
    estimates = camera.walk(60)
    state = states(estimates)
    assert state[0] == 'initialising' and state[-1] == 'tracking'
    steps = np.linalg.norm(np.diff([e.T_world_camera[:3, 3] for e in estimates], axis=0), axis=1)
    truth = np.linalg.norm(np.diff([path(i)[:3, 3] for i in range(60)], axis=0), axis=1)
    assert (steps < 2.5 * max(UNIT, unit_of(0, 1)) * truth.max()).all()


def test_a_scale_change_beyond_a_factor_is_flagged():
    camera = Camera()
    while camera.snapshot.joins < 5:
        camera.walk(1)
    assert camera.snapshot.bad_joins >= 1, 'some units differ by more than 2'


def test_noise_of_the_network_does_not_add_up_at_a_join():
    camera = Camera(OracleNetwork(noise=0.01))
    estimates = camera.walk(150)
    assert camera.snapshot.segment >= 3
    assert_near(estimates[-1], 149, UNIT, position=0.12, degrees=2)


@pytest.mark.parametrize('stop', [1, 4, 7, 13, 40, 55, 57, 60, 63, 66])
def test_a_saved_session_goes_on_exactly(tmp_path, stop):
    """Stops lie in the first anchors, in the preparation of a segment, and between."""
    camera = Camera(OracleNetwork(noise=0.002))
    camera.walk(stop)
    camera.session.save(tmp_path / 'state')
    expected = camera.walk(30)
    again = Camera(camera.network)
    again.session.load(tmp_path / 'state')
    again.frame, again.stamp_ns = stop, stop * FRAME_NS
    for a, b in zip(again.walk(30), expected, strict=True):
        np.testing.assert_array_equal(a.T_world_camera, b.T_world_camera)
        np.testing.assert_array_equal(a.pose_encoding, b.pose_encoding)
        np.testing.assert_array_equal(a.covariance, b.covariance)
        assert torch.equal(a.depth, b.depth)
        assert (a.frame_index, a.stamp_ns, a.segment, a.is_keyframe, a.tracking) == (
            b.frame_index, b.stamp_ns, b.segment, b.is_keyframe, b.tracking)
    assert {**vars(again.snapshot), 'stage_seconds': 0} == {**vars(camera.snapshot),
                                                            'stage_seconds': 0}


def test_a_state_of_another_model_or_setting_is_refused(tmp_path):
    camera = Camera()
    camera.walk(3)
    file = tmp_path / 'state'
    camera.session.save(file)
    other = OracleNetwork()
    other.camera_head.embed_pose.weight.data[0, 0] += 1
    with pytest.raises(StateError, match='another model'):
        StreamSession(other, config()).load(file)
    with pytest.raises(StateError, match='other settings .window: saved 4, here 5'):
        StreamSession(OracleNetwork(), config(window=5)).load(file)


def test_a_damaged_state_is_refused_and_changes_nothing(tmp_path):
    camera = Camera()
    camera.walk(3)
    file = tmp_path / 'state'
    camera.session.save(file)
    good = file.read_bytes()
    damaged = bytearray(good)
    damaged[-100] ^= 1
    cases = {'cut': good[:-50], 'empty': b'', 'text': b'not a state at all', 'flip': damaged}
    for name, data in cases.items():
        file.write_bytes(data)
        with pytest.raises(StateError, match='cannot read|damaged'):
            camera.session.load(file)
        assert camera.session.frames == 3, name
    with pytest.raises(StateError, match='cannot read'):
        camera.session.load(tmp_path / 'missing')
    save_file({'a': torch.zeros(1)}, file)
    with pytest.raises(StateError, match='no saved session'):
        camera.session.load(file)
    file.write_bytes(good)
    save_file(load_file(file), file, {'format': 'lingbot_ros session', 'version': '0'})
    with pytest.raises(StateError, match='has version 0, this program reads 2'):
        camera.session.load(file)
    with pytest.raises(StateError, match='cannot write'):
        camera.session.save(tmp_path / 'missing' / 'state')
    camera.walk(1)


# Faults.

WARM = 70


@pytest.fixture
def warm():
    """A camera that has walked for a while, over a join."""
    camera = Camera()
    estimates = camera.walk(WARM)
    assert states(estimates)[-1] == 'tracking' and camera.snapshot.joins >= 2
    camera.last = estimates[-1]
    return camera


def assert_held(estimates, last):
    for estimate in estimates:
        assert str(estimate.tracking.state) == 'lost' and estimate.tracking.score == 0
        assert estimate.depth is None and not estimate.is_keyframe
        np.testing.assert_array_equal(estimate.T_world_camera, last.T_world_camera)


def test_black_frames_are_lost_and_leave_nothing(warm):
    before = warm.snapshot
    black = [warm.see(torch.zeros(3, 84, 112)) for _ in range(3 * LOST_FRAMES)]
    assert_held(black, warm.last)
    assert 'dark' in black[0].tracking.reason
    assert (warm.snapshot.keyframes, warm.snapshot.segment) == (before.keyframes, before.segment)
    after = warm.walk(12)
    assert states(after)[-1] == 'tracking'
    assert_near(after[-1], warm.frame - 1, UNIT)


def test_a_cut_to_another_scene_starts_anew_at_the_last_pose(warm):
    estimates = warm.walk(40, room=OTHER_ROOM)
    state = states(estimates)
    assert state[:LOST_FRAMES] == ['lost'] * LOST_FRAMES
    assert state[-1] == 'tracking'
    restart = next(e for e in estimates if str(e.tracking.state) != 'lost')
    np.testing.assert_allclose(restart.T_world_camera, warm.last.T_world_camera)
    assert 'started anew' in restart.tracking.reason
    assert warm.snapshot.bad_joins


def test_a_restart_says_why(warm):
    joins = warm.snapshot.joins
    while warm.snapshot.joins == joins:
        warm.walk(1, room=OTHER_ROOM)
    join = warm.snapshot.last_join
    assert (join.kind, join.shared_frames, join.segment) == ('restart', 0, warm.snapshot.segment)
    assert 'which was lost: image' in join.bad and 'restart' in join.summary
    assert warm.snapshot.joins == joins + 1, 'keyframes that did not know the place do not count'


def test_a_camera_that_comes_back_is_found_by_the_last_keyframes(warm):
    """Cut away until the search begins, then back: the keyframes of the ring know the place."""
    warm.walk(LOST_FRAMES + 1, room=OTHER_ROOM)
    warm.frame = WARM
    # The segment in service cannot answer any more; the ring can.
    warm.session._track._judge._monitor._good_pose[:3, 3] += 1e6
    estimates = warm.walk(30)
    found = [e for e in estimates if 'last keyframes' in e.tracking.reason]
    assert len(found) == 1
    assert_near(found[0], found[0].frame_index - LOST_FRAMES - 1, UNIT)
    assert states(estimates)[-1] == 'tracking'
    assert_near(estimates[-1], warm.frame - 1, UNIT)


def test_repeated_frames_are_degraded_and_still(warm):
    image = warm.image(warm.frame - 1)
    frozen = [warm.see(image) for _ in range(20)]
    assert states(frozen)[-1] == 'degraded' and 'frozen' in frozen[-1].tracking.reason
    for estimate in frozen[4:]:
        np.testing.assert_array_equal(estimate.T_world_camera, frozen[3].T_world_camera)
    assert not any(e.is_keyframe for e in frozen)
    assert states(warm.walk(12))[-1] == 'tracking'


def test_shuffled_frames_are_not_believed(warm):
    order = np.random.default_rng(3).permutation(60)
    estimates = [warm.see(warm.image(WARM + 4 * i, OTHER_ROOM if i % 2 else ROOM)) for i in order]
    assert states(estimates).count('tracking') < 6
    assert states(estimates).count('lost') > 10


def test_heavy_blur_is_degraded(warm):
    estimates = []
    for _ in range(6):
        sharp = warm.image()
        warm.frame += 1
        estimates.append(warm.see(warm.network.know(blurred(sharp, 4.0), sharp)))
    assert 'tracking' not in states(estimates)
    assert not any(e.is_keyframe for e in estimates)
    assert states(warm.walk(12))[-1] == 'tracking'


def test_a_network_without_answers_is_lost_and_comes_back(warm):
    warm.network.broken = True
    estimates = warm.walk(3 * LOST_FRAMES)
    assert_held(estimates, warm.last)
    assert 'not finite' in estimates[0].tracking.reason
    warm.network.broken = False
    warm.frame = WARM
    after = warm.walk(8)
    assert states(after)[-1] == 'tracking'
    assert_near(after[-1], warm.frame - 1, UNIT)


def test_a_gap_of_ten_seconds_is_said(warm):
    gap = warm.see(warm.image(), gap_ns=10_000_000_000)
    assert str(gap.tracking.state) == 'degraded' and 'no image for 10.0 s' in gap.tracking.reason
    warm.frame += 1
    assert states(warm.walk(6))[-1] == 'tracking'


def test_a_stream_that_begins_in_the_dark_begins_with_the_first_light():
    camera = Camera()
    dark = [camera.see(torch.zeros(3, 84, 112)) for _ in range(6)]
    assert states(dark) == ['lost'] * 6
    estimates = camera.walk(60)
    assert states(estimates)[-1] == 'tracking'
    np.testing.assert_allclose(estimates[0].T_world_camera, np.eye(4), atol=1e-6)
