# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Sizes of the two-stream cache, and the records that the page table hands out.

Knows numbers alone: no tensor, no device. A page holds the keys and values of ``page_size``
tokens of one layer. The patch stream takes one page a frame; the special stream packs the special
tokens of all kept frames continuously over its pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from lingbot_ros.checks import require, require_at_least

FrameKind = Literal['anchor', 'keyframe', 'transient']


@dataclass(frozen=True)
class PageSpec:
    """
    Everything the size of a cache depends on.

    Attributes
    ----------
    patches : int
        Patch tokens a frame; also the page size.
    special_tokens : int
        Special tokens a frame, before its patches; may be 0 and may exceed the page size.
    anchor_frames : int
        Frames whose patch pages stay until reset; may be 0.
    window : int
        Kept frames after the anchors whose patch pages stay (W).
    max_keyframes : int
        Kept frames, anchors included, whose special tokens have room.
    layers, heads, head_dim, element_bytes : int
        What a page of one layer is made of.

    """

    patches: int
    special_tokens: int
    anchor_frames: int
    window: int
    max_keyframes: int
    layers: int
    heads: int
    head_dim: int
    element_bytes: int

    def __post_init__(self) -> None:
        """Check every field against its range."""
        for name, value in vars(self).items():
            low = 0 if name in ('special_tokens', 'anchor_frames') else 1
            require_at_least(name, value, low)
        require(self.max_keyframes >= self.anchor_frames,
                f'max_keyframes must be at least anchor_frames ({self.anchor_frames}), '
                f'got {self.max_keyframes}')

    @property
    def page_size(self) -> int:
        """Tokens a page holds."""
        return self.patches

    @property
    def tokens_per_frame(self) -> int:
        """Tokens of one frame, special and patch."""
        return self.special_tokens + self.patches

    @property
    def patch_pages(self) -> int:
        """Pages of the patch stream; the one beyond anchors and window is the open frame's."""
        return self.anchor_frames + self.window + 1

    @property
    def special_pages(self) -> int:
        """Pages of the special stream; one frame beyond max_keyframes fits, for a transient."""
        return -(-(self.max_keyframes + 1) * self.special_tokens // self.page_size)

    @property
    def pages(self) -> int:
        """Pages of one layer: patch pages 0 .. patch_pages - 1, then special pages."""
        return self.patch_pages + self.special_pages

    @property
    def page_bytes(self) -> int:
        """Bytes of one page of one layer, keys and values."""
        return 2 * self.page_size * self.heads * self.head_dim * self.element_bytes

    @property
    def total_bytes(self) -> int:
        """Bytes of the pools of all layers."""
        return self.layers * self.pages * self.page_bytes


@dataclass(frozen=True)
class VisiblePages:
    """
    Pages that a query attends to, in order; only the last may be partly filled.

    Attributes
    ----------
    pages : tuple of int
        Page ids, at least one.
    last_page_len : int
        Tokens in the last page, 1 .. page_size.
    page_size : int
        Tokens in every other page.

    """

    pages: tuple[int, ...]
    last_page_len: int
    page_size: int

    def __post_init__(self) -> None:
        """Check that there is something to attend to."""
        require(len(self.pages) >= 1, 'visible pages must hold at least one page, got none')
        require(1 <= self.last_page_len <= self.page_size,
                f'last_page_len must be 1 .. page_size ({self.page_size}), '
                f'got {self.last_page_len}')

    @cached_property
    def highest(self) -> int:
        """Highest page id."""
        return max(self.pages)

    @property
    def tokens(self) -> int:
        """Tokens on all pages together."""
        return (len(self.pages) - 1) * self.page_size + self.last_page_len


@dataclass(frozen=True)
class FrameSlots:
    """
    Where the tokens of the open frames go; the same for all layers.

    Attributes
    ----------
    patch_pages : tuple of int, length F
        Page of each frame's patches; patch i sits at offset i.
    special_pages, special_offsets : tuple of int, length F * special_tokens
        Page and offset of every special token, frame by frame.

    """

    patch_pages: tuple[int, ...]
    special_pages: tuple[int, ...]
    special_offsets: tuple[int, ...]

    @property
    def frames(self) -> int:
        """Number of open frames (F)."""
        return len(self.patch_pages)


@dataclass(frozen=True)
class HeldPages:
    """
    Pages of the kept frames of one table, oldest first.

    Attributes
    ----------
    anchors, recent : tuple of int
        Patch pages, one a frame.
    special : tuple of int
        Special pages, filled one after the other.

    """

    anchors: tuple[int, ...]
    recent: tuple[int, ...]
    special: tuple[int, ...]

    @property
    def pages(self) -> tuple[int, ...]:
        """All pages."""
        return (*self.anchors, *self.recent, *self.special)
