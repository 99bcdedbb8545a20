# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sessions against the batch oracle, and what they do with bad input."""

import copy
from types import SimpleNamespace

from batch_oracle import Plan, run
from hypothesis import given, settings
from hypothesis import strategies as st
from lingbot_ros import load_network, StreamConfig, StreamSession
from lingbot_ros.errors import CacheFullError, ConfigError, NonFinitePoseError, ShapeError
import numpy as np
import psutil
import pytest
import torch

SIZE = (28, 42)


def images(count, seed=0, size=SIZE):
    return torch.rand(count, 3, *size, generator=torch.Generator().manual_seed(seed))


def push_all(session, frames, first=0):
    return [e for i, frame in enumerate(frames, first) for e in session.push(frame, i)]


def encodings(estimates):
    return np.stack([e.pose_encoding for e in estimates])


def config(**changes):
    return StreamConfig(**{'anchor_frames': 3, 'window': 2, 'camera_iterations': 2,
                           'image_size': 42, 'max_keyframes': 32, **changes})


def assert_same(estimates, others):
    for a, b in zip(estimates, others, strict=True):
        np.testing.assert_allclose(a.pose_encoding, b.pose_encoding, atol=1e-4, rtol=0)
        assert torch.allclose(a.depth, b.depth, rtol=1e-4)
        assert (a.frame_index, a.stamp_ns, a.is_anchor, a.is_keyframe) == (
            b.frame_index, b.stamp_ns, b.is_anchor, b.is_keyframe)


@settings(deadline=None, max_examples=12)
@given(anchors=st.integers(1, 4), window=st.integers(1, 5), interval=st.integers(1, 3),
       later=st.integers(0, 9), changes=st.dictionaries(st.integers(0, 8), st.integers(1, 8)))
def test_streaming_equals_one_masked_attention(tiny_network, anchors, window, interval, later,
                                               changes):
    """Any anchors, window, interval, and window changes while running."""
    frames = images(anchors + later)
    session = StreamSession(tiny_network, config(anchor_frames=anchors, window=window,
                                                 keyframe_interval=interval))
    estimates, windows = [], [window] * anchors
    for index, frame in enumerate(frames):
        if index >= anchors:
            session.set_window(changes.get(index - anchors, session.window))
            windows.append(session.window)
        estimates += session.push(frame, index)
    kept = [True] * anchors + [i % interval == 0 for i in range(later)]
    assert [e.is_keyframe for e in estimates] == kept
    poses, depths = run(tiny_network, frames, Plan(anchors, kept, windows), iterations=2)
    np.testing.assert_allclose(encodings(estimates), poses, atol=1e-4, rtol=0)
    assert torch.allclose(torch.stack([e.depth for e in estimates]), depths, rtol=1e-4)


@pytest.mark.parametrize('chunk', [1, 2, 5, 100])
def test_chunks_equal_single_frames(tiny_network, chunk):
    frames = images(14)
    single = push_all(StreamSession(tiny_network, config()), frames)
    session = StreamSession(tiny_network, config())
    assert_same(list(session.stream(((f, i) for i, f in enumerate(frames)), chunk)), single)


def test_estimates_come_when_they_are_known(tiny_network):
    session = StreamSession(tiny_network, config())
    counts = [len(session.push(frame, 0)) for frame in images(5)]
    assert counts == [0, 0, 3, 1, 1]
    assert session.flush() == []


def test_end_of_input_before_all_anchors(tiny_network):
    frames = images(6)
    session = StreamSession(tiny_network, config(anchor_frames=4))
    assert push_all(session, frames[:2]) == []
    estimates = session.flush() + push_all(session, frames[2:], 2)
    assert [e.is_anchor for e in estimates] == [True, True, False, False, False, False]
    expected = push_all(StreamSession(tiny_network, config(anchor_frames=2)), frames)
    assert_same(estimates, expected)


def test_reset_begins_anew_and_keeps_the_window(tiny_network):
    session = StreamSession(tiny_network, config(window=4))
    first = push_all(session, images(9))
    session.set_window(2)
    session.reset()
    assert (session.frames, session.keyframes, session.window) == (0, 0, 2)
    again = push_all(session, images(9))
    assert_same(again, push_all(StreamSession(tiny_network, config(window=2)), images(9)))
    assert not np.allclose(encodings(first), encodings(again))


def test_growing_window_beyond_the_first_one(tiny_network):
    session = StreamSession(tiny_network, config(window=1))
    push_all(session, images(4))
    before = session.cache_bytes
    session.set_window(9)
    assert session.cache_bytes > before
    push_all(session, images(3, seed=1))


def test_memory_is_constant(tiny_network):
    session = StreamSession(tiny_network, config(max_keyframes=80))
    push_all(session, images(5))
    before = session.cache_bytes
    push_all(session, images(60, seed=1))
    assert session.cache_bytes == before


def test_uint8_images_are_preprocessed(tiny_network):
    rng = np.random.default_rng(0)
    session = StreamSession(tiny_network, config(anchor_frames=1))
    estimate, = session.push(rng.integers(0, 255, (61, 89, 3), dtype=np.uint8), 123456789)
    assert estimate.image_size == (28, 42) and estimate.depth.shape == (28, 42)
    assert estimate.stamp_ns == 123456789
    assert estimate.depth_confidence.min() >= 1 and estimate.depth.min() > 0


def test_float_tensor_equals_its_uint8_image(tiny_network):
    pixels = (255 * images(4)).to(torch.uint8)
    a = push_all(StreamSession(tiny_network, config()), pixels.float() / 255)
    b = push_all(StreamSession(tiny_network, config()), pixels.permute(0, 2, 3, 1).numpy())
    assert_same(a, b)


def test_without_depth(tiny_network):
    with_depth = push_all(StreamSession(tiny_network, config()), images(5))
    without = push_all(StreamSession(tiny_network, config(depth=False)), images(5))
    assert all(e.depth is None and e.depth_confidence is None for e in without)
    np.testing.assert_array_equal(encodings(without), encodings(with_depth))


@pytest.mark.parametrize('dtype, tolerance', [('bf16', 0.3), ('fp16', 0.03)])
def test_half_precision_is_near(tiny_network, dtype, tolerance):
    half = load_network('random', 'cpu', dtype)
    a = push_all(StreamSession(tiny_network, config()), images(8))
    b = push_all(StreamSession(half, config()), images(8))
    np.testing.assert_allclose(encodings(a), encodings(b), atol=tolerance)


@pytest.mark.parametrize('bad', [
    torch.zeros(3, 28, 43), torch.zeros(28, 42, 3), torch.zeros(3, 28, 42, dtype=torch.uint8),
    torch.zeros(1, 3, 28, 42), torch.zeros(3, 0, 42), np.zeros((28, 42), np.uint8),
    np.zeros((28, 42, 3), np.float32), torch.zeros(3, 42, 42), 'picture.png', None])
def test_wrong_images_are_refused_and_change_nothing(tiny_network, bad):
    frames = images(8)
    session = StreamSession(tiny_network, config())
    estimates = []
    for index, frame in enumerate(frames):
        if index > 0:
            with pytest.raises(ShapeError, match='expected .* got'):
                session.push(bad, index)
        estimates += session.push(frame, index)
    assert_same(estimates, push_all(StreamSession(tiny_network, config()), frames))


def poisoned(network):
    bad = copy.deepcopy(network)
    bad.camera_head.pose_branch.fc2.bias.data[0] = float('nan')
    return bad


def test_non_finite_pose_discards_the_frame(tiny_network):
    frames = images(9)
    network = copy.deepcopy(tiny_network)
    session = StreamSession(network, config(keyframe_interval=2))
    estimates = push_all(session, frames[:5])
    bias = network.camera_head.pose_branch.fc2.bias.data
    keep = bias.clone()
    for value in (float('nan'), float('inf')):
        bias[:] = value
        with pytest.raises(NonFinitePoseError):
            session.push(frames[5], 5)
        bias[:] = keep
    estimates += push_all(session, frames[5:], 5)
    expected = push_all(StreamSession(tiny_network, config(keyframe_interval=2)), frames)
    assert_same(estimates, expected)


def test_non_finite_anchors_are_dropped(tiny_network):
    network = poisoned(tiny_network)
    session = StreamSession(network, config())
    with pytest.raises(NonFinitePoseError):
        push_all(session, images(3))
    assert session.frames == 0
    network.camera_head.pose_branch.fc2.bias.data[0] = 0
    assert len(push_all(session, images(3))) == 3


def test_full_cache_says_what_to_do_and_changes_nothing(tiny_network):
    frames = images(8)
    session = StreamSession(tiny_network, config(max_keyframes=6))
    push_all(session, frames[:6])
    for _ in range(2):
        with pytest.raises(CacheFullError, match='need room for 7 kept frames, have 6; raise '
                                                 'max_keyframes or reset'):
            session.push(frames[6], 6)
        assert (session.frames, session.keyframes) == (6, 6)
    session.reset()
    assert len(push_all(session, frames[:6])) == 6


def test_transients_still_fit_when_the_cache_is_full(tiny_network):
    session = StreamSession(tiny_network, config(max_keyframes=4, keyframe_interval=10))
    assert len(push_all(session, images(10))) == 10
    assert session.keyframes == 4


@pytest.mark.parametrize('window', [0, -1, 2.5, True, '3'])
def test_bad_window_is_refused(tiny_network, window):
    session = StreamSession(tiny_network, config())
    with pytest.raises(ConfigError, match='window must be an integer >= 1, got'):
        session.set_window(window)
    assert session.window == 2


def test_image_size_must_be_whole_patches(tiny_network):
    with pytest.raises(ConfigError, match='multiple of the patch side .14., got 50; 56 would do'):
        StreamSession(tiny_network, StreamConfig(image_size=50))


def test_new_size_after_reset(tiny_network):
    session = StreamSession(tiny_network, config())
    push_all(session, images(4))
    session.reset()
    estimates = push_all(session, images(4, size=(42, 28)))
    assert [e.image_size for e in estimates] == [(42, 28)] * 4


def test_caches_that_do_not_fit_say_need_and_have(tiny_network, monkeypatch):
    from lingbot_ros.streaming import caches

    def exhausted(*_):
        raise RuntimeError('[enforce fail at alloc_cpu.cpp] not enough memory')

    monkeypatch.setattr(psutil, 'virtual_memory', lambda: SimpleNamespace(available=2.5e9))
    session = StreamSession(tiny_network, config())
    push_all(session, images(5))
    with monkeypatch.context() as patch:
        patch.setattr(caches.PagedCache, 'resize', exhausted)
        with pytest.raises(CacheFullError, match='need .* GB, have 2.50 GB free'):
            session.set_window(1000)
    assert session.window == 2
    assert len(push_all(session, images(2))) == 2
    monkeypatch.setattr(caches, 'PagedCache', exhausted)
    with pytest.raises(CacheFullError, match='page pool does not fit'):
        push_all(StreamSession(tiny_network, config()), images(3))
