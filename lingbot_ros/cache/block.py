# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Pages of one block that is driven on its own: append, evict, roll back. Knows page ids, no tensor.

The page table serves a whole network that advances frame by frame; this serves the compatibility
manager, whose caller may drive every block in its own order.
"""

from __future__ import annotations

from dataclasses import dataclass

from lingbot_ros.cache.pool import PagePool
from lingbot_ros.cache.spec import FrameSlots, PageSpec, VisiblePages
from lingbot_ros.errors import CacheError, CacheFullError


@dataclass(frozen=True)
class _Snapshot:
    """What rollback returns to."""

    scale: list[int]
    recent: list[int]
    special: int


class BlockPages:
    """
    Scale, window and special pages of one block.

    Parameters
    ----------
    spec : PageSpec
        Sizes; anchor_frames are the scale frames, max_keyframes all frames ever.

    """

    def __init__(self, spec: PageSpec) -> None:
        self._spec = spec
        self._patch_pool = PagePool(range(spec.patch_pages),
                                    'call evict_frames after every append_frame, or raise '
                                    'sliding_window')
        self._special_pool = PagePool(range(spec.patch_pages, spec.pages), 'raise max_num_frames')
        self.reset()

    def reset(self) -> None:
        """Forget every frame."""
        if self._patch_pool.free_count < self._patch_pool.size:
            self._patch_pool.free(self._scale + self._recent + self._evicted)
            self._special_pool.free(self._special)
        self.frames = 0
        self._scale: list[int] = []
        self._recent: list[int] = []
        self._special: list[int] = []
        # Hidden since the last append; freed at the next one, so that rollback can restore them.
        self._evicted: list[int] = []
        self._before: _Snapshot | None = None

    @property
    def scale_pages(self) -> int:
        """Live pages of scale frames."""
        return len(self._scale)

    @property
    def window_pages(self) -> int:
        """Live pages of later frames."""
        return len(self._recent)

    @property
    def special_pages(self) -> int:
        """Pages that hold special tokens."""
        return len(self._special)

    @property
    def free_patch_pages(self) -> int:
        """Patch pages that the next appends can use."""
        return self._patch_pool.free_count + len(self._evicted)

    @property
    def free_special_pages(self) -> int:
        """Special pages not yet started."""
        return self._special_pool.free_count

    def append(self) -> FrameSlots:
        """
        Take a patch page and room for special tokens for one more frame.

        Returns
        -------
        FrameSlots
            Where to write it.

        Raises
        ------
        CacheFullError
            If max_num_frames frames were appended, or no patch page is free for want of
            eviction.

        """
        spec = self._spec
        if self.frames >= spec.max_keyframes:
            raise CacheFullError(f'special tokens exhausted: need room for {self.frames + 1} '
                                 f'frames, have {spec.max_keyframes}; raise max_num_frames or '
                                 'call reset')
        before = _Snapshot(list(self._scale), list(self._recent), len(self._special))
        self._patch_pool.free(self._evicted)
        self._evicted = []
        patch = self._patch_pool.allocate()
        first = self.frames * spec.special_tokens
        end = first + spec.special_tokens
        self._special += self._special_pool.allocate(-(-end // spec.page_size)
                                                     - len(self._special))
        (self._scale if self.frames < spec.anchor_frames else self._recent).extend(patch)
        self.frames += 1
        self._before = before
        tokens = range(first, end)
        return FrameSlots(tuple(patch),
                          tuple(self._special[token // spec.page_size] for token in tokens),
                          tuple(token % spec.page_size for token in tokens))

    def evict(self, window: int, include_scale: bool) -> None:
        """
        Hide the oldest patch pages beyond the window; the next append recycles them.

        Parameters
        ----------
        window : int
            Live window pages that stay, at least 1.
        include_scale : bool
            True: scale pages stay besides the window. False: they count towards it, and go
            first.

        """
        if not include_scale:
            excess = max(0, len(self._scale) + len(self._recent) - window)
            self._evicted += self._scale[:excess]
            del self._scale[:excess]
        excess = max(0, len(self._recent) - window)
        self._evicted += self._recent[:excess]
        del self._recent[:excess]

    def rollback(self) -> None:
        """
        Undo the last append and the evictions since.

        Raises
        ------
        CacheError
            If there is no append to undo, or it was undone already.

        """
        if self._before is None:
            raise CacheError('rollback needs an append_frame before it, and undoes only one')
        before = self._before
        now = self._scale + self._recent + self._evicted
        self._patch_pool.free(list(set(now).difference(before.scale, before.recent)))
        self._special_pool.free(self._special[before.special:])
        self._scale, self._recent = before.scale, before.recent
        del self._special[before.special:]
        self._evicted = []
        self._before = None
        self.frames -= 1

    def visible(self) -> VisiblePages:
        """
        Live pages: scale, window, special last.

        Raises
        ------
        CacheError
            If no frame was appended.

        """
        if not self.frames:
            raise CacheError('nothing is cached in this block; call append_frame first')
        size = self._spec.page_size
        tokens = self.frames * self._spec.special_tokens
        return VisiblePages((*self._scale, *self._recent, *self._special),
                            (tokens - 1) % size + 1 if tokens else size, size)
