# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Image messages to RGB.

Our own decoder does what it knows, without a copy where it can. An encoding that it does not know
goes to the system's cv_bridge, if there is one that loads: it is compiled against one numpy, and
where torch brought another it fails at import. Nothing depends on it.
"""

from __future__ import annotations

import importlib
from typing import Any

import cv2
from lingbot_ros.errors import ImageError
from lingbot_ros.imaging.compressed import decode_compressed
from lingbot_ros.imaging.encodings import decode_image, is_depth_encoding, SUPPORTED_ENCODINGS
import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import CompressedImage, Image


def decode_message(message: Image | CompressedImage) -> NDArray[np.uint8]:
    """
    Decode an image message.

    Parameters
    ----------
    message : Image or CompressedImage
        As received.

    Returns
    -------
    ndarray of uint8, shape [H, W, 3]
        RGB.

    Raises
    ------
    ImageError
        If the encoding is known to nobody, or the buffer does not hold such an image.

    """
    if isinstance(message, CompressedImage):
        return decode_compressed(message.data, message.format)
    if message.encoding not in SUPPORTED_ENCODINGS and not is_depth_encoding(message.encoding):
        image = _with_cv_bridge(message)
        if image is not None:
            return image
    return decode_image(message.data, message.height, message.width, message.encoding,
                        message.step, message.is_bigendian)


def _with_cv_bridge(message: Image) -> NDArray[np.uint8] | None:
    """Ask cv_bridge; None where it is missing or does not load."""
    try:
        # By name: a static import would make every checker ask for a module that may be absent.
        module: Any = importlib.import_module('cv_bridge')
    except (ImportError, AttributeError, SystemError):  # the three faces of a foreign numpy
        return None
    try:
        image = module.CvBridge().imgmsg_to_cv2(message, desired_encoding='rgb8')
    except (module.CvBridgeError, cv2.error, KeyError, ValueError, TypeError) as error:
        raise ImageError(f"unknown encoding '{message.encoding}', and cv_bridge says: {error}; "
                         'supported: ' + ', '.join(SUPPORTED_ENCODINGS)) from error
    return np.ascontiguousarray(image)
