# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The page table against a plain list of what each frame may see.

The harness stands in for the tensors: a dictionary from (page, offset) to the token that was last
written there. What the table calls visible is read from it and compared with the list model, so
a page that is leaked, shared, overwritten too early or read unwritten shows at once.
"""

from dataclasses import dataclass, field
import random

from hypothesis import given, settings
from hypothesis import strategies as st
from lingbot_ros.cache import PageSpec, PageTable
from lingbot_ros.errors import CacheError, CacheFullError, ConfigError
import pytest


def make_spec(patches=4, special=2, anchors=2, window=3, max_keyframes=50):
    return PageSpec(patches=patches, special_tokens=special, anchor_frames=anchors,
                    window=window, max_keyframes=max(max_keyframes, anchors, 1), layers=1,
                    heads=1, head_dim=1, element_bytes=4)


@dataclass
class Harness:
    """A table, its memory, and the list model."""

    spec: PageSpec
    table: PageTable = field(init=False)
    memory: dict = field(default_factory=dict)
    anchors: list = field(default_factory=list)
    recent: list = field(default_factory=list)
    kept: list = field(default_factory=list)
    serial: int = 0
    opened: tuple | None = None

    def __post_init__(self):
        self.table = PageTable(self.spec)
        self.window = self.max_window = self.spec.window

    def begin(self, kind, frames=1):
        spec, table = self.spec, self.table
        error = None
        if self.opened is not None:
            error = CacheError
        elif kind == 'anchor':
            late = len(self.kept) > len(self.anchors)
            if late or not 1 <= frames <= spec.anchor_frames - len(self.anchors):
                error = CacheError
        elif frames != 1:
            error = CacheError
        if error is None and kind != 'transient' and \
                len(self.kept) + frames > spec.max_keyframes:
            error = CacheFullError
        if error is not None:
            with pytest.raises(error):
                table.begin(kind, frames)
            return
        slots = table.begin(kind, frames)
        assert slots.frames == frames
        fresh = list(range(self.serial, self.serial + frames))
        self.serial += frames
        special = spec.special_tokens
        assert len(slots.special_pages) == len(slots.special_offsets) == frames * special
        for index, frame in enumerate(fresh):
            for patch in range(spec.patches):
                self.memory[slots.patch_pages[index], patch] = (frame, 'patch', patch)
            for token in range(special):
                at = index * special + token
                self.memory[slots.special_pages[at], slots.special_offsets[at]] = (
                    frame, 'special', token)
        self.opened = (kind, fresh)
        self.check_visible()

    def check_visible(self):
        kind, fresh = self.opened
        recent = (self.recent + fresh)[-self.window:] if kind == 'keyframe' else self.recent
        own = [] if kind == 'keyframe' else fresh
        expected = [(frame, 'patch', patch) for frame in self.anchors + recent + own
                    for patch in range(self.spec.patches)]
        expected += [(frame, 'special', token) for frame in self.kept + fresh
                     for token in range(self.spec.special_tokens)]
        visible = self.table.visible()
        assert all(0 <= page < self.table.pages for page in visible.pages)
        slots = [(page, offset) for page in visible.pages[:-1]
                 for offset in range(visible.page_size)]
        slots += [(visible.pages[-1], offset) for offset in range(visible.last_page_len)]
        assert len(slots) == visible.tokens
        assert [self.memory[slot] for slot in slots] == expected

    def commit(self):
        if self.opened is None:
            with pytest.raises(CacheError, match='commit needs an open frame'):
                self.table.commit()
            return
        kind, fresh = self.opened
        self.table.commit()
        self.opened = None
        if kind == 'anchor':
            self.anchors += fresh
        elif kind == 'keyframe':
            self.recent = (self.recent + fresh)[-self.window:]
        if kind != 'transient':
            self.kept += fresh

    def promote(self):
        """An open transient becomes a keyframe, and sees what such a one sees."""
        error = None
        if self.opened is None or self.opened[0] != 'transient':
            error = CacheError
        elif len(self.kept) >= self.spec.max_keyframes:
            error = CacheFullError
        if error is not None:
            with pytest.raises(error):
                self.table.promote()
            return
        self.table.promote()
        self.opened = ('keyframe', self.opened[1])
        self.check_visible()

    def discard(self):
        if self.opened is None:
            with pytest.raises(CacheError, match='discard needs an open frame'):
                self.table.discard()
            return
        self.table.discard()
        self.opened = None

    def set_window(self, window):
        if self.opened is not None:
            with pytest.raises(CacheError, match='set_window needs no open frame'):
                self.table.set_window(window)
        elif window > self.max_window:
            with pytest.raises(CacheFullError, match=f'window {window} needs'):
                self.table.set_window(window)
        else:
            self.table.set_window(window)
            self.window = window
            self.recent = self.recent[-window:]

    def grow(self, window):
        if self.opened is not None:
            with pytest.raises(CacheError, match='grow needs no open frame'):
                self.table.grow(window)
            return
        assert self.table.pages_for(window) == self.table.grow(window) == self.table.pages
        self.max_window = max(self.max_window, window)

    def reset(self):
        self.table.reset()
        self.opened = None
        self.anchors, self.recent, self.kept = [], [], []

    def check(self):
        """Every page is free, or belongs to exactly the frames of the list model."""
        table, spec = self.table, self.spec
        assert (table.kept, table.window) == (len(self.kept), self.window)
        assert table.max_window == self.max_window
        assert table.pages == spec.pages + self.max_window - spec.window
        assert table.is_open == (self.opened is not None)
        frames = 0 if self.opened is None else len(self.opened[1])
        live = len(self.anchors) + len(self.recent) + frames
        assert table.free_patch_pages == spec.patch_pages + self.max_window - spec.window - live
        tokens = (len(self.kept) + frames) * spec.special_tokens
        assert table.free_special_pages == spec.special_pages - -(-tokens // spec.page_size)
        if self.opened is None:
            with pytest.raises(CacheError, match='visible needs an open frame'):
                table.visible()


specs = st.builds(make_spec, patches=st.integers(1, 40), special=st.integers(0, 9),
                  anchors=st.integers(0, 5), window=st.integers(1, 6),
                  max_keyframes=st.integers(1, 30))
kinds = st.sampled_from(['anchor', 'keyframe', 'keyframe', 'transient'])
steps = st.one_of(
    st.tuples(st.just('frame'), kinds, st.integers(1, 3), st.booleans()),
    st.tuples(st.just('frame'), kinds, st.just(1), st.just(True)),
    st.tuples(st.just('begin'), kinds, st.integers(0, 3)),
    st.tuples(st.sampled_from(['commit', 'discard', 'promote', 'reset'])),
    st.tuples(st.sampled_from(['set_window', 'grow']), st.integers(1, 9)),
)


def apply(harness, step):
    name, *arguments = step
    if name == 'frame':
        kind, frames, keep = arguments
        harness.begin(kind, frames)
        (harness.commit if keep else harness.discard)()
    else:
        getattr(harness, name)(*arguments)
    harness.check()


@settings(max_examples=400, deadline=None)
@given(specs, st.lists(steps, max_size=60))
def test_any_calls_show_what_the_list_model_shows(spec, calls):
    harness = Harness(spec)
    for call in calls:
        apply(harness, call)


@pytest.mark.parametrize('seed', range(4))
def test_ten_thousand_random_steps(seed):
    rng = random.Random(seed)
    spec = make_spec(patches=[5, 1, 3, 8][seed], special=[6, 2, 0, 6][seed],
                     anchors=[3, 0, 2, 8][seed], window=[4, 1, 6, 3][seed], max_keyframes=25)
    harness = Harness(spec)
    for _ in range(2_500):
        harness.begin(rng.choice(['anchor', 'keyframe', 'keyframe', 'transient']),
                      rng.choice([1, 1, 1, 2]))
        for name in rng.choices(['commit', 'discard', 'promote', 'begin', 'nothing'],
                                [8, 1, 3, 1, 1]):
            if name == 'begin':
                harness.begin('keyframe')
            elif name != 'nothing':
                getattr(harness, name)()
        if rng.random() < 0.1:
            harness.set_window(rng.randint(1, 9))
        if rng.random() < 0.02:
            harness.grow(rng.randint(1, 9))
        if rng.random() < 0.03:
            harness.reset()
        harness.check()
    assert harness.serial > 1_000


def test_the_released_geometry_fills_and_stays():
    harness = Harness(make_spec(patches=16, special=6, anchors=8, window=64, max_keyframes=200))
    harness.begin('anchor', 8)
    harness.commit()
    for frame in range(192):
        harness.begin('keyframe' if frame % 3 else 'transient')
        harness.commit()
    assert harness.table.free_patch_pages == 1
    assert harness.table.kept == 8 + 128


def test_discard_brings_back_what_begin_evicted():
    harness = Harness(make_spec(anchors=0, window=1))
    harness.begin('keyframe')
    harness.commit()
    harness.begin('keyframe')  # hides frame 0
    harness.discard()
    harness.begin('transient')  # sees frame 0 again
    assert harness.table.visible().tokens == 2 * 4 + 2 * 2
    harness.discard()
    harness.check()


def test_a_transient_fits_when_all_keyframes_are_used_up():
    harness = Harness(make_spec(patches=3, special=5, anchors=0, window=2, max_keyframes=3))
    for _ in range(3):
        harness.begin('keyframe')
        harness.commit()
    with pytest.raises(CacheFullError, match='need room for 4 kept frames, have 3; raise '
                                             'max_keyframes or reset'):
        harness.table.begin('keyframe')
    harness.check()
    harness.begin('transient')
    harness.commit()
    harness.check()


def test_wrong_calls_say_what_to_do():
    table = PageTable(make_spec())
    with pytest.raises(CacheError, match="frame kind must be one of .*'keyframe'.*got 'other'"):
        table.begin('other')
    with pytest.raises(CacheError, match='anchor frames must be 1 .. 2 more .*got 3'):
        table.begin('anchor', 3)
    with pytest.raises(CacheError, match=r'a transient opens alone \(frames=1\), got 2'):
        table.begin('transient', 2)
    table.begin('keyframe')
    with pytest.raises(CacheError, match='begin needs no open frame; commit or discard'):
        table.begin('keyframe')
    table.commit()
    with pytest.raises(CacheError, match='anchor frames must come first, got one after 1 kept'):
        table.begin('anchor')
    for window in (0, -1, 2.0, True):
        with pytest.raises(ConfigError, match=f'window must be an integer >= 1, got {window}'):
            table.set_window(window)
        with pytest.raises(ConfigError, match='window must be an integer'):
            table.grow(window)
    with pytest.raises(CacheFullError, match=r'window 4 needs \d+ pages, have \d+ \(window <= 3'
                                             r'\); grow the cache first'):
        table.set_window(4)
    assert (table.kept, table.window) == (1, 3)


def test_shrinking_evicts_at_once_and_growing_waits():
    harness = Harness(make_spec(anchors=1, window=4))
    harness.begin('anchor')
    harness.commit()
    for _ in range(6):
        harness.begin('keyframe')
        harness.commit()
    assert harness.table.free_patch_pages == 1
    harness.set_window(2)
    assert harness.table.free_patch_pages == 3
    harness.set_window(4)
    harness.begin('keyframe')
    assert harness.table.visible().tokens == (1 + 3) * 4 + 8 * 2
    harness.commit()
    harness.grow(7)
    harness.set_window(7)
    for _ in range(6):
        harness.begin('keyframe')
        harness.commit()
    harness.begin('transient')
    assert harness.table.visible().tokens == (1 + 7 + 1) * 4 + 15 * 2


def test_reset_while_open_forgets_everything():
    harness = Harness(make_spec())
    harness.begin('anchor', 2)
    harness.commit()
    harness.begin('keyframe')
    harness.reset()
    harness.check()
    harness.begin('anchor', 2)
    harness.commit()
