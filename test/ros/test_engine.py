# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
import json

from lingbot_ros.config import StreamConfig
from lingbot_ros.errors import BackendError, CheckpointError, ConfigError
from lingbot_ros.model.network import Network
from lingbot_ros.model.network import TINY as TINY_SIZES
from lingbot_ros.model.random_weights import fill_random
from lingbot_ros.ros.engine import open_engine
from lingbot_ros.ros.parameters import TABLE
import numpy as np
import pytest
from safetensors.torch import save_file

VALUES = {row.name: row.default for row in TABLE}
TINY = {**VALUES, 'checkpoint': 'random', 'device': 'cpu', 'image_size': 56}


def test_every_stream_parameter_reaches_the_session():
    wanted = {'anchor_frames': 3, 'window': 5, 'keyframe_interval': 2, 'camera_iterations': 1,
              'image_size': 70, 'max_keyframes': 33}
    engine = open_engine({**TINY, **wanted, 'publish_depth': True})
    config = engine.session.config
    assert {name: vars(config)[name] for name in wanted} == wanted and config.depth
    assert engine.session.window == 5 and engine.session.cache_bytes == 0
    assert engine.is_random
    assert engine.settings.startswith('image_size 70 (set), anchor_frames 3 (set), window 5 (set)')


def test_what_is_not_set_is_that_of_the_weights(tmp_path):
    network = Network(TINY_SIZES)
    fill_random(network)
    save_file({name: p.detach() for name, p in network.named_parameters()},
              tmp_path / 'a.safetensors', {'lingbot_ros': json.dumps(
                  {'stream': {'image_size': 70, 'window': 6, 'camera_iterations': 2}})})
    values = {**VALUES, 'checkpoint': str(tmp_path / 'a.safetensors'), 'device': 'cpu'}
    engine = open_engine({**values, 'window': 9})
    assert engine.trained == StreamConfig(image_size=70, window=6, camera_iterations=2)
    assert engine.session.config == replace(engine.trained.without_end(), window=9, depth=False)
    assert 'image_size 70 (weights)' in engine.settings and 'window 9 (set)' in engine.settings
    with pytest.raises(ConfigError, match='image_size must be a multiple of the patch side'):
        open_engine({**values, 'image_size': 57})


def test_choices_come_with_their_reason():
    engine = open_engine(TINY)
    assert (engine.device, engine.dtype) == ('cpu (chosen by name)', 'float32 (auto: for cpu)')
    assert engine.backend.startswith("sdpa (the device is 'cpu'")
    engine = open_engine({**TINY, 'device': 'auto', 'dtype': 'bf16', 'backend': 'sdpa'})
    assert 'auto: CUDA where PyTorch sees one; it sees' in engine.device
    assert engine.dtype == 'bfloat16 (chosen by name)'
    assert engine.backend == 'sdpa (chosen by name)'


def test_intrinsics_go_back_to_a_tall_image():
    # 60 x 90 becomes 56 x 84, of which the middle 56 rows are kept.
    K = np.array([[50.0, 0, 28], [0, 50, 28], [0, 0, 1]])
    np.testing.assert_allclose(
        open_engine(TINY).original_K(K, (90, 60)),
        [[50 * 60 / 56, 0, 30], [0, 50 * 90 / 84, 45], [0, 0, 1]])


def test_what_cannot_be_opened_is_refused():
    with pytest.raises(CheckpointError, match='nowhere.pt'):
        open_engine({**TINY, 'checkpoint': '/nowhere.pt'})
    with pytest.raises(BackendError, match='flashinfer'):
        open_engine({**TINY, 'backend': 'flashinfer'})
