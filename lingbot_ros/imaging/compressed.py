# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Compressed images (JPEG, PNG, WebP and what else OpenCV reads) to RGB.

The content decides how the bytes are read; the format text of a `sensor_msgs/CompressedImage` is
only used to refuse depth and to demosaic raw Bayer pictures. 'rgb8; jpeg compressed bgr8' means
that the camera gave rgb8; the JPEG inside is an ordinary one.

Pictures are returned as stored: an EXIF orientation is not applied, because the pose belongs to
the axes of the sensor and because one stream must keep one size. Alpha is dropped, not
composited: transparent pixels show whatever colour the file holds for them.
"""

from __future__ import annotations

import sys
from typing import Any

import cv2
from lingbot_ros.errors import ImageError
from lingbot_ros.imaging.encodings import convert, decode_image, is_depth_encoding, to_8bit
import numpy as np
from numpy.typing import NDArray

_JPEG = b'\xff\xd8\xff'
_PNG = b'\x89PNG\r\n\x1a\n'


def _check_complete(content: bytes) -> None:
    """Refuse cut files, of which decoders return a partly grey picture without complaint."""
    if content.startswith(_JPEG):
        # Inside the scans 0xFF is escaped, so the last marker of each kind is a real one; an end
        # before the last scan belongs to the thumbnail of the EXIF header.
        complete = content.rfind(b'\xff\xd9') > content.rfind(b'\xff\xda')
    elif content.startswith(_PNG):
        complete = content.rfind(b'IEND') > 0
    elif content[:4] == b'RIFF' and content[8:12] == b'WEBP':
        complete = len(content) >= 8 + int.from_bytes(content[4:8], 'little')
    else:
        complete = True
    if not complete:
        raise ImageError(f'compressed image of {len(content)} bytes is cut off: its end is '
                         'missing')


def _to_rgb(image: NDArray[Any]) -> NDArray[np.uint8]:
    if image.dtype == np.uint16:
        image = to_8bit(image)
    if image.dtype != np.uint8:
        raise ImageError(f'expected a compressed image of 8 or 16 bits, got {image.dtype}')
    channels = 1 if image.ndim == 2 else image.shape[2]
    code = {1: cv2.COLOR_GRAY2RGB, 3: cv2.COLOR_BGR2RGB, 4: cv2.COLOR_BGRA2RGB}.get(channels)
    if code is None:
        raise ImageError(f'expected a compressed image of 1, 3 or 4 channels, got {channels}')
    return convert(image, code)


def decode_compressed(data: Any, image_format: str = '') -> NDArray[np.uint8]:
    """
    Decode the content of a compressed image message or of an image file.

    Parameters
    ----------
    data : buffer of bytes (bytes, memoryview, array.array) or ndarray of uint8
        The file as it would lie on disk.
    image_format : str
        The `format` of the message, or '' when there is none; see the module's text for its use.

    Returns
    -------
    ndarray of uint8, shape [H, W, 3]
        RGB, row 0 at the top. Grey is repeated, 16 bits are reduced as round(value / 257), alpha
        is dropped.

    Raises
    ------
    ImageError
        The data is empty, cut off, no image OpenCV can read, or a depth map by its format.

    """
    encoding = image_format.split(';')[0].strip()
    if 'compressedDepth' in image_format or is_depth_encoding(encoding):
        raise ImageError(f"compressed format '{image_format}' is a depth map, not a picture; "
                         'choose the topic of a colour or grey camera')
    content = bytes(data)
    if not content:
        raise ImageError(f"compressed image is empty (format '{image_format}', 0 bytes)")
    _check_complete(content)
    try:
        image: Any = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)
    except cv2.error as error:
        raise ImageError(f'compressed image of {len(content)} bytes cannot be decoded: '
                         f'{error.err}') from error
    if image is None:
        raise ImageError(f"compressed image of {len(content)} bytes (format '{image_format}') is "
                         'no image that OpenCV can decode; expected JPEG, PNG or WebP')
    if image.ndim == 2 and encoding.startswith('bayer_') and image.dtype.itemsize <= 2:
        height, width = image.shape
        name = encoding.rstrip('0123456789') + str(8 * image.dtype.itemsize)
        return decode_image(image, height, width, name, width * image.dtype.itemsize,
                            sys.byteorder == 'big')
    return _to_rgb(image)
