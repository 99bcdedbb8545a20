# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The tensors of the paged cache: where tokens land, growth, refusals."""

from lingbot_ros.cache import PagedCache, PageSpec, PageTable
from lingbot_ros.errors import ShapeError
import pytest
import torch

SPEC = PageSpec(patches=4, special_tokens=6, anchor_frames=2, window=2, max_keyframes=9,
                layers=3, heads=2, head_dim=5, element_bytes=4)


@pytest.fixture
def cache():
    return PagedCache(SPEC, torch.float32, 'cpu')


def tokens(frames, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn((2, frames * SPEC.tokens_per_frame, 2, 5), generator=generator)


def test_pools_have_the_layout_and_size_the_spec_says(cache):
    assert [tuple(layer.shape) for layer in cache.layers] == [(SPEC.pages, 2, 4, 2, 5)] * 3
    assert cache.nbytes == SPEC.total_bytes
    assert cache.pages == SPEC.pages


def test_every_token_lands_in_its_slot_and_nowhere_else(cache):
    for layer in cache.layers:
        layer.fill_(float('nan'))
    slots = PageTable(SPEC).begin('anchor', 2)
    k, v = tokens(2)
    cache.write(1, cache.prepare(slots), k, v)
    pool = cache.layers[1]
    per_frame = SPEC.tokens_per_frame
    for frame in range(2):
        for axis, x in enumerate((k, v)):
            own = x[frame * per_frame:(frame + 1) * per_frame]
            assert torch.equal(pool[slots.patch_pages[frame], axis], own[6:])
            for token in range(6):
                at = frame * 6 + token
                assert torch.equal(
                    pool[slots.special_pages[at], axis, slots.special_offsets[at]], own[token])
    assert int(pool.isfinite().sum()) == 2 * k.numel()
    assert cache.layers[0].isnan().all() and cache.layers[2].isnan().all()


def test_strided_keys_are_written_as_they_read(cache):
    slots = PageTable(SPEC).begin('keyframe')
    k, v = tokens(1)
    strided = k.transpose(0, 1).contiguous().transpose(0, 1)
    cache.write(0, cache.prepare(slots), strided, v)
    assert torch.equal(cache.layers[0][slots.patch_pages[0], 0], k[6:])


def test_resize_keeps_ids_and_content(cache):
    for index, layer in enumerate(cache.layers):
        layer.fill_(index)
    cache.resize(SPEC.pages + 3)
    assert cache.pages == SPEC.pages + 3
    assert cache.nbytes == SPEC.total_bytes + 3 * SPEC.page_bytes * 3
    for index, layer in enumerate(cache.layers):
        assert (layer[:SPEC.pages] == index).all()
    before = cache.layers[0]
    cache.resize(SPEC.pages + 3)
    assert cache.layers[0] is before
    with pytest.raises(ShapeError, match=f'only grows: pages must be >= {SPEC.pages + 3}, got 2'):
        cache.resize(2)


def test_resize_holds_one_layer_twice_at_most(cache, monkeypatch):
    live = []
    make = cache._empty

    def counted(pages, device):
        live.append(sum(layer.shape[0] for layer in cache.layers))
        return make(pages, device)

    monkeypatch.setattr(cache, '_empty', counted)
    cache.resize(SPEC.pages + 1)
    # Each new pool is made while all others are at their old or new size, none kept aside.
    assert live == [3 * SPEC.pages, 3 * SPEC.pages + 1, 3 * SPEC.pages + 2]


def test_grown_table_and_cache_go_together(cache):
    table = PageTable(SPEC)
    table.grow(4)
    table.set_window(4)
    for _ in range(4):
        table.begin('keyframe')
        table.commit()
    slots = [table.begin('keyframe')]
    while max(slots[-1].patch_pages) < SPEC.pages:
        table.commit()
        slots.append(table.begin('keyframe'))
    with pytest.raises(ShapeError, match=r'slots name page \d+, the cache has .* resize'):
        cache.prepare(slots[-1])
    cache.resize(table.pages)
    cache.write(0, cache.prepare(slots[-1]), *tokens(1))


@pytest.mark.parametrize(('change', 'got'), [
    (lambda x: x[1:], r'got \[9, 2, 5\]'),
    (lambda x: x[:, :1], r'got \[10, 1, 5\]'),
    (lambda x: x[0], r'got \[2, 5\]'),
    (lambda x: x.half(), r'got .* torch.float16'),
    (lambda x: x.to('meta'), r'got .* on meta'),
])
def test_wrong_keys_and_values_are_refused(cache, change, got):
    prepared = cache.prepare(PageTable(SPEC).begin('keyframe'))
    k, v = tokens(1)
    expected = r' must be \[10, 2, 5\] torch.float32 on cpu, '
    with pytest.raises(ShapeError, match='k' + expected + got):
        cache.write(0, prepared, change(k), v)
    with pytest.raises(ShapeError, match='v' + expected + got):
        cache.write(0, prepared, k, change(v))


def test_unknown_layers_and_contradicting_dtypes_are_refused(cache):
    prepared = cache.prepare(PageTable(SPEC).begin('keyframe'))
    for layer in (-1, 3):
        with pytest.raises(ShapeError, match=f'layer must be 0 .. 2, got {layer}'):
            cache.write(layer, prepared, *tokens(1))
    with pytest.raises(ShapeError, match='torch.float16 has 2 bytes, the page spec says '
                                         'element_bytes=4'):
        PagedCache(SPEC, torch.float16, 'cpu')
