# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The file of a session against damage, impossible places, interruption and lack of memory."""

import os

from light_network import LightNetwork
from lingbot_ros import StreamConfig, StreamSession
from lingbot_ros.errors import CacheFullError, StateError
from lingbot_ros.streaming import caches
from lingbot_ros.streaming import session as session_module
from lingbot_ros.streaming import state as state_module
from lingbot_ros.streaming.pose_stream import PoseStream
from lingbot_ros.streaming.state import fingerprint, read_session, SavedSession, write_session
import pytest
from safetensors import safe_open
from safetensors.torch import load_file, save_file
import torch

CONFIG = StreamConfig(anchor_frames=2, window=3, image_size=56)


@pytest.fixture(scope='module')
def network():
    return LightNetwork()


def run(network, frames, size=56, config=CONFIG):
    session = StreamSession(network, config)
    for stamp_ns in range(frames):
        torch.manual_seed(stamp_ns)
        session.push(torch.rand(3, size, size), stamp_ns)
    return session


@pytest.mark.parametrize('bit', [1, 8, 128])
def test_every_damaged_byte_is_found(tmp_path, network, bit, monkeypatch):
    model = fingerprint(network)
    monkeypatch.setattr(state_module, 'fingerprint', lambda network: model)
    file = tmp_path / 'state'
    write_session(file, network, CONFIG, SavedSession(
        3, (14, 28), 1, 0, '', [(torch.rand(3, 14, 28), 5)], None))
    good = file.read_bytes()
    end = 8 + int.from_bytes(good[:8], 'little')
    for index in range(end + 20):
        if good[index] == 32 and bit == 128:
            continue
        file.write_bytes(good[:index] + bytes([good[index] ^ bit]) + good[index + 1:])
        with pytest.raises(StateError):
            read_session(file, network, CONFIG)
    file.write_bytes(good)
    assert read_session(file, network, CONFIG).size == (14, 28)


@pytest.mark.parametrize('key', ['model', 'config', 'state', 'checksum'])
def test_a_missing_entry_is_damage(tmp_path, network, key):
    file = tmp_path / 'state'
    run(network, 3).save(file)
    with safe_open(file, 'pt') as opened:
        metadata = opened.metadata()
    del metadata[key]
    save_file(load_file(file), file, metadata)
    with pytest.raises(StateError, match='is damaged'):
        StreamSession(network, CONFIG).load(file)


@pytest.mark.parametrize('place', ['', '.', 'file/x', 'n' * 253, 'a\0b', 'pipe', 'missing/x'])
def test_impossible_places_are_refused(tmp_path, network, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'file').write_text('a file')
    os.mkfifo(tmp_path / 'pipe')
    with pytest.raises(StateError, match='cannot write .*choose another place'):
        run(network, 1).save(place)
    assert sorted(path.name for path in tmp_path.iterdir()) == ['file', 'pipe']
    if place != 'pipe':
        with pytest.raises(StateError, match='cannot read'):
            run(network, 1).load(place)


@pytest.mark.parametrize('error', [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize('step', ['save_file', '_sync'])
def test_an_interrupted_save_leaves_what_was_there(tmp_path, network, monkeypatch, error, step):
    file = tmp_path / 'keep'
    session = run(network, 3)
    session.save(file)
    good = file.read_bytes()

    def stop(*arguments):
        (tmp_path / 'keep.part').write_bytes(b'half')
        raise error

    monkeypatch.setattr(state_module, step, stop)
    with pytest.raises(error):
        session.save(file)
    assert file.read_bytes() == good and list(tmp_path.iterdir()) == [file]


def test_a_link_stays_and_the_file_is_synced_before_it_gets_its_name(
        tmp_path, network, monkeypatch):
    (tmp_path / 'disk').mkdir()
    link, target = tmp_path / 'link', tmp_path / 'disk' / 'state'
    link.symlink_to(target)
    synced = []
    monkeypatch.setattr(state_module, '_sync', lambda path: synced.append(
        (path.name, target.exists())))
    run(network, 3).save(link)
    assert link.is_symlink() and target.is_file()
    assert synced == [('state.part', False), ('disk', True)]


def no_memory(*arguments, **named):
    raise CacheFullError('no memory')


def test_a_window_that_cannot_grow_changes_nothing(tmp_path, network, monkeypatch):
    session = run(network, 5)
    large = run(network, 4)
    large.set_window(9)
    large.save(tmp_path / 'state')
    before = session.snapshot()
    monkeypatch.setattr(caches.PagedCache, 'resize', no_memory)
    with pytest.raises(CacheFullError):
        session.load(tmp_path / 'state')
    assert session.snapshot() == before


@pytest.mark.parametrize(('owner', 'name', 'error', 'expected'), [
    (session_module, 'CachedStream', CacheFullError, CacheFullError),
    (PoseStream, 'restore', KeyError, StateError),
    (PoseStream, 'restore', KeyboardInterrupt, KeyboardInterrupt),
])
def test_a_failure_in_the_caches_leaves_an_empty_session(
        tmp_path, network, monkeypatch, owner, name, error, expected):
    other = run(network, 5, size=70)
    other.set_window(2)
    other.save(tmp_path / 'state')
    session = run(network, 5)

    def fail(*arguments):
        raise error('fails')

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, fail)
        with pytest.raises(expected):
            session.load(tmp_path / 'state')
    assert (session.frames, session.keyframes, session.window) == (0, 0, CONFIG.window)
    assert session.snapshot().last_reset_reason == 'a saved session could not be loaded'
    assert [len(session.push(torch.rand(3, 56, 56), stamp_ns)) for stamp_ns in (0, 1)] == [0, 2]
    session.load(tmp_path / 'state')
    assert (session.frames, session.window) == (5, 2)


def test_every_value_of_the_weights_counts():
    network = LightNetwork()
    usual = fingerprint(network)
    assert fingerprint(LightNetwork()) == usual
    weight = max(network.parameters(), key=torch.numel).data.flatten()
    assert weight.numel() > 200, 'more values than are sampled'
    for index in (0, 1, weight.numel() // 2 + 1, weight.numel() - 1):
        value = weight[index].item()
        weight[index] = value * (1 + 1e-6) + 1e-12
        assert fingerprint(network) != usual, index
        weight[index] = value
    assert fingerprint(network) == usual
