# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Page ids: no leak, no double free, no alias, and refusals that change nothing."""

import random

from lingbot_ros.cache import PagePool
from lingbot_ros.errors import CacheError, CacheFullError
import pytest


def test_ids_are_handed_out_once_and_come_back():
    pool = PagePool(range(3), 'raise window')
    assert pool.allocate(2) == [0, 1]
    assert (pool.free_count, pool.size) == (1, 3)
    pool.free([0])
    assert pool.allocate(2) == [2, 0]
    assert pool.allocate(0) == []


def test_exhaustion_says_need_have_and_setting():
    pool = PagePool(range(3), 'raise window')
    pool.allocate(1)
    with pytest.raises(CacheFullError, match=r'need 3 free pages, have 2 of 3; raise window'):
        pool.allocate(3)
    assert pool.free_count == 2


def test_a_negative_count_is_refused():
    with pytest.raises(CacheError, match='page count must be >= 0, got -1'):
        PagePool(range(3), '').allocate(-1)


@pytest.mark.parametrize('pages', [[0, 2], [7], [0, 0], [-1]])
def test_double_free_and_foreign_ids_are_refused_whole(pages):
    pool = PagePool(range(3), '')
    pool.allocate(2)
    with pytest.raises(CacheError, match='must be taken and distinct'):
        pool.free(pages)
    assert pool.free_count == 1
    pool.free([0, 1])
    with pytest.raises(CacheError, match=r'got \[1\]; not taken: \[1\]'):
        pool.free([1])


def test_grow_adds_new_ids_alone():
    pool = PagePool(range(2), '')
    pool.allocate(1)
    for ids in ([0], [1], [5, 5]):
        with pytest.raises(CacheError, match='must be new and distinct'):
            pool.grow(ids)
    assert pool.size == 2
    pool.grow([5, 6])
    assert pool.allocate(3) == [1, 5, 6]


def test_ten_thousand_random_steps():
    rng = random.Random(0)
    pool = PagePool(range(10), 'raise window')
    taken: set[int] = set()
    size = 10
    for _ in range(10_000):
        step = rng.random()
        if step < 0.5:
            count = rng.randrange(5)
            if count > size - len(taken):
                with pytest.raises(CacheFullError):
                    pool.allocate(count)
            else:
                pages = pool.allocate(count)
                assert len(set(pages)) == count and not taken.intersection(pages)
                taken.update(pages)
        elif step < 0.99:
            pages = rng.sample(sorted(taken), rng.randint(0, len(taken)))
            pool.free(pages)
            taken.difference_update(pages)
        else:
            pool.grow([size])
            size += 1
        assert (pool.free_count, pool.size) == (size - len(taken), size)
