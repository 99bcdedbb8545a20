# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sizes: what a spec computes, and what it refuses."""

from dataclasses import replace

from lingbot_ros.cache import PageSpec, VisiblePages
from lingbot_ros.errors import ConfigError
import pytest

RELEASED = PageSpec(patches=999, special_tokens=6, anchor_frames=8, window=64,
                    max_keyframes=2048, layers=24, heads=16, head_dim=64, element_bytes=2)


def test_sizes_of_the_released_network():
    assert RELEASED.page_size == 999
    assert RELEASED.tokens_per_frame == 1005
    assert RELEASED.patch_pages == 73
    assert RELEASED.special_pages == 13  # 2049 * 6 tokens on pages of 999
    assert RELEASED.pages == 86
    assert RELEASED.page_bytes == 2 * 999 * 16 * 64 * 2
    assert RELEASED.total_bytes == 24 * 86 * RELEASED.page_bytes


@pytest.mark.parametrize('name', [
    'patches', 'window', 'max_keyframes', 'layers', 'heads', 'head_dim', 'element_bytes'])
@pytest.mark.parametrize('value', [0, -1, 1.5, True, '3'])
def test_a_size_below_one_is_refused(name, value):
    with pytest.raises(ConfigError, match=f'{name} must be an integer >= 1, got {value!r}'):
        replace(RELEASED, **{name: value})


@pytest.mark.parametrize('name', ['special_tokens', 'anchor_frames'])
def test_counts_that_may_be_zero(name):
    assert replace(RELEASED, **{name: 0}).pages > 0
    with pytest.raises(ConfigError, match=f'{name} must be an integer >= 0, got -1'):
        replace(RELEASED, **{name: -1})


def test_fewer_keyframes_than_anchors_is_refused():
    with pytest.raises(ConfigError, match=r'max_keyframes must be at least anchor_frames \(8\)'):
        replace(RELEASED, max_keyframes=7)


def test_visible_pages_count_tokens():
    assert VisiblePages((4, 2, 9), 5, 10).tokens == 25
    with pytest.raises(ConfigError, match='at least one page, got none'):
        VisiblePages((), 1, 10)
    for length in (0, 11):
        with pytest.raises(ConfigError, match=rf'1 .. page_size \(10\), got {length}'):
            VisiblePages((1,), length, 10)
