# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
import golden
from lingbot_ros.errors import ImageError, ShapeError
from lingbot_ros.streaming.preprocess import crop_geometry, preprocess
import numpy as np
import pytest

CASES = ('landscape_vga', 'wide_kitti', 'tall_phone', 'upscale', 'exact', 'crop_tall')


@pytest.mark.parametrize('name', CASES)
def test_equals_reference(name):
    case = golden.load('preprocess_crop')
    out = preprocess(case[f'{name}_in'], int(case['image_size']), int(case['patch_size']))
    np.testing.assert_array_equal(out, case[f'{name}_out'])


def test_intrinsics_go_back_to_the_camera_image():
    """A point seen through the processed K lands on the same ray through the camera's K."""
    plan = crop_geometry(480, 320, 126, 14)  # tall: resized to 189 -> 182 or 196 rows, cropped
    assert plan.size == (126, 126) and plan.top > 0
    K = plan.source_intrinsics(np.array([[100.0, 0, 63], [0, 110, 63], [0, 0, 1]]))
    assert K[0, 0] == pytest.approx(100 * 320 / 126)
    assert K[1, 1] == pytest.approx(110 * 480 / plan.resized[0])
    assert K[0, 2] == pytest.approx(160) and K[1, 2] == pytest.approx(
        (63 + plan.top) * 480 / plan.resized[0])


@pytest.mark.parametrize('image', [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 4), np.uint8),
                                   np.zeros((4, 4, 3), np.float32)])
def test_other_arrays_are_refused(image):
    with pytest.raises(ShapeError, match=r'expected an RGB image uint8 \[H, W, 3\], got'):
        preprocess(image, 56, 14)


def test_empty_and_too_wide_images_are_refused():
    with pytest.raises(ImageError, match='with pixels, got 0 x 4'):
        preprocess(np.zeros((4, 0, 3), np.uint8), 56, 14)
    with pytest.raises(ImageError, match='too tall'):
        preprocess(np.zeros((60000, 1, 3), np.uint8), 518, 14)
    with pytest.raises(ImageError, match='too wide'):
        preprocess(np.zeros((4, 400, 3), np.uint8), 56, 14)
