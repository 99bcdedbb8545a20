# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The dense cache of the camera head against lists of tensors."""

from hypothesis import given, settings
from hypothesis import strategies as st
from lingbot_ros.cache import DenseCache
from lingbot_ros.errors import CacheError, CacheFullError, ConfigError, ShapeError
import pytest
import torch


def make(entries=2, capacity=6):
    cache = DenseCache(entries, capacity, 3, 4, torch.float32, 'cpu')
    cache._data.fill_(float('nan'))  # an unwritten slot that is read shows
    return cache


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from(['commit', 'discard', 'reset'])),
                max_size=12))
def test_views_hold_committed_and_open_frames(calls):
    cache, kept = make(capacity=12), [torch.empty(2, 2, 0, 3, 4)]
    generator = torch.Generator().manual_seed(0)
    for frames, end in calls:
        count = sum(x.shape[2] for x in kept)
        assert cache.kept == count
        if count + frames > 12:
            with pytest.raises(CacheFullError):
                cache.begin(frames)
            continue
        cache.begin(frames)
        fresh = torch.randn((2, 2, frames, 3, 4), generator=generator)
        expected = torch.cat([*kept, fresh], 2)
        for entry in range(2):
            views = cache.extend(entry, *fresh[entry])
            for axis, view in enumerate(views):
                assert torch.equal(view, expected[entry, axis].transpose(0, 1))
        getattr(cache, end)()
        if end == 'commit':
            kept.append(fresh)
        elif end == 'reset':
            kept = kept[:1]


def test_memory_is_allocated_once():
    cache = make()
    assert cache.nbytes == 2 * 2 * 3 * 6 * 4 * 4
    cache.begin()
    k, _ = cache.extend(0, *torch.randn(2, 1, 3, 4))
    assert k.untyped_storage().data_ptr() == cache._data.untyped_storage().data_ptr()
    assert k[0].is_contiguous()


def test_a_full_cache_names_the_setting():
    cache = make()
    with pytest.raises(CacheFullError, match='need room for 7 frames, have 6; raise '
                                             'max_keyframes or reset'):
        cache.begin(7)
    cache.begin(6)


def test_wrong_order_is_refused():
    cache = make()
    kv = torch.randn(2, 1, 3, 4)
    for call in (cache.commit, cache.discard, lambda: cache.extend(0, *kv)):
        with pytest.raises(CacheError, match='needs an open frame; call begin first'):
            call()
    with pytest.raises(CacheError, match='frames must be >= 1, got 0'):
        cache.begin(0)
    cache.begin()
    with pytest.raises(CacheError, match='begin needs no open frame'):
        cache.begin()
    cache.extend(1, *kv)
    with pytest.raises(CacheError, match=r'every entry extended, missing \[0\]'):
        cache.commit()
    cache.extend(0, *kv)
    cache.commit()
    assert cache.kept == 1
    cache.begin()
    with pytest.raises(CacheError, match=r'missing \[0, 1\]'):
        cache.commit()


def test_wrong_tensors_entries_and_sizes_are_refused():
    cache = make()
    cache.begin(2)
    good = torch.randn(2, 3, 4)
    for bad, got in ((good[:1], r'got \[1, 3, 4\]'), (good.double(), 'got .* torch.float64'),
                     (good.to('meta'), 'got .* on meta')):
        with pytest.raises(ShapeError, match=r'k must be \[2, 3, 4\] .*' + got):
            cache.extend(0, bad, good)
        with pytest.raises(ShapeError, match=r'v must be \[2, 3, 4\] .*' + got):
            cache.extend(0, good, bad)
    for entry in (-1, 2):
        with pytest.raises(CacheError, match=f'entry must be 0 .. 1, got {entry}'):
            cache.extend(entry, good, good)
    with pytest.raises(ConfigError, match='capacity must be >= 1, got 0'):
        make(capacity=0)
