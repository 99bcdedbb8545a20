# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Page table: which pages the open frame writes and sees. One table serves all layers.

The order of a frame is ``begin`` (append and evict), attend on ``visible()``, then ``commit`` or
``discard``; ``promote`` before ``commit`` keeps a frame that began as a transient. A page that
``begin`` evicts is only hidden until ``commit``, so that ``discard`` brings back exactly the
state before ``begin``. Knows page ids, no tensor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from lingbot_ros.cache.pool import PagePool
from lingbot_ros.cache.spec import FrameKind, FrameSlots, HeldPages, PageSpec, VisiblePages
from lingbot_ros.checks import require_at_least
from lingbot_ros.errors import CacheError, CacheFullError


@dataclass(frozen=True)
class _Open:
    """The frames between begin and commit or discard."""

    kind: FrameKind
    slots: FrameSlots
    fresh_special: list[int]
    hidden: int


class PageTable:
    """
    Two streams of pages: patches of anchors and window, special tokens of every kept frame.

    Parameters
    ----------
    spec : PageSpec
        Sizes.

    """

    def __init__(self, spec: PageSpec) -> None:
        self._spec = spec
        self._pages = spec.pages
        self._max_window = spec.window
        self._patch_pool = PagePool(range(spec.patch_pages), 'raise window')
        self._special_pool = PagePool(range(spec.patch_pages, spec.pages), 'raise max_keyframes')
        self._anchor: list[int] = []
        self._recent: list[int] = []
        self._special: list[int] = []
        self._kept = 0
        self._window = spec.window
        self._open: _Open | None = None

    @property
    def spec(self) -> PageSpec:
        """Sizes the table was made with; ``window`` and ``pages`` below may have grown since."""
        return self._spec

    @property
    def kept(self) -> int:
        """Frames kept since reset: the rotary frame index of the next frame."""
        return self._kept

    @property
    def window(self) -> int:
        """Kept frames after the anchors whose patches a keyframe sees, itself included."""
        return self._window

    @property
    def max_window(self) -> int:
        """Largest window that the pages suffice for."""
        return self._max_window

    @property
    def pages(self) -> int:
        """Pages of one layer that the table numbers."""
        return self._pages

    @property
    def free_patch_pages(self) -> int:
        """Patch pages that belong to no frame."""
        return self._patch_pool.free_count

    @property
    def free_special_pages(self) -> int:
        """Special pages not yet started."""
        return self._special_pool.free_count

    @property
    def is_open(self) -> bool:
        """Whether a frame is between begin and commit or discard."""
        return self._open is not None

    def begin(self, kind: FrameKind, frames: int = 1) -> FrameSlots:
        """
        Open one frame, or several anchor frames that see each other.

        Parameters
        ----------
        kind : {'anchor', 'keyframe', 'transient'}
            Kept for ever; kept for a window; or dropped at commit.
        frames : int
            Frames at once; more than 1 for anchors alone.

        Returns
        -------
        FrameSlots
            Where to write their keys and values.

        Raises
        ------
        CacheError
            If a frame is open, or anchors come after another kind or exceed anchor_frames.
        CacheFullError
            If max_keyframes frames are kept already and this one is to be kept too.

        """
        spec = self._spec
        if self._open is not None:
            raise CacheError('begin needs no open frame; commit or discard the open one first')
        if kind not in get_args(FrameKind):
            raise CacheError(f'frame kind must be one of {get_args(FrameKind)}, got {kind!r}')
        if kind == 'anchor':
            room = spec.anchor_frames - len(self._anchor)
            if self._kept > len(self._anchor):
                raise CacheError('anchor frames must come first, got one after '
                                 f'{self._kept} kept frames; call reset first')
            if not 1 <= frames <= room:
                raise CacheError(f'anchor frames must be 1 .. {room} more (anchor_frames is '
                                 f'{spec.anchor_frames}), got {frames}')
        elif frames != 1:
            raise CacheError(f'a {kind} opens alone (frames=1), got {frames}')
        if kind != 'transient':
            self._need_room(frames)

        first = self._kept * spec.special_tokens
        end = first + frames * spec.special_tokens
        needed = -(-end // spec.page_size) - len(self._special)
        # Neither can fail: after the checks above the spec has pages for every open frame.
        patch = self._patch_pool.allocate(frames)
        fresh = self._special_pool.allocate(needed)
        special = self._special + fresh
        tokens = range(first, end)
        slots = FrameSlots(tuple(patch),
                           tuple(special[token // spec.page_size] for token in tokens),
                           tuple(token % spec.page_size for token in tokens))
        self._open = _Open(kind, slots, fresh, self._hidden_by(kind))
        return slots

    def promote(self) -> None:
        """
        Make the open transient a keyframe, after it has seen what a transient sees.

        Whether a frame is worth keeping may be known only from its own pose. Such a frame has
        attended to one page more than a keyframe decided beforehand: the oldest of the window,
        which leaves at ``commit``. Later frames see no difference.

        Raises
        ------
        CacheError
            If no transient is open.
        CacheFullError
            If max_keyframes frames are kept; it stays a transient then.

        """
        frame = self._need_open('promote')
        if frame.kind != 'transient':
            raise CacheError(f'promote needs an open transient, got {frame.kind}')
        self._need_room(1)
        self._open = _Open('keyframe', frame.slots, frame.fresh_special,
                           self._hidden_by('keyframe'))

    def visible(self) -> VisiblePages:
        """
        Pages the open frames attend to: anchors, window, special tokens last.

        Raises
        ------
        CacheError
            If no frame is open.

        """
        frame = self._need_open('visible')
        spec = self._spec
        pages = (*self._anchor, *self._recent[frame.hidden:], *frame.slots.patch_pages,
                 *self._special, *frame.fresh_special)
        end = (self._kept + frame.slots.frames) * spec.special_tokens
        last = (end - 1) % spec.page_size + 1 if end else spec.page_size
        return VisiblePages(pages, last, spec.page_size)

    def commit(self) -> None:
        """
        Keep the open frames (drop a transient) and free what they evicted.

        Raises
        ------
        CacheError
            If no frame is open.

        """
        frame = self._need_open('commit')
        if frame.kind == 'transient':
            self.discard()
            return
        if frame.kind == 'anchor':
            self._anchor.extend(frame.slots.patch_pages)
        else:
            self._recent.extend(frame.slots.patch_pages)
            self._evict(frame.hidden)
        self._special.extend(frame.fresh_special)
        self._kept += frame.slots.frames
        self._open = None

    def discard(self) -> None:
        """
        Drop the open frames: the state is that before begin.

        Raises
        ------
        CacheError
            If no frame is open.

        """
        frame = self._need_open('discard')
        self._patch_pool.free(frame.slots.patch_pages)
        self._special_pool.free(frame.fresh_special)
        self._open = None

    def set_window(self, window: int) -> None:
        """
        Change the window: shrinking evicts at once, growing waits for new frames.

        Raises
        ------
        ConfigError
            If the window is no integer of at least 1.
        CacheError
            If a frame is open.
        CacheFullError
            If the window exceeds max_window; ``grow`` first.

        """
        self._check_window(window, 'set_window')
        if window > self._max_window:
            raise CacheFullError(f'page pool too small: window {window} needs '
                                 f'{self.pages_for(window)} pages, have {self._pages} (window '
                                 f'<= {self._max_window}); grow the cache first')
        self._window = window
        self._evict(max(0, len(self._recent) - window))

    def pages_for(self, window: int) -> int:
        """Pages of one layer that ``grow(window)`` would lead to; never fewer than now."""
        return self._pages + max(0, window - self._max_window)

    def grow(self, window: int) -> int:
        """
        Add patch pages, so that set_window can go up to ``window``.

        New ids follow all existing ones, so nothing moves. Enlarge the tensors first (to
        ``pages_for(window)`` pages): if that fails for want of memory, the table is unchanged.

        Parameters
        ----------
        window : int
            Window to make room for; no change where it fits already.

        Returns
        -------
        int
            Pages of one layer that the table numbers now.

        Raises
        ------
        ConfigError
            If the window is no integer of at least 1.
        CacheError
            If a frame is open.

        """
        self._check_window(window, 'grow')
        pages = self.pages_for(window)
        self._patch_pool.grow(range(self._pages, pages))
        self._pages = pages
        self._max_window = max(self._max_window, window)
        return pages

    @property
    def held(self) -> HeldPages:
        """Pages of the kept frames."""
        return HeldPages(tuple(self._anchor), tuple(self._recent), tuple(self._special))

    def reset(self) -> None:
        """Forget every frame, an open one too; window and grown pages stay."""
        if self._open is not None:
            self.discard()
        self._patch_pool.free(self._anchor + self._recent)
        self._special_pool.free(self._special)
        self._anchor, self._recent, self._special = [], [], []
        self._kept = 0

    def _hidden_by(self, kind: FrameKind) -> int:
        return max(0, len(self._recent) + 1 - self._window) if kind == 'keyframe' else 0

    def _need_room(self, frames: int) -> None:
        room = self._spec.max_keyframes
        if self._kept + frames > room:
            raise CacheFullError(f'special tokens exhausted: need room for {self._kept + frames} '
                                 f'kept frames, have {room}; raise max_keyframes or reset the '
                                 'stream')

    def _evict(self, count: int) -> None:
        self._patch_pool.free(self._recent[:count])
        del self._recent[:count]

    def _check_window(self, window: int, call: str) -> None:
        require_at_least('window', window, 1)
        if self._open is not None:
            raise CacheError(f'{call} needs no open frame; commit or discard it first')

    def _need_open(self, call: str) -> _Open:
        if self._open is None:
            raise CacheError(f'{call} needs an open frame; call begin first')
        return self._open
