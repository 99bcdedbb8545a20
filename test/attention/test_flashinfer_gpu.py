# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""FlashInfer, FA2 and FA3, against plain torch in fp32. Needs a CUDA device and flashinfer."""

import importlib.util

from lingbot_ros.attention import choose_backend, make_backend
from lingbot_ros.cache import (
    FlashInferKVCacheManager,
    PagedCache,
    PageSpec,
    PageTable,
    VisiblePages,
)
from lingbot_ros.errors import BackendError, CacheError, ShapeError
import pytest
import torch

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason='no CUDA device'),
    pytest.mark.skipif(importlib.util.find_spec('flashinfer') is None,
                       reason='flashinfer is not installed'),
]
HEADS = 16
NAMES = ['flashinfer_fa2', 'flashinfer_fa3']


def make(name, head_dim=64, page_size=256, dtype=torch.bfloat16):
    if name == 'flashinfer_fa3' and torch.cuda.get_device_capability()[0] != 9:
        pytest.skip('FA3 needs compute capability 9.x')
    return make_backend(name, HEADS, head_dim, page_size, dtype, 'cuda')


def oracle(q, pool, visible):
    """The sdpa back end in fp32 on the same numbers."""
    backend = make_backend('sdpa', *pool.shape[3:], visible.page_size, torch.float32, 'cuda')
    backend.plan(visible, q.shape[0])
    return backend.run(q.float(), pool.float())


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('queries', [1005, 8 * 1005])
@pytest.mark.parametrize('page_size', [256, 999, 7])
@pytest.mark.parametrize(('head_dim', 'dtype'), [
    (64, torch.bfloat16), (64, torch.float16), (128, torch.bfloat16)])
def test_flashinfer_equals_plain_torch(name, queries, page_size, head_dim, dtype):
    backend = make(name, head_dim, page_size, dtype)
    assert backend.name == name
    generator = torch.Generator('cuda').manual_seed(page_size)
    total = max(6, 9000 // page_size)
    pool = torch.randn((total, 2, page_size, HEADS, head_dim), generator=generator,
                       device='cuda', dtype=dtype)
    # Queries as long as keys make attention peaked, so that a wrong key shows.
    q = 2 * torch.randn((queries, HEADS, head_dim), generator=generator, device='cuda',
                        dtype=dtype)
    order = torch.randperm(total, generator=torch.Generator().manual_seed(1)).tolist()
    for count, last in ((total - 2, page_size // 2 + 1), (total - 1, page_size), (1, 1)):
        visible = VisiblePages(tuple(order[:count]), last, page_size)
        expected = oracle(q, pool, visible)
        # Neither pages out of sight nor the rest of the last page may be read.
        poisoned = pool.clone()
        poisoned[order[count:]] = float('nan')
        poisoned[order[count - 1], :, last:] = float('nan')
        backend.plan(visible, queries)
        got = backend.run(q, poisoned)
        assert got.dtype == dtype and got.shape == q.shape
        assert (got.float() - expected).abs().max() < 3e-2
        assert torch.equal(backend.run(q, poisoned), got)  # one plan serves many layers


@pytest.mark.parametrize('name', NAMES)
def test_a_stream_through_table_and_cache(name):
    spec = PageSpec(patches=999, special_tokens=6, anchor_frames=8, window=3, max_keyframes=200,
                    layers=2, heads=HEADS, head_dim=64, element_bytes=2)
    table, cache = PageTable(spec), PagedCache(spec, torch.bfloat16, 'cuda')
    for layer in cache.layers:
        layer.zero_()
    backend = make(name, page_size=999)
    for kind, frames in [('anchor', 8)] + [('keyframe', 1), ('transient', 1)] * 6:
        prepared = cache.prepare(table.begin(kind, frames))
        visible = table.visible()
        backend.plan(visible, frames * 1005)
        for layer in range(2):
            q, k, v = torch.randn((3, frames * 1005, HEADS, 64), device='cuda').bfloat16()
            cache.write(layer, prepared, k, v)
            got = backend.run(q, cache.layers[layer])
            expected = oracle(q, cache.layers[layer], visible)
            assert (got.float() - expected).abs().max() < 2e-2
        table.commit()


@pytest.mark.parametrize('name', NAMES)
def test_planning_does_not_synchronise(name):
    backend = make(name)
    visible = VisiblePages(tuple(range(72)), 100, 256)
    backend.plan(visible, 1005)
    torch.cuda.synchronize()
    work = torch.randn(8192, 8192, device='cuda')
    for _ in range(20):
        work = work @ work
    done = torch.cuda.Event()
    done.record()
    backend.plan(visible, 1005)
    assert not done.query()  # the plan returned while the device was still busy
    torch.cuda.synchronize()


@pytest.mark.parametrize('name', NAMES)
def test_plans_ahead_of_the_device_stay_apart(name):
    backend = make(name, page_size=16)
    pool = torch.randn(64, 2, 16, HEADS, 64, device='cuda').bfloat16()
    q = torch.randn(300, HEADS, 64, device='cuda').bfloat16()
    plans = [VisiblePages(tuple(range(start, start + count)), last, 16)
             for start, count, last in ((0, 3, 5), (10, 50, 16), (60, 1, 1), (5, 20, 9))] * 5
    got = []
    work = torch.randn(4096, 4096, device='cuda')
    for visible in plans:
        work = work @ work  # keeps the device behind the host
        backend.plan(visible, 300)
        got.append(backend.run(q, pool))
    for visible, answer in zip(plans, got, strict=True):
        assert (answer.float() - oracle(q, pool, visible)).abs().max() < 2e-2


def test_auto_takes_flashinfer_and_wrong_calls_are_refused():
    assert choose_backend(64, torch.bfloat16, 'cuda')[0] == 'flashinfer'
    backend = make('auto')
    is_hopper = torch.cuda.get_device_capability()[0] == 9
    assert backend.name == ('flashinfer_fa3' if is_hopper else 'flashinfer_fa2')
    pool = torch.zeros(3, 2, 256, HEADS, 64, device='cuda', dtype=torch.bfloat16)
    q = torch.zeros(5, HEADS, 64, device='cuda', dtype=torch.bfloat16)
    with pytest.raises(CacheError, match='run needs a plan'):
        backend.run(q, pool)
    backend.plan(VisiblePages((0, 2), 9, 256), 5)
    with pytest.raises(ShapeError, match=r'q must be \[5, 16, 64\]'):
        backend.run(q[:4], pool)
    with pytest.raises(ShapeError, match='planned page 2'):
        backend.run(q, pool[:2])
    with pytest.raises(BackendError, match='got torch.float32'):
        make('flashinfer', dtype=torch.float32)


def test_the_manager_on_a_gpu():
    plain, exact = (FlashInferKVCacheManager(2, 2000, 262, 8, 64, torch.bfloat16, 'cuda',
                                             force_fp32=force) for force in (False, True))
    assert plain.backend_name.startswith('flashinfer')
    for _ in range(100):
        for block in range(2):
            q, k, v = torch.randn((3, 262, 8, 64), device='cuda').bfloat16()
            answers = []
            for manager in (plain, exact):
                manager.append_frame(block, k, v)
                manager.evict_frames(block, 8, 64, True, True)
                answers.append(manager.compute_attention(block, q).float())
            assert (answers[0] - answers[1]).abs().max() < 2e-2
