# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The weights in the package: found, verified, loaded, and run as they were trained."""

from __future__ import annotations

import copy
from dataclasses import replace
import json
from pathlib import Path

from lingbot_ros import load_network, StreamConfig, StreamSession
from lingbot_ros.errors import CheckpointError
from lingbot_ros.model import embedded
from lingbot_ros.model.network import EMBEDDED, TINY
from lingbot_ros.model.recommended import parse_recommended, recommended_stream
from lingbot_ros.stream_parts import SegmentConfig
import pytest
import torch
from weights_maker import write_weights

STREAM = {'image_size': 70, 'window': 3, 'anchor_frames': 2}
REAL = Path(embedded.__file__).parents[1] / 'weights'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded, 'weights_folder', lambda: tmp_path)
    return tmp_path


def test_loads_like_any_file(folder, caplog):
    written = write_weights(folder, metadata={'lingbot_ros': json.dumps({'stream': STREAM})})
    with caplog.at_level('INFO', 'lingbot_ros'):
        network = load_network('embedded', 'cpu', 'fp32')
    assert 'small network' in caplog.text and 'docs/checkpoints.md' in caplog.text
    assert network.config == TINY and not network.is_random and not network.training
    for name, parameter in network.named_parameters():
        torch.testing.assert_close(parameter, written.get_parameter(name).half().float(),
                                   rtol=0, atol=0)
    # The default, and the same file by its path.
    for checkpoint in ((), (folder / embedded.WEIGHTS_NAME,)):
        again = load_network(*checkpoint, device='cpu')
        assert recommended_stream(again) == recommended_stream(network)


def test_runs_as_the_weights_were_trained(folder):
    write_weights(folder, metadata={'lingbot_ros': json.dumps({'stream': STREAM})})
    network = load_network('embedded', 'cpu', 'fp32')
    recommended = recommended_stream(network)
    assert recommended == StreamConfig(**STREAM)
    assert StreamSession(network).config == recommended
    assert StreamSession(copy.deepcopy(network)).config == recommended
    assert StreamSession(network).window == 3
    # Explicit settings win, all of them.
    explicit = replace(recommended, window=5)
    assert StreamSession(network, explicit).config == explicit
    assert StreamSession(network, StreamConfig(image_size=56)).config.window == 64


@pytest.mark.parametrize('metadata', [None, {'format': 'pt'}, {'lingbot_ros': '{}'},
                                      {'lingbot_ros': '{"licence": "Apache-2.0"}'}])
def test_weights_that_say_nothing_get_the_defaults(folder, metadata):
    write_weights(folder, metadata=metadata)
    assert recommended_stream(load_network('embedded', 'cpu')) == StreamConfig()


def test_other_weights_get_the_defaults(tiny_network):
    assert recommended_stream(tiny_network) == StreamConfig()


def test_parts_of_the_settings():
    stream = parse_recommended(json.dumps({'stream': {
        'camera_iterations': 3, 'segments': {'keyframes': 96, 'overlap': 6},
        'anchors': {'policy': 'motion', 'motion': 1}}}), 'x')
    assert stream.segments == SegmentConfig(96, 6) and stream.anchors.policy == 'motion'
    assert stream.camera_iterations == 3 and stream.window == StreamConfig().window


@pytest.mark.parametrize(('text', 'message'), [
    ('{"stream": {"widow": 3}}', "stream has no setting 'widow'; it has anchor_frames, .*window"),
    ('{"stream": {"depth": true}}', "stream has no setting 'depth'"),
    ('{"stream": {"window": 0}}', 'window must be an integer >= 1, got 0'),
    ('{"stream": {"window": "8"}}', "window must be an integer >= 1, got '8'"),
    ('{"stream": {"image_size": 256.0}}', 'image_size must be an integer >= 1, got 256.0'),
    ('{"stream": {"segments": 96}}', 'segments must be an object, got 96'),
    ('{"stream": {"segments": {"size": 96}}}', "segments has no setting 'size'; it has keyframes"),
    ('{"stream": {"segments": {"keyframes": "96"}}}', 'segments keyframes must be of type int'),
    ('{"stream": {"anchors": {"policy": "best"}}}', "anchor policy must be 'first' or 'motion'"),
    ('{"stream": [1]}', 'expected an object with an object "stream"'),
    ('[]', 'expected an object with an object "stream"'),
    ('{"stream"', "expected JSON under 'lingbot_ros'"),
    pytest.param('[' * 100_000, "expected JSON under 'lingbot_ros'", id='deep'),
])
def test_settings_that_cannot_be_used_are_refused(folder, text, message):
    write_weights(folder, metadata={'lingbot_ros': text})
    with pytest.raises(CheckpointError, match=message) as caught:
        load_network('embedded', 'cpu')
    assert embedded.WEIGHTS_NAME in str(caught.value)


def damage(folder, what):
    file, digest = folder / embedded.WEIGHTS_NAME, folder / embedded.HASH_NAME
    if what == 'flipped':
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(content)
    elif what == 'cut':
        file.write_bytes(file.read_bytes()[:-5])
    elif what == 'pointer':
        file.write_text('version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n')
    elif what == 'empty':
        file.write_bytes(b'')
    elif what == 'gone':
        file.unlink()
    elif what == 'no hash':
        digest.unlink()
    elif what == 'binary hash':
        digest.write_bytes(b'\xff\xfe\x80' * 30)
    else:
        digest.write_text('e3b0')


@pytest.mark.parametrize(('what', 'message'), [
    ('flipped', 'is damaged: expected SHA-256 [0-9a-f]{64}, got [0-9a-f]{64} of'),
    ('cut', 'is damaged'),
    ('empty', 'is damaged'),
    ('pointer', 'is a Git LFS pointer, not the weights: run `git lfs pull`'),
    ('gone', 'not complete: no file embedded.safetensors in'),
    ('no hash', 'not complete: no file embedded.sha256 in'),
    ('binary hash', 'must begin with 64 hexadecimal digits'),
    ('short hash', "must begin with 64 hexadecimal digits, got 'e3b0'"),
])
def test_damaged_weights_are_refused_with_advice(folder, what, message):
    write_weights(folder)
    damage(folder, what)
    with pytest.raises(CheckpointError, match=message) as caught:
        load_network('embedded', 'cpu')
    assert 'install lingbot_ros again, or set checkpoint to' in str(caught.value)


def test_a_hash_in_capitals_is_the_same_hash(folder):
    write_weights(folder)
    digest = folder / embedded.HASH_NAME
    digest.write_text(digest.read_text().upper())
    assert load_network('embedded', 'cpu').config == TINY


def test_weights_of_another_network_are_refused(folder):
    write_weights(folder)
    with pytest.raises(CheckpointError, match='does not fit the network'):
        load_network('embedded', 'cpu', config=EMBEDDED)


def test_the_shipped_sizes_are_known_wherever_the_file_lies(folder, tmp_path):
    write_weights(folder, EMBEDDED)
    assert load_network('embedded', 'cpu').config == EMBEDDED
    copied = tmp_path / 'mine.safetensors'
    copied.write_bytes((folder / embedded.WEIGHTS_NAME).read_bytes())
    assert load_network(copied, 'cpu').config == EMBEDDED


def test_the_real_weights():
    network = load_network('embedded', 'cpu')
    assert network.config == EMBEDDED and not network.is_random
    assert sum(p.numel() for p in network.parameters()) <= 30e6
    assert (REAL / embedded.WEIGHTS_NAME).stat().st_size <= 45e6
    recommended = recommended_stream(network)
    assert recommended.image_size % EMBEDDED.patch_px == 0 and recommended.window < 64
    for word in ('Apache-2.0', 'SHA-256', str(recommended.image_size)):
        assert word in (REAL / 'README.md').read_text(), word
