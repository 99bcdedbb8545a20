# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Paged attention in plain torch against one masked attention over an explicit token list.

Pools are poisoned with NaN, so that a token that was never written, or a stale one beyond the
last page's length, cannot hide.
"""

import math
import random

from lingbot_ros.attention import make_backend
from lingbot_ros.attention.sdpa import SdpaBackend
from lingbot_ros.cache import PagedCache, PageSpec, PageTable, VisiblePages
from lingbot_ros.errors import BackendError, CacheError, ShapeError
import pytest
import torch

TOLERANCE = {torch.float32: 2e-5, torch.bfloat16: 2e-2, torch.float16: 3e-3}


def masked_attention(q, k, v, mask):
    """Softmax attention in fp64; q, k, v [tokens, heads, head_dim], mask [queries, keys]."""
    q, k, v = (x.double().transpose(0, 1) for x in (q, k, v))
    scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
    return (scores.masked_fill(~mask, -math.inf).softmax(-1) @ v).transpose(0, 1)


@pytest.mark.parametrize('dtype', TOLERANCE)
@pytest.mark.parametrize(('patches', 'special', 'anchors', 'window'), [
    (7, 6, 2, 3), (3, 6, 0, 1), (1, 2, 3, 2), (16, 0, 1, 4), (12, 12, 2, 1)])
def test_a_stream_equals_one_masked_attention(dtype, patches, special, anchors, window):
    spec = PageSpec(patches=patches, special_tokens=special, anchor_frames=anchors,
                    window=window, max_keyframes=30, layers=2, heads=2, head_dim=8,
                    element_bytes=dtype.itemsize)
    table, cache = PageTable(spec), PagedCache(spec, dtype, 'cpu')
    for layer in cache.layers:
        layer.fill_(float('nan'))
    backend = make_backend('sdpa', 2, 8, patches, dtype, 'cpu')
    generator, rng = torch.Generator().manual_seed(patches), random.Random(patches)
    per_frame = spec.tokens_per_frame

    # Whole sequence: one row of keys for every token there ever was, and a mask over them.
    all_k, all_v, owner, is_special = [], [], [], []
    kept, frame = [], 0
    for step in range(20):
        kind = 'anchor' if step == 0 and anchors else rng.choice(['keyframe'] * 3 + ['transient'])
        frames = anchors if kind == 'anchor' else 1
        slots = table.begin(kind, frames)
        prepared = cache.prepare(slots)
        qkv = torch.randn((3, 2, frames * per_frame, 2, 8), generator=generator).to(dtype)
        fresh = list(range(frame, frame + frames))
        frame += frames
        for number in fresh:
            owner += [number] * per_frame
            is_special += [True] * special + [False] * patches
        all_k.append(qkv[1])
        all_v.append(qkv[2])
        later = kept[anchors:]
        live = (later + fresh)[-window:] if kind == 'keyframe' else later[-window:] + fresh
        live = set(kept[:anchors] + live)
        known = set(kept + fresh)
        mask = torch.tensor([number in live or (number in known and special_token)
                             for number, special_token in zip(owner, is_special, strict=True)])
        backend.plan(table.visible(), frames * per_frame)
        k, v = torch.cat(all_k, 1), torch.cat(all_v, 1)
        for layer in range(2):
            cache.write(layer, prepared, qkv[1, layer], qkv[2, layer])
            got = backend.run(qkv[0, layer], cache.layers[layer])
            assert got.dtype == dtype and got.is_contiguous()
            expected = masked_attention(qkv[0, layer], k[layer], v[layer], mask[None])
            assert (got.double() - expected).abs().max() < TOLERANCE[dtype]
        if kind == 'keyframe' and rng.random() < 0.2:
            table.discard()
        else:
            table.commit()
            kept += fresh if kind != 'transient' else []


def backend_and_pool(dtype=torch.float32):
    backend = SdpaBackend(2, 8, 4, dtype, torch.device('cpu'))
    return backend, torch.randn(5, 2, 4, 2, 8).to(dtype)


def test_many_layers_and_longer_plans_reuse_one_buffer():
    backend, pool = backend_and_pool()
    q = torch.randn(3, 2, 8)
    backend.plan(VisiblePages((0, 1, 2, 3, 4), 2, 4), 3)
    long = backend.run(q, pool)
    address = backend._gathered.data_ptr()
    backend.plan(VisiblePages((3,), 1, 4), 3)
    short = backend.run(q, pool)
    assert torch.allclose(short, pool[3, 1, 0].expand(3, 2, 8))  # one key: its value
    backend.plan(VisiblePages((0, 1, 2, 3, 4), 2, 4), 3)
    assert torch.equal(backend.run(q, pool), long)
    assert backend._gathered.data_ptr() == address


def test_fp32_computation_takes_any_query_and_answers_in_kind():
    backend = SdpaBackend(2, 8, 4, torch.bfloat16, torch.device('cpu'), torch.float32)
    pool = torch.randn(5, 2, 4, 2, 8).bfloat16()
    q = torch.randn(3, 2, 8)
    backend.plan(VisiblePages((1, 4), 3, 4), 3)
    got = backend.run(q, pool)
    k, v = (torch.cat((pool[1, axis], pool[4, axis, :3])) for axis in (0, 1))
    expected = masked_attention(q, k, v, torch.ones(3, 7, dtype=torch.bool))
    assert got.dtype == torch.float32
    assert (got - expected).abs().max() < 1e-5
    assert backend.run(q.bfloat16(), pool).dtype == torch.bfloat16


def test_run_before_plan_and_wrong_plans_are_refused():
    backend, pool = backend_and_pool()
    with pytest.raises(CacheError, match='run needs a plan; call plan once a frame before'):
        backend.run(torch.randn(3, 2, 8), pool)
    with pytest.raises(ShapeError, match='pages must hold 4 tokens, got 5'):
        backend.plan(VisiblePages((0,), 1, 5), 3)
    with pytest.raises(ShapeError, match='queries must be >= 1, got 0'):
        backend.plan(VisiblePages((0,), 1, 4), 0)


def test_wrong_queries_and_pools_are_refused():
    backend, pool = backend_and_pool()
    backend.plan(VisiblePages((0, 4), 1, 4), 3)
    q = torch.randn(3, 2, 8)
    for bad in (q[:2], q[0], q.half(), q.to('meta')):
        with pytest.raises(ShapeError, match=r'q must be \[3, 2, 8\] torch.float32 on cpu'):
            backend.run(bad, pool)
    for bad in (pool[:, 0], pool.half(), pool.to('meta'), torch.tensor(1.0)):
        with pytest.raises(ShapeError, match=r'pages must be \[\d, 2, 4, 2, 8\] torch.float32'):
            backend.run(q, bad)
    with pytest.raises(ShapeError, match='must hold the planned page 4, got 4 pages; resize'):
        backend.run(q, pool[:4])
    strided = pool.transpose(1, 2).contiguous().transpose(1, 2)
    with pytest.raises(ShapeError, match='pages must be contiguous'):
        backend.run(q, strided)


def test_other_dtypes_are_refused():
    with pytest.raises(BackendError, match='sdpa back end takes .* got torch.float64'):
        SdpaBackend(2, 8, 4, torch.float64, torch.device('cpu'))
