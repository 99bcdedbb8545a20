# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""decode_image against images whose colours are known."""

from __future__ import annotations

import array
import os
from pathlib import Path
from types import SimpleNamespace

import cv2
from lingbot_ros.errors import ImageError
from lingbot_ros.imaging.encodings import decode_image, SUPPORTED_ENCODINGS, to_8bit
import numpy as np
import pytest

H, W = 6, 8
SAMPLE = np.random.default_rng(7).integers(0, 256, (H, W, 3), dtype=np.uint8)
BAYER = {'rggb': 'RGGB', 'bggr': 'BGGR', 'gbrg': 'GBRG', 'grbg': 'GRBG'}


def smooth(height=40, width=48):
    """Return slow colour ramps, which demosaicing must give back almost exactly."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    red, green, blue = 30 + 3 * x, 60 + 3 * y, 200 - 2 * x - y
    return np.stack([red, green, blue], -1).round().astype(np.uint8)


def mosaic(rgb, pattern):
    """Keep one colour a pixel, as a sensor with this pattern at its top left corner."""
    out = np.zeros(rgb.shape[:2], rgb.dtype)
    for k, letter in enumerate(pattern):
        out[k // 2::2, k % 2::2] = rgb[k // 2::2, k % 2::2, 'RGB'.index(letter)]
    return out


def padded(pixels, pad, fill=0xEE):
    """Return bytes of rows and their step, with `pad` bytes of fill behind each row."""
    rows = np.ascontiguousarray(pixels).reshape(pixels.shape[0], -1).view(np.uint8)
    rows = np.pad(rows, ((0, 0), (0, pad)), constant_values=fill)
    return rows.tobytes(), rows.shape[1]


def colour_cases():
    alpha = np.full((H, W, 1), 9, np.uint8)
    rgb, bgr = SAMPLE, SAMPLE[..., ::-1]
    grey = SAMPLE[..., :1]
    yield 'rgb8', rgb, rgb
    yield 'bgr8', bgr, rgb
    yield '8UC3', bgr, rgb
    yield 'rgba8', np.concatenate([rgb, alpha], -1), rgb
    yield 'bgra8', np.concatenate([bgr, alpha], -1), rgb
    yield '8UC4', np.concatenate([bgr, alpha], -1), rgb
    yield 'mono8', grey, np.repeat(grey, 3, -1)
    yield '8UC1', grey, np.repeat(grey, 3, -1)
    yield from colour_cases_16()


def colour_cases_16():
    wide = SAMPLE.astype(np.uint16) * 257
    alpha = np.full((H, W, 1), 77, np.uint16)
    yield 'rgb16', wide, SAMPLE
    yield 'bgr16', wide[..., ::-1], SAMPLE
    yield 'rgba16', np.concatenate([wide, alpha], -1), SAMPLE
    yield 'bgra16', np.concatenate([wide[..., ::-1], alpha], -1), SAMPLE
    yield 'mono16', wide[..., :1], np.repeat(SAMPLE[..., :1], 3, -1)


@pytest.mark.parametrize('pad', [0, 1, 3, 16])
@pytest.mark.parametrize('bigendian', [0, 1])
@pytest.mark.parametrize('name, pixels, expected', colour_cases(), ids=lambda v: (
    v if isinstance(v, str) else ''))
def test_colours_steps_and_byte_order(name, pixels, expected, bigendian, pad):
    stored = pixels.astype('>u2' if bigendian else '<u2') if '16' in name else pixels
    data, step = padded(stored, pad)
    got = decode_image(data + b'behind', H, W, name, step, bigendian)
    assert got.dtype == np.uint8 and got.shape == (H, W, 3)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize('bits', [8, 16])
@pytest.mark.parametrize('ros', BAYER)
def test_bayer_patterns_give_the_colours_back(ros, bits):
    rgb = smooth()
    raw = mosaic(rgb, BAYER[ros])
    if bits == 16:
        raw = (raw.astype(np.uint16) * 257).astype('>u2')
    data, step = padded(raw, 5)
    got = decode_image(data, *rgb.shape[:2], f'bayer_{ros}{bits}', step, bits == 16)
    inner = (slice(2, -2), slice(2, -2))
    assert np.abs(got[inner].astype(int) - rgb[inner].astype(int)).max() <= 2


def test_bayer_pattern_of_one_pure_colour():
    red = np.zeros((8, 8, 3), np.uint8)
    red[..., 0] = 200
    for ros, pattern in BAYER.items():
        got = decode_image(mosaic(red, pattern), 8, 8, f'bayer_{ros}8', 8, 0)
        np.testing.assert_array_equal(got[2:-2, 2:-2], red[2:-2, 2:-2], err_msg=ros)


def yuv_packed(order):
    """Two known colours as packed 4:2:2: white-ish and a saturated red (BT.601, studio range)."""
    luma, u, v = np.full((H, W), 81, np.uint8), 90, 240
    out = np.zeros((H, W, 2), np.uint8)
    first = 0 if order == 'yuyv' else 1
    out[..., first] = luma
    out[:, 0::2, 1 - first], out[:, 1::2, 1 - first] = u, v
    return out


@pytest.mark.parametrize('name, order', [
    ('yuv422', 'uyvy'), ('uyvy', 'uyvy'), ('yuyv', 'yuyv'), ('yuv422_yuy2', 'yuyv')])
def test_yuv422_red(name, order):
    data, step = padded(yuv_packed(order), 6)
    got = decode_image(data, H, W, name, step, 0)
    assert np.abs(got.astype(int) - (255, 0, 0)).max() <= 3


@pytest.mark.parametrize('name, uv', [('nv12', (90, 240)), ('nv21', (240, 90))])
def test_yuv420_red(name, uv):
    planes = np.full((H * 3 // 2, W), 81, np.uint8)
    planes[H:, 0::2], planes[H:, 1::2] = uv
    data, step = padded(planes, 4)
    got = decode_image(data, H, W, name, step, 0)
    assert got.shape == (H, W, 3)
    assert np.abs(got.astype(int) - (255, 0, 0)).max() <= 3
    with pytest.raises(ImageError, match=rf'expected at least {len(data)} bytes .* got'):
        decode_image(data[:-1], H, W, name, step, 0)


def test_rgb8_is_a_view_without_copy():
    data = bytearray(SAMPLE.tobytes())
    got = decode_image(data, H, W, 'rgb8', 3 * W, 0)
    data[0] ^= 0xFF
    assert got[0, 0, 0] == data[0]
    assert not decode_image(bytes(data), H, W, 'rgb8', 3 * W, 0).flags.writeable


@pytest.mark.parametrize('kind', [bytes, bytearray, memoryview, 'array', 'numpy', 'numpy2d'])
def test_kinds_of_buffer(kind):
    raw = SAMPLE.tobytes()
    data = {'array': lambda: array.array('B', raw), 'numpy': lambda: SAMPLE.reshape(-1),
            'numpy2d': lambda: SAMPLE}.get(kind, lambda: kind(raw))()
    for name, expected in (('rgb8', SAMPLE), ('bgr8', SAMPLE[..., ::-1])):
        np.testing.assert_array_equal(decode_image(data, H, W, name, 3 * W, 0), expected)


def test_16_to_8_bits_is_monotone_and_full_range():
    ramp = np.arange(65536, dtype=np.uint16)
    got = to_8bit(ramp).astype(int)
    assert got[0] == 0 and got[-1] == 255 and (np.diff(got) >= 0).all()
    np.testing.assert_array_equal(got, np.rint(ramp / 257).astype(int))
    assert to_8bit(ramp.reshape(256, 256)).shape == (256, 256)
    assert to_8bit(ramp.reshape(64, 256, 4)).shape == (64, 256, 4)


@pytest.mark.parametrize('arguments, text', [
    ({'encoding': 'jpeg'}, r"unknown encoding 'jpeg'; supported: rgb8, bgr8"),
    ({'encoding': ''}, r"unknown encoding ''"),
    ({'encoding': 'RGB8'}, r"unknown encoding 'RGB8'"),
    ({'encoding': 'nv24'}, r"unknown encoding 'nv24'"),
    ({'encoding': '16UC1'}, r"'16UC1' is a depth map, not a picture"),
    ({'encoding': '32FC1'}, r"'32FC1' is a depth map, not a picture"),
    ({'height': 0}, r'at least 1 x 1 pixel, got 8 x 0'),
    ({'width': 0}, r'at least 1 x 1 pixel, got 0 x 6'),
    ({'step': 23}, r'rgb8: expected a step of at least 24 bytes for 8 pixels, got 23'),
    ({'step': 25}, r'rgb8: expected at least 150 bytes \(6 rows of 25\), got 144'),
    ({'data': b''}, r'expected at least 144 bytes .*, got 0'),
    ({'encoding': 'yuyv', 'width': 7}, r'even width .*, got 7'),
    ({'encoding': 'nv12', 'height': 5}, r'even height .*, got 5'),
    ({'encoding': 'bayer_rggb8', 'height': 2}, r'at least 3 x 3 pixels .* got 8 x 2'),
])
def test_refusals_say_the_numbers(arguments, text):
    good = {'data': SAMPLE.tobytes(), 'height': H, 'width': W, 'encoding': 'rgb8', 'step': 3 * W,
                'is_bigendian': 0}
    with pytest.raises(ImageError, match=text):
        decode_image(**{**good, **arguments})


def test_every_supported_encoding_decodes_zeros():
    for name in SUPPORTED_ENCODINGS:
        got = decode_image(bytes(4 * 4 * 8 * 2), 4, 4, name, 32, 0)
        assert got.shape == (4, 4, 3) and got.dtype == np.uint8, name


@pytest.mark.parametrize('name', [
    n for n in SUPPORTED_ENCODINGS if not n.startswith(('nv', '8UC')) and '16' not in n])
def test_against_rosbags_image(name):
    converter = pytest.importorskip('rosbags.image')
    channels = {'rgba8': 4, 'bgra8': 4, 'rgb8': 3, 'bgr8': 3}.get(
        name, 2 if 'y' in name and 'bayer' not in name or name == 'yuv422' else 1)
    data = np.random.default_rng(1).integers(0, 256, H * W * channels, dtype=np.uint8)
    message = SimpleNamespace(height=H, width=W, encoding=name, is_bigendian=0,
                              step=W * channels, data=data)
    expected = converter.image_to_cvimage(message, 'rgb8')
    np.testing.assert_array_equal(decode_image(data, H, W, name, W * channels, 0), expected)


def test_klimt_mosaics_agree_with_each_other():
    """One painting mosaiced four ways: every pattern must show the same colours."""
    folder = Path(os.environ.get('LINGBOT_DATA', '')) / 'messages_raw'
    if 'LINGBOT_DATA' not in os.environ or not folder.is_dir():
        pytest.skip('LINGBOT_DATA is not set')
    pictures = {}
    # The files called GBRG and GRBG are swapped: in the first one the bright red samples lie at
    # row 0, column 1, where a GBRG sensor has blue.
    files = {'rggb': 'RGGB', 'bggr': 'BGGR', 'gbrg': 'GRBG', 'grbg': 'GBRG'}
    for ros, pattern in files.items():
        raw = (folder / f'Klimt_Bayer_560x558_{pattern}_08bits.raw').read_bytes()
        pictures[ros] = decode_image(raw, 558, 560, f'bayer_{ros}8', 560, 0).astype(float)
    raw = (folder / 'Klimt_Bayer_560x558_RGGB_12bits.raw').read_bytes()
    wide = np.frombuffer(raw, '<u2')
    assert wide.max() < 4096
    pictures['12'] = decode_image(wide * 16, 558, 560, 'bayer_rggb16', 1120, 0).astype(float)
    means = {name: picture.mean((0, 1)) for name, picture in pictures.items()}
    for name, picture in pictures.items():
        blurred = [cv2.GaussianBlur(p, (0, 0), 4) for p in (picture, pictures['rggb'])]
        assert np.abs(blurred[0] - blurred[1]).mean() < 3, (name, means)
        # A Klimt is golden: more red than blue. A wrong pattern would swap them.
        assert means[name][0] > means[name][2] + 20, means
