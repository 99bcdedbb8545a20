# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Real recordings: each gives frames or one line that says why not."""

from __future__ import annotations

import os
from pathlib import Path

from lingbot_ros.errors import SourceError
from lingbot_ros.sources import open_source
import pytest

DATA = Path(os.environ.get('LINGBOT_DATA', '/nonexistent'))
pytestmark = pytest.mark.skipif(not (DATA / 'bags').is_dir(), reason='LINGBOT_DATA is not set')

HAND = '/spot/camera/hand_color/image'


@pytest.mark.parametrize('path, topic, count, shape, first_ns', [
    ('amber_soccer_mcap', None, 2, (480, 640), 8_297_777_777),
    ('amber_soccer_mcap/soccer_goal_12.mcap', None, 2, (480, 640), 8_297_777_777),
    ('klintan_db3', '/image', 1, (480, 640), None),
    ('klintan_db3/sample.db3', '/image/compressed', 1, (480, 640), None),
    ('fiducials_ros1/aruco_images.bag', None, 1, (960, 1280), 1_491_682_360_314_066_469),
    ('fiducials_ros1/aruco_images_ros2_converted', None, 1, (960, 1280),
     1_491_682_360_314_066_469),
    ('cv_image_transport_ros1/raw.bag', None, 1, (480, 640), 1_648_052_479_616_566_426),
    ('cv_image_transport_ros1/raw_ros2_converted', None, 1, (480, 640),
     1_648_052_479_616_566_426),
    ('cv_image_transport_ros1/compressed.bag', HAND + '/cv', 1, (480, 640), None),
    ('cv_image_transport_ros1/compressed_ros2_converted',
     '/spot/camera/frontleft/image/cv', 1, None, None),
])
def test_bags_with_images(path, topic, count, shape, first_ns):
    with open_source(DATA / 'bags' / path, topic) as source:
        frames = list(source)
    assert len(frames) == count == source.len_hint and source.dropped == 0
    assert all(f.image.shape[2] == 3 and 5 < f.image.mean() < 250 for f in frames)
    if shape is not None:
        assert frames[0].image.shape[:2] == shape
    if first_ns is not None:
        assert frames[0].stamp_ns == first_ns


@pytest.mark.parametrize('path, topic, text', [
    ('klintan_db3', None, r'2 image topics, choose one with --topic: /image .*compressed'),
    ('klintan_db3', '/nope', r'no topic /nope; image topics: /image'),
    ('cv_image_transport_ros1/compressed.bag', None, r'4 image topics, choose one'),
    ('cv_image_transport_ros1/compressed.bag', '/spot/depth/frontleft/image/cv',
     r"none of 1 frames could be decoded: .*'16UC1; png compressed ' is a depth map"),
    ('cv_image_transport_ros1', None, r'did you mean one of: compressed.bag'),
    ('evo_no_images/tf_example', None, r'no image topic; .* holds tf2_msgs/msg/TFMessage'),
    ('evo_no_images/nav2_turtlebot.mcap', None, r'no image topic; .*Odometry'),
    ('lichtblick_json_mcap', None, r'holds no ROS 2 messages'),
])
def test_bags_that_are_refused(path, topic, text):
    with pytest.raises(SourceError, match=text) as caught:
        with open_source(DATA / 'bags' / path, topic) as source:
            list(source)
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize('name, count', [
    ('tum_fr1_rpy_45', 45), ('kitti_00_0060_0159', 100), ('euroc_v101_static', 18)])
def test_folders(name, count):
    source = open_source(DATA / name)
    stamps = [f.stamp_ns for f in source]
    assert len(stamps) == count and stamps == sorted(stamps)
