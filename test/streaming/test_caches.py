# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Caches of a segment that take over the frames of others."""

from lingbot_ros import CameraHeadConfig, NetworkConfig
from lingbot_ros.cache import PageSpec
from lingbot_ros.errors import CacheError, ShapeError
from lingbot_ros.streaming.caches import cache_sizes, Caches
import pytest
import torch

NETWORK = NetworkConfig(width=32, blocks=4, heads=2, taps=(0, 1, 2, 3),
                        camera=CameraHeadConfig(blocks=1, heads=2))
SPECIALS, PATCHES = 6, 4


def make(anchors, window, kept, patches=PATCHES):
    spec = PageSpec(patches=patches, special_tokens=SPECIALS, anchor_frames=anchors,
                    window=window, max_keyframes=kept, layers=2, heads=2, head_dim=4,
                    element_bytes=4)
    return Caches(cache_sizes(NETWORK, spec, 1), torch.float32, torch.device('cpu'))


def add(caches, kind, frames, value, promote=False):
    """Open frames whose every key and value is a number, and keep them."""
    prepared = caches.begin(kind, frames)
    tokens = torch.full((frames * (SPECIALS + PATCHES), 2, 4), float(value))
    for layer in range(2):
        caches.pages.write(layer, prepared, tokens + layer, -tokens - layer)
    camera = torch.full((frames, 2, 32), float(value))
    caches.camera.extend(0, camera, camera)
    if promote:
        caches.table.promote()
    caches.commit()


def seen(caches):
    """What a next transient sees besides itself, in order, layer by layer."""
    caches.begin('transient', 1)
    visible = caches.table.visible()
    own = set(caches.table._open.slots.patch_pages)
    pages = [page for page in visible.pages if page not in own]
    out = [layer[pages].flatten(0, 1) for layer in caches.pages.layers]
    caches.discard()
    held = len(caches.table.held.anchors) + len(caches.table.held.recent)
    patch_values = [rows.view(-1, 2, 4)[:2 * PATCHES * held, 0, 0] for rows in out]
    return patch_values, caches.camera.contents.clone()


def assert_same(a, b):
    for mine, theirs in zip(seen(a)[0], seen(b)[0], strict=True):
        assert torch.equal(mine, theirs)
    assert torch.equal(seen(a)[1], seen(b)[1])
    assert a.table.kept == b.table.kept


def test_adopting_forgets_the_own_frames_and_keeps_the_others():
    aside, main = make(3, 1, 3), make(3, 5, 20)
    add(aside, 'anchor', 3, 7)
    add(main, 'anchor', 2, 1)
    for value in range(10):
        add(main, 'keyframe', 1, 10 + value)
    total = main.pages_used
    main.adopt(aside)
    assert main.pages_used < total and main.table.kept == 3 and main.table.window == 5
    assert_same(main, aside)
    for value in range(12):  # the adopted frames are anchors: they stay
        add(main, 'keyframe', 1, 30 + value)
    patches, _ = seen(main)
    assert patches[0][:2 * PATCHES].tolist() == [7] * PATCHES + [-7] * PATCHES
    assert main.table.kept == 15


@pytest.mark.parametrize('later', [0, 1, 2, 9])
@pytest.mark.parametrize('window', [1, 3])
def test_a_state_gives_the_same_frames_in_the_same_order(later, window):
    one, two = make(2, 4, 30), make(2, 4, 30)
    add(one, 'anchor', 2, 1)
    for value in range(later):
        add(one, 'transient', 1, 2 + value, promote=True)
    one.set_window(window)
    two.set_window(window)
    add(two, 'anchor', 1, 99)
    two.restore(one.state())
    assert two.table.window == window
    assert_same(one, two)
    add(one, 'keyframe', 1, 50)
    add(two, 'keyframe', 1, 50)
    assert_same(one, two)


def test_the_state_of_empty_caches_is_empty():
    one, two = make(2, 4, 30), make(2, 4, 30)
    add(two, 'anchor', 1, 99)
    two.restore(one.state())
    assert two.table.kept == 0 and two.pages_used == 0


def test_too_many_frames_are_refused():
    aside, main = make(5, 1, 5), make(2, 4, 30)
    add(aside, 'anchor', 5, 1)
    with pytest.raises(CacheError, match='anchor frames must be 1 .. 2 more'):
        main.adopt(aside)
    with pytest.raises(ShapeError, match=r'expected contents \[1, 2, 2, 0 .. 31, 32\]'):
        main.camera.fill(torch.zeros(1, 2, 2, 40, 32))
