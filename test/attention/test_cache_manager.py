# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The compatibility manager: the example at its real geometry, and any use against a list model.

Reference for attention: plain softmax over an explicit list of the keys that must be visible.
"""

import math

from hypothesis import given, settings
from hypothesis import strategies as st
from lingbot_ros.cache import FlashInferKVCacheManager
from lingbot_ros.errors import BackendError, CacheError, CacheFullError, ConfigError, ShapeError
import pytest
import torch


def make(blocks=2, frames=40, tokens=7, special=3, scale=2, window=3, dtype=torch.float32, **more):
    manager = FlashInferKVCacheManager(
        num_blocks=blocks, max_num_frames=frames, tokens_per_frame=tokens, num_heads=2,
        head_dim=8, dtype=dtype, device='cpu', num_special_tokens=special, scale_frames=scale,
        sliding_window=window, **more)
    for pool in manager.kv_caches:
        pool.fill_(float('nan'))
    return manager


def frame(manager, seed=0):
    generator = torch.Generator().manual_seed(seed)
    pool = manager.kv_caches[0]
    shape = (3, manager.patches_per_frame + 3, *pool.shape[3:])
    return torch.randn(shape, generator=generator).to(pool.dtype)


def dense(q, frames, patch_frames, special):
    """Attention of q over specials of `frames` and patches of `patch_frames`, in fp64."""
    keys = [[x[:special] for x in frames] + [x[special:] for x in patch_frames]
            for frames, patch_frames in
            (([f[axis] for f in frames], [f[axis] for f in patch_frames]) for axis in (1, 2))]
    k, v = (torch.cat(x).double().transpose(0, 1) for x in keys)
    q = q.double().transpose(0, 1)
    return ((q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])).softmax(-1) @ v).transpose(0, 1)


def test_the_example_at_its_real_geometry():
    manager = FlashInferKVCacheManager(2, 2000, 262, 8, 64, torch.bfloat16, 'cpu')
    assert (manager.page_size, manager.patches_per_frame) == (256, 256)
    assert manager.max_num_pages == 8 + 64 + 1 + 47
    assert [tuple(x.shape) for x in manager.kv_caches] == [(120, 2, 256, 8, 64)] * 2
    addresses = [pool.data_ptr() for pool in manager.kv_caches]
    frames = []
    nbytes = manager.get_cache_stats()['cache_bytes']
    for index in range(90):
        q, k, v = torch.randn(3, 262, 8, 64).bfloat16()
        frames.append((q, k, v))
        for block in range(2):
            manager.append_frame(block, k, v)
            manager.evict_frames(block, 8, 64, True, True)
            pages = manager.build_visible_page_table(block)
            count = min(index + 1, 72)
            special = (index + 1) * 6
            assert len(pages) == len(set(pages)) == count + -(-special // 256)
            assert manager.compute_last_page_len(block) == (special - 1) % 256 + 1
        if index in (0, 8, 89):
            got = manager.compute_attention(index % 2, q)
            assert (got.shape, got.dtype) == (q.shape, q.dtype)
            live = frames[:8] + frames[8:][-64:]
            expected = dense(q, frames, live, 6)
            assert (got.double() - expected).abs().max() < 2e-2
    assert manager.num_frames == 90
    stats = manager.get_cache_stats(1)
    assert stats == {
        'frames': 90, 'scale_pages': 8, 'window_pages': 64, 'special_pages': 3,
        'special_tokens': 540, 'visible_tokens': 72 * 256 + 540, 'free_patch_pages': 1,
        'free_special_pages': 44, 'max_num_pages': 120, 'page_size': 256,
        'cache_bytes': 2 * 120 * 2 * 256 * 8 * 64 * 2}
    assert stats['cache_bytes'] == nbytes
    assert [pool.data_ptr() for pool in manager.kv_caches] == addresses


actions = st.tuples(st.integers(0, 1),
                    st.sampled_from(['append', 'append', 'append', 'step', 'step', 'evict',
                                     'evict_all', 'rollback', 'reset']),
                    st.integers(1, 4))


@settings(max_examples=120, deadline=None)
@given(st.integers(1, 9), st.integers(0, 3), st.integers(1, 4), st.lists(actions, max_size=40))
def test_blocks_in_any_order_equal_a_list_model(patches, scale, window, calls):
    manager = make(tokens=patches + 3, scale=scale, window=window, frames=12)
    # Of each block: all frames, live scale and window frames, and the state before the last
    # append, which rollback returns to.
    state = [([], [], [], None) for _ in range(2)]
    for serial, (block, action, number) in enumerate(calls):
        frames, scales, recent, before = state[block]
        if action == 'reset':
            manager.reset()
            state = [([], [], [], None) for _ in range(2)]
        elif action == 'rollback':
            if before is None:
                with pytest.raises(CacheError, match='rollback needs an append_frame before it'):
                    manager.rollback_last_frame(block)
            else:
                manager.rollback_last_frame(block)
                state[block] = (*before, None)
        elif action in ('append', 'step'):
            _, k, v = frame(manager, serial)
            full = len(scales) + len(recent) == min(scale, 12) + window + 1
            if len(frames) == 12 or full:
                setting = 'max_num_frames' if len(frames) == 12 else 'evict_frames'
                with pytest.raises(CacheFullError, match=setting):
                    manager.append_frame(block, k, v)
            else:
                manager.append_frame(block, k, v)
                new = [(None, k, v)]
                is_scale = len(frames) < scale
                state[block] = (frames + new, scales + new * is_scale,
                                recent + new * (not is_scale), (frames, scales, recent))
        frames, scales, recent, before = state[block]
        if action in ('evict', 'step'):
            number = min(number, window) if action == 'evict' else window
            manager.evict_frames(block, scale, number)
            state[block] = (frames, scales, recent[-number:], before)
        elif action == 'evict_all':
            number = min(number, window)
            manager.evict_frames(block, scale, number, include_scale_frames=False)
            live = (scales + recent)[-number:]
            state[block] = (frames, [x for x in scales if any(x is y for y in live)],
                            [x for x in recent if any(x is y for y in live)], before)
        frames, scales, recent, _ = state[block]
        assert manager.num_frames == max(len(s[0]) for s in state)
        stats = manager.get_cache_stats(block)
        assert (stats['frames'], stats['scale_pages'], stats['window_pages']) == (
            len(frames), len(scales), len(recent))
        assert stats['free_patch_pages'] == scale + window + 1 - len(scales) - len(recent)
        # One frame more than max_num_frames has room among the special pages.
        special = -(-len(frames) * 3 // patches)
        assert stats['special_pages'] == special
        assert stats['free_special_pages'] == -(-13 * 3 // patches) - special
        pages = manager.build_visible_page_table(block)
        assert len(pages) == len(set(pages))
        if not frames:
            assert (pages, manager.compute_last_page_len(block)) == ([], 0)
            continue
        q = frame(manager, serial)[0]
        expected = dense(q, frames, scales + recent, 3)
        assert (manager.compute_attention(block, q) - expected).abs().max() < 1e-4


def test_one_plan_serves_blocks_that_advance_together(monkeypatch):
    manager = make(blocks=5)
    plans = []
    plan = manager._backend.plan
    monkeypatch.setattr(manager._backend, 'plan', lambda *x: plans.append(x) or plan(*x))
    for index in range(9):
        for block in range(5):
            q, k, v = frame(manager, index)
            manager.append_frame(block, k, v)
            manager.evict_frames(block, 2, 3)
            manager.compute_attention(block, q)
        assert len(plans) == index + 1


def test_force_fp32_answers_in_the_dtype_of_the_query():
    exact, plain = (make(dtype=torch.bfloat16, force_fp32=force) for force in (True, False))
    q, k, v = frame(exact)
    for manager in (exact, plain):
        manager.append_frame(0, k, v)
    expected = dense(q.float(), [(None, k, v)], [(None, k, v)], 3)
    got = exact.compute_attention(0, q.float())
    assert got.dtype == torch.float32
    assert (got - expected).abs().max() < 1e-5
    assert exact.compute_attention(0, q).dtype == torch.bfloat16
    with pytest.raises(ShapeError, match=r'q must be \[7, 2, 8\] torch.bfloat16 .*float32'):
        plain.compute_attention(0, q.float())


def test_the_choice_of_back_end_is_logged(caplog):
    with caplog.at_level('INFO', logger='lingbot_ros'):
        assert make().backend_name == 'sdpa'
    assert "attention back end sdpa: the device is 'cpu', flashinfer needs CUDA" in caplog.text


def test_rollback_restores_what_was_evicted_since():
    manager = make(scale=0, window=1)
    frames = [frame(manager, seed) for seed in range(3)]
    for _, k, v in frames[:2]:
        manager.append_frame(0, k, v)
        manager.evict_frames(0, 0, 1)
    before = manager.build_visible_page_table(0)
    manager.rollback_last_frame(0)
    assert manager.num_frames == 1
    assert manager.build_visible_page_table(0) != before
    got = manager.compute_attention(0, frames[2][0])
    expected = dense(frames[2][0], frames[:1], frames[:1], 3)
    assert (got - expected).abs().max() < 1e-5
    with pytest.raises(CacheError, match='undoes only one'):
        manager.rollback_last_frame(0)


def test_exhaustion_says_what_to_call_or_raise():
    manager = make(scale=1, window=2, frames=5)
    _, k, v = frame(manager)
    for _ in range(4):
        manager.append_frame(0, k, v)
    with pytest.raises(CacheFullError, match='need 1 free pages, have 0 of 4; call evict_frames '
                                             'after every append_frame, or raise sliding_window'):
        manager.append_frame(0, k, v)
    manager.evict_frames(0, 1, 2)
    manager.append_frame(0, k, v)
    manager.evict_frames(0, 1, 2)
    with pytest.raises(CacheFullError, match='need room for 6 frames, have 5; raise '
                                             'max_num_frames or call reset'):
        manager.append_frame(0, k, v)
    assert manager.num_frames == 5
    manager.reset()
    manager.append_frame(0, k, v)


def test_wrong_arguments_are_refused_and_change_nothing():
    manager = make()
    q, k, v = frame(manager)
    with pytest.raises(CacheError, match='nothing is cached in this block; call append_frame'):
        manager.compute_attention(0, q)
    for bad in (k[1:], k[0], k.half(), k.to('meta'), torch.tensor(0.0)):
        with pytest.raises(ShapeError, match=r'k must be \[7, 2, 8\] torch.float32 on cpu'):
            manager.append_frame(0, bad, v)
        with pytest.raises(ShapeError, match='v must be'):
            manager.append_frame(0, k, bad)
    assert manager.num_frames == 0
    manager.append_frame(0, k, v)
    for bad in (q[:, :1], q[0], q.half(), q.to('meta'), torch.tensor(0.0)):
        with pytest.raises(ShapeError, match=r'q must be \[\d, 2, 8\] torch.float32 on cpu'):
            manager.compute_attention(0, bad)
    with pytest.raises(ShapeError, match='queries must be >= 1, got 0'):
        manager.compute_attention(0, q[:0])
    for block in (-1, 2):
        for call in (lambda b: manager.append_frame(b, k, v), manager.get_cache_stats,
                     lambda b: manager.evict_frames(b, 2, 3), manager.build_visible_page_table,
                     manager.compute_last_page_len, manager.rollback_last_frame,
                     lambda b: manager.compute_attention(b, q)):
            with pytest.raises(ShapeError, match=f'block_idx must be 0 .. 1, got {block}'):
                call(block)
    for arguments, message in (
            ((1, 3), 'scale_frames must be 2 as at construction, got 1'),
            ((2, 4), r'sliding_window must be 1 .. 3 \(the window at construction\), got 4'),
            ((2, 0), 'sliding_window must be 1 .. 3'),
            ((2, 3, False), 'cross_frame_special must be True, got False: special tokens are')):
        with pytest.raises(ConfigError, match=message):
            manager.evict_frames(0, *arguments)
    assert manager.get_cache_stats()['scale_pages'] == 1


@pytest.mark.parametrize(('change', 'message'), [
    ({'blocks': 0}, 'num_blocks must be >= 1, got 0'),
    ({'frames': 0}, 'max_num_frames must be >= 1, got 0'),
    ({'tokens': 3}, 'tokens_per_frame must be >= 4, got 3'),
    ({'special': -1}, 'num_special_tokens must be >= 0, got -1'),
    ({'scale': -1}, 'scale_frames must be >= 0, got -1'),
    ({'window': 0}, 'sliding_window must be >= 1, got 0'),
])
def test_wrong_sizes_are_refused(change, message):
    with pytest.raises(ConfigError, match=message):
        make(**change)


def test_other_dtypes_are_refused():
    with pytest.raises(BackendError, match='got torch.float64'):
        make(dtype=torch.float64)
