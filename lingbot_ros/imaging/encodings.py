# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
# flake8: noqa: A005 - the name is that of sensor_msgs' image_encodings
"""
Image message buffers to RGB.

Knows the encodings of `sensor_msgs/Image` by name, their bytes a pixel and their byte order; knows
no message class, so the same code serves bags and live topics. Colour conversion and demosaicing
are OpenCV's.

Conventions
-----------
16-bit values are full range: 8-bit = round(value / 257), so 0 stays 0, 65535 becomes 255, and the
order of values is kept. A 12-bit sensor in 16-bit words therefore looks dark; scale it in the
driver. YUV is BT.601 with studio range, OpenCV's and cv_bridge's reading. An alpha channel is
dropped, not composited.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
from lingbot_ros.errors import ImageError
import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class _Format:
    """How an encoding lies in memory, and the OpenCV conversion to RGB (None: none needed)."""

    channels: int
    code: int | None
    sample_bytes: int = 1
    kind: str = 'packed'


# OpenCV names a Bayer pattern by its second row, second and third pixel; ROS by the first two rows
# read from the top left corner. So ROS's RGGB is OpenCV's BG, and so on.
_BAYER = {
    'rggb': cv2.COLOR_BayerBG2RGB,
    'bggr': cv2.COLOR_BayerRG2RGB,
    'gbrg': cv2.COLOR_BayerGR2RGB,
    'grbg': cv2.COLOR_BayerGB2RGB,
}

_FORMATS: dict[str, _Format] = {
    'rgb8': _Format(3, None),
    'bgr8': _Format(3, cv2.COLOR_BGR2RGB),
    'rgba8': _Format(4, cv2.COLOR_RGBA2RGB),
    'bgra8': _Format(4, cv2.COLOR_BGRA2RGB),
    'mono8': _Format(1, cv2.COLOR_GRAY2RGB),
    'rgb16': _Format(3, None, 2),
    'bgr16': _Format(3, cv2.COLOR_BGR2RGB, 2),
    'rgba16': _Format(4, cv2.COLOR_RGBA2RGB, 2),
    'bgra16': _Format(4, cv2.COLOR_BGRA2RGB, 2),
    'mono16': _Format(1, cv2.COLOR_GRAY2RGB, 2),
    **{f'bayer_{name}8': _Format(1, code, 1, 'bayer') for name, code in _BAYER.items()},
    **{f'bayer_{name}16': _Format(1, code, 2, 'bayer') for name, code in _BAYER.items()},
    'yuv422': _Format(2, cv2.COLOR_YUV2RGB_UYVY, 1, 'yuv422'),
    'uyvy': _Format(2, cv2.COLOR_YUV2RGB_UYVY, 1, 'yuv422'),
    'yuyv': _Format(2, cv2.COLOR_YUV2RGB_YUY2, 1, 'yuv422'),
    'yuv422_yuy2': _Format(2, cv2.COLOR_YUV2RGB_YUY2, 1, 'yuv422'),
    'nv12': _Format(1, cv2.COLOR_YUV2RGB_NV12, 1, 'yuv420'),
    'nv21': _Format(1, cv2.COLOR_YUV2RGB_NV21, 1, 'yuv420'),
    '8UC1': _Format(1, cv2.COLOR_GRAY2RGB),
    '8UC3': _Format(3, cv2.COLOR_BGR2RGB),
    '8UC4': _Format(4, cv2.COLOR_BGRA2RGB),
}

SUPPORTED_ENCODINGS: tuple[str, ...] = tuple(_FORMATS)
"""Encodings that `decode_image` reads, as sensor_msgs spells them."""

_DEPTH_ENCODINGS = ('16UC1', '16SC1', '32FC1', '64FC1')


def to_8bit(image: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """
    Reduce full-range 16-bit samples to 8 bits.

    Parameters
    ----------
    image : ndarray of uint16, any shape
        Samples in the machine's byte order.

    Returns
    -------
    ndarray of uint8
        round(value / 257), the same shape; monotone.

    """
    scaled: Any = cv2.convertScaleAbs(np.ascontiguousarray(image), alpha=1.0 / 257.0)
    return scaled.reshape(image.shape)


def convert(image: NDArray[Any], code: int) -> NDArray[Any]:
    """Convert colours by an OpenCV code (`cv2.COLOR_*`); keeps the sample type."""
    converted: Any = cv2.cvtColor(np.ascontiguousarray(image), code)
    return converted


def is_depth_encoding(encoding: str) -> bool:
    """Tell whether an encoding name means distances rather than a picture."""
    return encoding in _DEPTH_ENCODINGS


def _check_layout(name: str, layout: _Format, height: int, width: int) -> None:
    if height < 1 or width < 1:
        raise ImageError(f'{name}: expected a picture of at least 1 x 1 pixel, got {width} x '
                         f'{height} (width x height)')
    if layout.kind in ('yuv422', 'yuv420') and width % 2:
        raise ImageError(f'{name}: expected an even width (two pixels share their colour), got '
                         f'{width}')
    if layout.kind == 'yuv420' and height % 2:
        raise ImageError(f'{name}: expected an even height (two rows share their colour), got '
                         f'{height}')
    if layout.kind == 'bayer' and min(height, width) < 3:
        raise ImageError(f'{name}: expected at least 3 x 3 pixels to interpolate colours from, '
                         f'got {width} x {height} (width x height)')


def _flat_bytes(data: Any) -> NDArray[np.uint8]:
    if isinstance(data, np.ndarray):
        return np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    return np.frombuffer(data, np.uint8)


def decode_image(
    data: Any,
    height: int,
    width: int,
    encoding: str,
    step: int,
    is_bigendian: bool | int,
) -> NDArray[np.uint8]:
    """
    Turn the buffer of an image message into RGB.

    Parameters
    ----------
    data : buffer of bytes (bytes, bytearray, memoryview, array.array) or ndarray of uint8
        Rows of the image, `step` bytes apart; at least height * step bytes (nv12, nv21: half as
        many again for the colour plane). Bytes behind that are ignored.
    height, width : int
        Size of the picture, pixels.
    encoding : str
        One of SUPPORTED_ENCODINGS. '8UC1', '8UC3', '8UC4' say nothing of their channels and are
        read as mono8, bgr8, bgra8, OpenCV's habit. 'yuv422' is UYVY, 'yuv422_yuy2' is YUYV.
    step : int
        Bytes from one row to the next, padding included; need not be a multiple of a pixel.
    is_bigendian : bool or int
        Byte order of 16-bit samples; without meaning for 8-bit ones.

    Returns
    -------
    ndarray of uint8, shape [H, W, 3]
        RGB, row 0 at the top. For 'rgb8' it is a view of `data` (no copy, read-only when `data`
        is, rows `step` bytes apart); for every other encoding a new contiguous array.

    Raises
    ------
    ImageError
        The encoding is unknown or holds depth, the size is zero or does not fit the encoding, the
        step is shorter than a row, or the buffer is too short.

    """
    if is_depth_encoding(encoding):
        raise ImageError(f"encoding '{encoding}' is a depth map, not a picture; choose the topic "
                         'of a colour or grey camera')
    layout = _FORMATS.get(encoding)
    if layout is None:
        raise ImageError(f"unknown encoding '{encoding}'; supported: "
                         + ', '.join(SUPPORTED_ENCODINGS))
    _check_layout(encoding, layout, height, width)
    row_bytes = width * layout.channels * layout.sample_bytes
    if step < row_bytes:
        raise ImageError(f'{encoding}: expected a step of at least {row_bytes} bytes for {width} '
                         f'pixels, got {step}')
    rows = height + height // 2 if layout.kind == 'yuv420' else height
    flat = _flat_bytes(data)
    if flat.size < rows * step:
        raise ImageError(f'{encoding}: expected at least {rows * step} bytes ({rows} rows of '
                         f'{step}), got {flat.size}')
    # A strided view of the samples; numpy copes with steps that leave 16-bit words unaligned.
    sample = np.dtype('u1' if layout.sample_bytes == 1 else '>u2' if is_bigendian else '<u2')
    pixel_bytes = layout.channels * layout.sample_bytes
    view: NDArray[Any] = np.ndarray(
        (rows, width, layout.channels), sample, flat.data, 0,
        (step, pixel_bytes, layout.sample_bytes))
    if layout.code is None and layout.sample_bytes == 1:
        return view
    image = (view[:, :, 0] if layout.channels == 1 else view).astype(
        sample.newbyteorder('='), copy=False)
    if layout.kind == 'bayer' and layout.code is not None:
        image = convert(image, layout.code)  # interpolate in full precision, then reduce
        return to_8bit(image) if layout.sample_bytes == 2 else image
    if layout.sample_bytes == 2:
        image = to_8bit(image)
    return image if layout.code is None else convert(image, layout.code)
