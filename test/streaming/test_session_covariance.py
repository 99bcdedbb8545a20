# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Covariances that a session states, around a network that knows the truth."""

from lingbot_ros import StreamConfig, StreamSession
from lingbot_ros.streaming.measures import typical_depth
import numpy as np
from oracle_network import OracleNetwork
import pytest
from test_endless import Camera, LOST_FRAMES, OTHER_ROOM, path, ROOM, states
import torch


def deviations(estimate) -> tuple[float, float]:
    P = estimate.covariance
    return float(np.sqrt(np.trace(P[:3, :3]))), float(np.sqrt(np.trace(P[3:, 3:])))


def assert_covariances(estimates) -> None:
    for estimate in estimates:
        P = estimate.covariance
        assert P.shape == (6, 6)
        assert np.isfinite(P).all()
        np.testing.assert_array_equal(P, P.T)
        assert np.linalg.eigvalsh(P).min() > 0


def test_it_grows_with_the_way_and_at_joins():
    camera = Camera()
    estimates = camera.walk(120)
    assert_covariances(estimates)
    assert camera.snapshot.joins >= 2
    rotation = [deviations(e)[1] for e in estimates]
    position = [deviations(e)[0] for e in estimates]
    assert rotation[20] < rotation[60] < rotation[119]
    assert position[20] < position[60] < position[119]


def test_a_camera_at_rest_does_not_become_less_sure():
    camera = Camera()
    moved = camera.walk(60)[-1]
    here = path(camera.frame - 1)
    rest = [camera.see(camera.network.render(ROOM, here, 1000 + i)) for i in range(40)]
    assert set(states(rest)) == {'tracking'}
    assert deviations(rest[-1])[1] < 1.05 * deviations(moved)[1]


def test_lost_frames_are_less_and_less_sure_and_recovery_is_not():
    camera = Camera()
    before = camera.walk(70)[-1]
    black = [camera.see(torch.zeros(3, 84, 112)) for _ in range(LOST_FRAMES)]
    assert_covariances(black)
    position = [deviations(before)[0], *[deviations(e)[0] for e in black]]
    assert position == sorted(position)
    after = camera.walk(8)[-1]
    assert states([after]) == ['tracking']
    assert deviations(after)[0] < 1.5 * deviations(before)[0]


def test_a_restart_is_much_less_sure_for_ever():
    camera = Camera()
    before = camera.walk(70)[-1]
    estimates = camera.walk(40, room=OTHER_ROOM)
    restarted = next(e for e in estimates if 'started anew' in e.tracking.reason)
    assert_covariances(estimates)
    for estimate in (restarted, estimates[-1]):
        assert deviations(estimate)[0] > 2 * deviations(before)[0]
        assert deviations(estimate)[1] > 0.3


def test_without_a_judge_nothing_is_stated():
    network = OracleNetwork()
    session = StreamSession(network, StreamConfig(
        anchor_frames=2, window=4, camera_iterations=1, image_size=112, max_keyframes=8))
    camera = Camera(network)
    estimates = [e for i in range(4) for e in session.push(camera.image(i), i)]
    assert [e.covariance for e in estimates] == [None] * 4


@pytest.mark.parametrize('far', [1e3, 1e6])
def test_typical_depth_is_that_of_what_is_near(far):
    depth = torch.full((4, 4), 2.0)
    assert typical_depth(depth) == 2
    depth[:2] = far  # the sky
    assert typical_depth(depth) == pytest.approx(4, rel=0.01)
    assert not typical_depth(depth * float('nan')).isfinite()
    assert typical_depth(depth.to('meta')).device.type == 'meta'  # nothing waits for the device
