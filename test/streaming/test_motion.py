# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Motion in the image, against the painted room that knows it."""

from box_room import BoxRoom, encoding, K, pose, SIZE
from hypothesis import given, settings
from hypothesis import strategies as st
from lingbot_ros.geometry.rigid import invert_transform
from lingbot_ros.geometry.rotation import matrix_from_quat_xyzw
from lingbot_ros.streaming.motion import (
    apparent_motion,
    MotionReference,
    rotation_of,
    thumbnail,
)
from lingbot_ros.streaming.rest import Rest, REST_FRAMES, REST_MOTION
import numpy as np
import pytest
import torch

ROOM = BoxRoom(0)
small = st.floats(-1, 1).filter(lambda value: abs(value) > 1e-3)


@given(st.tuples(small, small, small, small))
def test_rotation_of_an_encoding(quat):
    values = torch.zeros(9)
    values[3:7] = torch.tensor(quat)
    np.testing.assert_allclose(rotation_of(values), matrix_from_quat_xyzw(quat), atol=1e-5)


@settings(deadline=None, max_examples=20)
@given(x=st.floats(-0.3, 0.3), z=st.floats(-0.3, 0.3), turn=st.floats(-0.2, 0.2))
def test_motion_is_the_mean_way_of_the_pixels(x, z, turn):
    first, then = pose(), pose(x, 0, z, (0, turn, 0))
    _, depth = ROOM.render(first)
    got = float(MotionReference.of(encoding(first), depth).motion(encoding(then)))
    v, u = np.mgrid[:SIZE[0], :SIZE[1]] + 0.5
    points = np.stack([(u - K[0, 2]) / K[0, 0], (v - K[1, 2]) / K[1, 1], np.ones(SIZE)], -1)
    points = points * depth.numpy()[..., None]
    there = points @ (invert_transform(then) @ first)[:3, :3].T + (
        invert_transform(then) @ first)[:3, 3]
    seen = there @ K.T
    way = np.linalg.norm(seen[..., :2] / seen[..., 2:] - np.stack([u, v], -1), axis=-1)
    assert got == pytest.approx(float((way / SIZE[1]).mean()), rel=0.1, abs=2e-4)


def test_what_is_behind_the_camera_has_moved_as_far_as_can_be():
    _, depth = ROOM.render(pose())
    reference = MotionReference.of(encoding(pose()), depth)
    assert float(reference.motion(encoding(pose(turn=(0, np.pi, 0))))) == pytest.approx(1)


def test_no_field_of_view_and_no_depth_give_a_number_that_means_far_or_nothing():
    values = encoding(pose())
    values[7:] = 0
    reference = MotionReference.of(values, torch.full(SIZE, float('nan')))
    assert float(reference.motion(encoding(pose()))) == pytest.approx(1)


def test_a_shift_of_the_image_is_measured_by_its_texture():
    first, _ = ROOM.render(pose())
    for degrees in (0.3, 0.6):
        turned, _ = ROOM.render(pose(turn=(0, np.radians(degrees), 0)))
        moved = float(apparent_motion(thumbnail(turned), thumbnail(first)))
        assert moved == pytest.approx(np.radians(degrees) * K[0, 0] / SIZE[1], rel=0.6)


def test_noise_and_exposure_are_no_motion_and_a_slow_turn_is():
    first, _ = ROOM.render(pose(), 0.01, 1)
    rest = Rest()
    rest.start(thumbnail(first))
    for seed in range(2, 8):
        again, _ = ROOM.render(pose(), 0.01, seed)
        brighter = thumbnail((again + 0.02).clamp_max(1))
        assert rest.update(float(apparent_motion(brighter, rest.reference)), brighter)
    resting = []
    for step in range(12):
        image, _ = ROOM.render(pose(turn=(0, 2e-3 * step, 0)), 0.01, step)
        small_image = thumbnail(image)
        resting.append(rest.update(
            float(apparent_motion(small_image, rest.reference)), small_image))
    assert not any(resting[-REST_FRAMES:]), f'2 mrad a frame are over {REST_MOTION} of the width'
