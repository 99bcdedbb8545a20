# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
import golden
from lingbot_ros.errors import NonFinitePoseError, ShapeError
from lingbot_ros.geometry.pose_encoding import decode_intrinsics, decode_pose
import numpy as np
import pytest


def test_reference_poses_and_intrinsics():
    case = golden.load('pose_encoding')
    size = int(case['image_height']), int(case['image_width'])
    for encoding, pose, K in zip(case['pose_enc'], case['world_from_camera'], case['intrinsics'],
                                 strict=True):
        np.testing.assert_allclose(decode_pose(encoding)[:3], pose, atol=2e-6)
        np.testing.assert_allclose(decode_intrinsics(encoding, *size), K, rtol=2e-6, atol=2e-6)


def test_quaternion_sign_and_length_do_not_matter():
    encoding = golden.load('pose_encoding')['pose_enc'][3].copy()
    pose = decode_pose(encoding)
    encoding[3:7] *= -5
    np.testing.assert_allclose(decode_pose(encoding), pose, atol=1e-12)


@pytest.mark.parametrize('bad', [np.nan, np.inf])
@pytest.mark.parametrize('index', range(9))
def test_non_finite_numbers_are_no_pose(bad, index):
    encoding = np.ones(9, np.float32)
    encoding[index] = bad
    with pytest.raises(NonFinitePoseError, match='nine finite numbers'):
        decode_pose(encoding)


def test_zero_quaternion_is_no_pose():
    with pytest.raises(NonFinitePoseError, match='norm 0'):
        decode_pose(np.r_[1, 2, 3, np.zeros(4), 1, 1])


def test_wrong_length_is_refused():
    with pytest.raises(ShapeError, match='9 numbers'):
        decode_pose(np.ones(7))


def test_zero_field_of_view_has_infinite_focal_length():
    assert np.isinf(decode_intrinsics(np.zeros(9), 10, 10)[0, 0])
