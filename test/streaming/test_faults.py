# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Faults of a camera in front of the embedded weights, through the whole session.

The camera is the rendered one of the demo's bag; the other place is a real recording. What is
checked is what must hold for any weights that were trained: the fault is named, a pose that means
nothing is not handed out as good, and afterwards the stream goes on.
"""

from __future__ import annotations

from collections import Counter
import copy
from pathlib import Path

from lingbot_ros import load_network, recommended_stream, StreamSession, TrackingState
from lingbot_ros.model import embedded
from lingbot_ros.sources.bag import BagSource
import numpy as np
from PIL import Image, ImageFilter
import pytest

DEMO = Path(__file__).resolve().parents[1] / 'data' / 'demo'
WEIGHTS = Path(embedded.__file__).parents[1] / 'weights' / embedded.WEIGHTS_NAME
WARM, STEP_NS = 40, 66_666_667
LOST, DEGRADED = TrackingState.LOST, TrackingState.DEGRADED

pytestmark = [
    pytest.mark.slow, pytest.mark.timeout(900),
    pytest.mark.skipif(not WEIGHTS.exists(), reason='the weights are not in the tree yet')]


def images(bag: str) -> list[np.ndarray]:
    return [frame.image for frame in BagSource(DEMO / bag)]


@pytest.fixture(scope='module')
def world() -> list[np.ndarray]:
    return images('world')


@pytest.fixture(scope='module')
def elsewhere() -> list[np.ndarray]:
    return images('rpy')


@pytest.fixture(scope='module')
def network():
    return load_network('embedded', 'cpu', 'fp32')


class Camera:
    """A session and the stamps of its camera."""

    def __init__(self, network) -> None:
        self.session = StreamSession(network, recommended_stream(network).without_end())
        self.stamp_ns = 0

    def see(self, image, gap_ns=STEP_NS):
        self.stamp_ns += gap_ns
        estimate, = self.session.push(np.ascontiguousarray(image), self.stamp_ns)
        return estimate

    def watch(self, frames):
        return [self.see(image) for image in frames]


@pytest.fixture(scope='module')
def healthy(network, world, tmp_path_factory):
    """The stream before any fault, with a file that goes on from there."""
    camera = Camera(network)
    estimates = camera.watch(world[:WARM])
    file = tmp_path_factory.mktemp('session') / 'state'
    camera.session.save(file)
    return estimates, file


@pytest.fixture
def warm(network, healthy):
    camera = Camera(network)
    camera.session.load(healthy[1])
    camera.stamp_ns = WARM * STEP_NS
    return camera


def assert_not_handed_out(lost, last) -> None:
    for estimate in lost:
        assert (estimate.tracking.state, estimate.tracking.score) == (LOST, 0)
        assert estimate.depth is None
        assert not estimate.is_keyframe
        np.testing.assert_array_equal(estimate.T_world_camera, last.T_world_camera)


def test_without_a_fault_nothing_is_lost(healthy):
    estimates, _ = healthy
    states = Counter(str(e.tracking.state) for e in estimates)
    assert states['lost'] == 0
    assert states['degraded'] <= 0.2 * WARM, [e.tracking.reason for e in estimates]


def test_black_frames(warm, world, healthy):
    black = warm.watch([np.zeros_like(world[0])] * 15)
    assert_not_handed_out(black, healthy[0][-1])
    assert all(e.tracking.reason.startswith('image dark') for e in black)
    after = warm.watch(world[WARM:WARM + 8])
    assert LOST not in [e.tracking.state for e in after]
    assert warm.session.snapshot().segment == healthy[0][-1].segment


def test_a_cut_to_another_scene(warm, world, elsewhere, healthy):
    estimates = warm.watch(elsewhere[:30])
    lost = [e for e in estimates if e.tracking.state is LOST]
    assert len(lost) >= warm.session.config.tracking.lost_frames - 1
    assert estimates[0] is lost[0]
    assert lost[0].tracking.reason.startswith('image of another place')
    assert_not_handed_out(lost[:5], healthy[0][-1])
    # A new segment begins there, at the last good pose, and is less sure.
    assert warm.session.snapshot().bad_joins > 0
    anew = next(e for e in estimates if e.tracking.state is not LOST)
    np.testing.assert_allclose(anew.T_world_camera, healthy[0][-1].T_world_camera)
    more = np.diag(anew.covariance) - np.diag(healthy[0][-1].covariance)
    restart = warm.session.config.covariance
    assert more[3:].min() > 0.9 * restart.restart_rotation**2
    assert more[:3].min() > 0
    assert estimates[-1].tracking.state is not LOST


def test_repeated_frames(warm, world):
    estimates = warm.watch([world[WARM]] * 10)
    assert [e.tracking.state for e in estimates[3:]] == [DEGRADED] * 7
    assert estimates[-1].tracking.reason == 'image frozen for 9 frames'
    assert LOST not in [e.tracking.state for e in warm.watch(world[WARM + 1:WARM + 5])]


def test_shuffled_frames(warm, world, elsewhere):
    frames = [*world[WARM:WARM + 15], *elsewhere[:15]]
    order = np.random.default_rng(0).permutation(len(frames))
    estimates = warm.watch([frames[i] for i in order])
    # What shows the other place is lost, unless the stream has begun anew there by then.
    states = Counter(e.tracking.state for e in estimates)
    assert states[LOST] >= 8
    assert states[LOST] + states[DEGRADED] >= 0.7 * len(estimates)


def test_heavy_blur(warm, world):
    soft = [np.asarray(Image.fromarray(image).filter(ImageFilter.GaussianBlur(6)))
            for image in world[WARM:WARM + 5]]
    estimates = warm.watch(soft)
    assert all(e.tracking.state in (DEGRADED, LOST) for e in estimates)
    assert estimates[0].tracking.reason.startswith('image blurred')
    assert not any(e.is_keyframe for e in estimates)


def test_weights_that_are_not_finite(network, world, healthy):
    broken = copy.deepcopy(network)
    camera = Camera(broken)
    camera.session.load(healthy[1])
    camera.stamp_ns = WARM * STEP_NS
    joins = camera.session.snapshot().joins
    broken.camera_head.empty_pose_tokens.data.fill_(float('nan'))
    estimates = camera.watch(world[WARM:WARM + 14])
    assert all(e.tracking.reason == 'pose not finite' for e in estimates[:4])
    assert_not_handed_out(estimates, healthy[0][-1])
    # To start anew would not help.
    assert camera.session.snapshot().joins == joins


@pytest.mark.parametrize('moved_on', [0, 3])
def test_a_gap_of_ten_seconds(warm, world, moved_on):
    gap = warm.see(world[WARM + moved_on], gap_ns=10_000_000_000)
    assert gap.tracking.state in (DEGRADED, LOST)
    assert gap.tracking.reason.startswith('no image for 10.0 s') or gap.tracking.state is LOST
    after = warm.watch(world[WARM + moved_on + 1:WARM + moved_on + 6])
    assert after[-1].tracking.state is not LOST
