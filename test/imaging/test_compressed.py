# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""decode_compressed: what is inside decides, cut files are refused."""

from __future__ import annotations

import array

import cv2
from lingbot_ros.errors import ImageError
from lingbot_ros.imaging.compressed import decode_compressed
import numpy as np
import pytest

Y, X = np.mgrid[0:48, 0:64]
RGB = np.stack([4 * X, 5 * Y, 255 - 2 * X - 2 * Y], -1).astype(np.uint8)


def encode(image, kind='.png'):
    ok, data = cv2.imencode(kind, image)
    assert ok
    return data.tobytes()


@pytest.mark.parametrize('text', [
    '', 'jpeg', 'jpg', 'png', 'bgr8; jpeg compressed bgr8', 'rgb8; jpeg compressed bgr8',
    'mono8; png compressed ', 'nonsense'])
@pytest.mark.parametrize('kind', ['.png', '.jpg', '.webp'])
def test_content_decides_whatever_the_format_says(kind, text):
    got = decode_compressed(encode(RGB[..., ::-1], kind), text)
    assert got.dtype == np.uint8
    assert np.abs(got.astype(int) - RGB).max() <= {'.png': 0, '.jpg': 12, '.webp': 24}[kind]


def test_alpha_is_dropped_and_grey_repeated():
    alpha = np.full((48, 64, 1), 3, np.uint8)
    bgra = np.concatenate([RGB[..., ::-1], alpha], -1)
    np.testing.assert_array_equal(decode_compressed(encode(bgra)), RGB)
    grey = decode_compressed(encode(RGB[..., 0]))
    np.testing.assert_array_equal(grey, np.repeat(RGB[..., :1], 3, -1))


def test_16_bit_png_is_reduced_unless_it_is_depth():
    data = encode(RGB[..., 0].astype(np.uint16) * 257)
    np.testing.assert_array_equal(decode_compressed(data, 'mono16; png compressed '),
                                  np.repeat(RGB[..., :1], 3, -1))
    wide = encode(RGB[..., ::-1].astype(np.uint16) * 257)
    np.testing.assert_array_equal(decode_compressed(wide), RGB)
    for text in ('16UC1', '16UC1; png compressed ', '16UC1; compressedDepth png',
                   '32FC1; compressedDepth rvl'):
        with pytest.raises(ImageError, match='is a depth map, not a picture'):
            decode_compressed(data, text)


def test_raw_bayer_picture_inside_png_is_demosaiced():
    red = np.zeros((8, 8), np.uint8)
    red[0::2, 0::2] = 180
    for raw in (red, red.astype(np.uint16) * 257):
        got = decode_compressed(encode(raw), 'bayer_rggb8; png compressed bayer_rggb8')
        np.testing.assert_array_equal(got[3, 3], (180, 0, 0))


@pytest.mark.parametrize('kind', ['.png', '.jpg', '.webp'])
def test_cut_files_are_refused_at_every_length(kind):
    data = encode(RGB[..., ::-1], kind)
    for length in (1, 3, 12, 40, len(data) // 2, len(data) - 16):
        with pytest.raises(ImageError, match='cut off|no image|cannot be decoded'):
            decode_compressed(data[:length], 'jpeg')


def test_a_thumbnail_does_not_hide_that_the_picture_is_cut():
    thumbnail = encode(RGB[:16, :16], '.jpg')
    picture = encode(RGB, '.jpg')
    header = b'\xff\xe1' + (len(thumbnail) + 2).to_bytes(2, 'big') + thumbnail
    whole = picture[:2] + header + picture[2:]
    assert decode_compressed(whole).shape == (48, 64, 3)
    with pytest.raises(ImageError, match='cut off'):
        decode_compressed(whole[:-2])


def test_empty_and_foreign_content():
    with pytest.raises(ImageError, match=r"empty \(format 'jpeg', 0 bytes\)"):
        decode_compressed(b'', 'jpeg')
    with pytest.raises(ImageError, match="64 bytes .*'h264'.* expected JPEG, PNG or WebP"):
        decode_compressed(bytes(64), 'h264')


def test_kinds_of_buffer():
    data = encode(RGB[..., ::-1])
    for buffer in (bytearray(data), memoryview(data), array.array('B', data),
                   np.frombuffer(data, np.uint8)):
        np.testing.assert_array_equal(decode_compressed(buffer), RGB)
