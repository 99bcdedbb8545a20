# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages our decoder does not know go to cv_bridge; nothing breaks where that is broken."""

import sys
import types

from lingbot_ros.errors import ImageError
import numpy as np
import pytest

pytest.importorskip('rclpy')

from lingbot_ros.ros.decode import decode_message
from ros_harness import image_message, texture

pytestmark = pytest.mark.ros
PICTURE = texture(4, 6)


class BridgeError(TypeError):
    """As cv_bridge's own: a TypeError."""


def bridge(result):
    """Make a module with cv_bridge's surface; `result` is returned or raised."""
    class CvBridge:
        def imgmsg_to_cv2(self, message, desired_encoding):
            assert desired_encoding == 'rgb8'
            if isinstance(result, Exception):
                raise result
            return result

    module = types.ModuleType('cv_bridge')
    module.CvBridge, module.CvBridgeError = CvBridge, BridgeError
    return module


def test_known_encodings_never_touch_cv_bridge(monkeypatch):
    monkeypatch.setitem(sys.modules, 'cv_bridge', bridge(AssertionError('asked')))
    np.testing.assert_array_equal(decode_message(image_message(PICTURE, 'rgb8', 0)), PICTURE)


def test_unknown_encoding_is_cv_bridges(monkeypatch):
    monkeypatch.setitem(sys.modules, 'cv_bridge', bridge(PICTURE[:, ::-1]))
    image = decode_message(image_message(PICTURE, 'novel8', 0))
    np.testing.assert_array_equal(image, PICTURE[:, ::-1])


def test_without_cv_bridge_the_encoding_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, 'cv_bridge', None)
    with pytest.raises(ImageError, match="unknown encoding 'novel8'; supported: .*bgr8"):
        decode_message(image_message(PICTURE, 'novel8', 0))


def test_cv_bridge_of_another_numpy_is_left_alone(monkeypatch, tmp_path):
    (tmp_path / 'cv_bridge.py').write_text("raise AttributeError('_ARRAY_API not found')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, 'cv_bridge', raising=False)
    with pytest.raises(ImageError, match="unknown encoding 'novel8'; supported"):
        decode_message(image_message(PICTURE, 'novel8', 0))


def test_refusal_of_cv_bridge_is_an_image_error(monkeypatch):
    monkeypatch.setitem(sys.modules, 'cv_bridge', bridge(BridgeError('no such thing')))
    with pytest.raises(ImageError, match="'novel8', and cv_bridge says: no such thing; supported"):
        decode_message(image_message(PICTURE, 'novel8', 0))


def test_depth_is_refused_without_asking(monkeypatch):
    monkeypatch.setitem(sys.modules, 'cv_bridge', bridge(PICTURE))
    with pytest.raises(ImageError, match='depth map'):
        decode_message(image_message(np.zeros((4, 6), np.uint16), '16UC1', 0))
