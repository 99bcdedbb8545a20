# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A real camera at rest, with the weights of the package: its pose stands still."""

from dataclasses import replace
import os
from pathlib import Path

import cv2
from lingbot_ros import load_network, StreamSession
from lingbot_ros.errors import CheckpointError
from lingbot_ros.geometry.rotation import rotation_angle
from lingbot_ros.model.recommended import recommended_stream
import numpy as np
import pytest

DATA = Path(os.environ.get('LINGBOT_DATA', '/nowhere')) / 'euroc_v101_static'


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason='needs LINGBOT_DATA')
def test_a_camera_at_rest_does_not_drift():
    try:
        network = load_network('embedded', 'cpu')
    except CheckpointError as error:
        pytest.skip(str(error))
    config = replace(recommended_stream(network).without_end(), image_size=112)
    session = StreamSession(network, config)
    poses = []
    for index, file in enumerate(sorted((DATA / 'images').glob('*.png'))):
        image = cv2.cvtColor(cv2.imread(str(file)), cv2.COLOR_BGR2RGB)
        poses += [e.T_world_camera for e in session.push(image, index * 50_000_000)]
    assert len(poses) == 18
    drift = np.linalg.norm([pose[:3, 3] - poses[0][:3, 3] for pose in poses], axis=1)
    turn = [np.degrees(rotation_angle(poses[0][:3, :3].T @ pose[:3, :3])) for pose in poses]
    assert drift.max() < 1e-3 and max(turn) < 0.05
    assert session.snapshot().initialising, 'there is nothing to anchor on'
