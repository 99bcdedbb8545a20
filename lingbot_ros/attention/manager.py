# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Compatibility surface: the cache manager of the reference implementation, by its names.

New code uses ``PageTable``, ``PagedCache`` and ``make_backend``. This class drives every block on
its own, as callers of the reference expect, on the same pages and back ends.
"""

from __future__ import annotations

import logging

from lingbot_ros.attention.backend import AttentionBackend, choose_backend, make_backend
from lingbot_ros.attention.sdpa import SdpaBackend
from lingbot_ros.cache.block import BlockPages
from lingbot_ros.cache.paged import check_tensor, PagedCache, PreparedSlots
from lingbot_ros.cache.spec import FrameSlots, PageSpec, VisiblePages
from lingbot_ros.checks import require
from lingbot_ros.errors import ShapeError
import torch

logger = logging.getLogger(__name__)


class FlashInferKVCacheManager:
    """
    Two-stream paged cache of several attention blocks.

    The first `scale_frames` frames keep their patch page; later ones live in a window whose pages
    are recycled by ``evict_frames``; the special tokens of all frames stay. Memory is allocated
    once: scale_frames + sliding_window + 1 patch pages and the special pages.

    Parameters
    ----------
    num_blocks : int
        Attention blocks, each with a pool of its own.
    max_num_frames : int
        Frames that may ever be appended to a block; bounds the special tokens.
    tokens_per_frame : int
        Special tokens and patches of a frame.
    num_heads, head_dim : int
        Of queries, keys and values.
    dtype : torch.dtype
        Of the pools, keys and values: fp32, bf16 or fp16.
    device : torch.device or str
        Where the pools live.
    num_special_tokens : int
        Special tokens, which come first in a frame.
    scale_frames : int
        Frames whose patches stay.
    sliding_window : int
        Later frames whose patches stay.
    force_fp32 : bool
        Gather the pages and run dense scaled-dot-product attention in fp32, for validation.
        Without it the back end is what 'auto' chooses (flashinfer on CUDA with a half dtype
        where it is installed, else sdpa); the choice and its reason are logged.

    Attributes
    ----------
    page_size, patches_per_frame : int
        Tokens of a page; the same number.
    max_num_pages : int
        Pages of a block.
    kv_caches : list of Tensor, shape [max_num_pages, 2, page_size, num_heads, head_dim]
        Pools, axis 1 = key, value.
    backend_name : str
        The attention back end.

    Raises
    ------
    ConfigError
        If a number is out of range.
    BackendError
        If the dtype is not supported.

    """

    def __init__(self, num_blocks: int, max_num_frames: int, tokens_per_frame: int,
                 num_heads: int, head_dim: int, dtype: torch.dtype, device: torch.device | str,
                 num_special_tokens: int = 6, scale_frames: int = 8, sliding_window: int = 64,
                 force_fp32: bool = False) -> None:
        for name, value, low in (
                ('num_blocks', num_blocks, 1), ('max_num_frames', max_num_frames, 1),
                ('num_special_tokens', num_special_tokens, 0), ('num_heads', num_heads, 1),
                ('tokens_per_frame', tokens_per_frame, num_special_tokens + 1),
                ('head_dim', head_dim, 1), ('scale_frames', scale_frames, 0),
                ('sliding_window', sliding_window, 1)):
            require(value >= low, f'{name} must be >= {low}, got {value}')
        self.patches_per_frame = tokens_per_frame - num_special_tokens
        spec = PageSpec(patches=self.patches_per_frame, special_tokens=num_special_tokens,
                        anchor_frames=min(scale_frames, max_num_frames), window=sliding_window,
                        max_keyframes=max_num_frames, layers=num_blocks, heads=num_heads,
                        head_dim=head_dim, element_bytes=dtype.itemsize)
        self.page_size = spec.page_size
        self.max_num_pages = spec.pages
        self._spec = spec
        self._scale_frames = scale_frames
        self._cache = PagedCache(spec, dtype, device)
        self.kv_caches = self._cache.layers
        self._blocks = [BlockPages(spec) for _ in range(num_blocks)]
        self._any_query = force_fp32
        self._backend: AttentionBackend
        if force_fp32:
            reason = 'force_fp32 is set'
            self._backend = SdpaBackend(num_heads, head_dim, spec.page_size, dtype,
                                        self._cache.device, torch.float32)
        else:
            name, reason = choose_backend(head_dim, dtype, self._cache.device)
            self._backend = make_backend(name, num_heads, head_dim, spec.page_size, dtype,
                                         self._cache.device)
        self.backend_name = self._backend.name
        logger.info('attention back end %s: %s', self.backend_name, reason)
        # Blocks that advance together have equal pages, so that work done once serves them all.
        self._slots: FrameSlots | None = None
        self._prepared: PreparedSlots | None = None
        self._plan: tuple[VisiblePages, int] | None = None

    @property
    def num_frames(self) -> int:
        """Frames held since reset, by the block that was appended to most."""
        return max(block.frames for block in self._blocks)

    def append_frame(self, block_idx: int, k: torch.Tensor, v: torch.Tensor) -> None:
        """
        Store keys and values of one frame in a block.

        Parameters
        ----------
        block_idx : int
            Which block.
        k, v : Tensor, shape [tokens_per_frame, num_heads, head_dim]
            Special tokens first.

        Raises
        ------
        ShapeError
            If shape, dtype or device differ, or there is no such block.
        CacheFullError
            If max_num_frames frames were appended, or frames were appended without
            ``evict_frames`` until the patch pages ran out.

        """
        block = self._block(block_idx)
        spec, cache = self._spec, self._cache
        # Before the pages are taken, so that a refusal changes nothing.
        for name, tensor in (('k', k), ('v', v)):
            check_tensor(name, tensor, (spec.tokens_per_frame, spec.heads, spec.head_dim),
                         cache.dtype, cache.device)
        slots = block.append()
        if self._prepared is None or slots != self._slots:
            self._slots, self._prepared = slots, cache.prepare(slots)
        cache.write(block_idx, self._prepared, k, v)

    def evict_frames(self, block_idx: int, scale_frames: int, sliding_window: int,
                     cross_frame_special: bool = True, include_scale_frames: bool = True) -> None:
        """
        Recycle the patch pages of the oldest window frames beyond the window.

        Parameters
        ----------
        block_idx : int
            Which block.
        scale_frames : int
            As at construction: pages were assigned by that number.
        sliding_window : int
            Window frames that stay; 1 .. the window at construction.
        cross_frame_special : bool
            True: special tokens of evicted frames stay visible. False is refused: they are packed
            continuously, so that pages of them cannot be hidden frame by frame.
        include_scale_frames : bool
            True: scale frames stay besides the window. False: they count towards the window like
            any other frame and, being the oldest, leave first.

        Raises
        ------
        ConfigError
            If an argument is not as said; nothing is evicted then.
        ShapeError
            If there is no such block.

        """
        block = self._block(block_idx)
        require(scale_frames == self._scale_frames,
                f'scale_frames must be {self._scale_frames} as at construction, got '
                f'{scale_frames}; make a new manager to change it')
        require(1 <= sliding_window <= self._spec.window,
                f'sliding_window must be 1 .. {self._spec.window} (the window at construction), '
                f'got {sliding_window}; make a new manager with a larger one')
        require(cross_frame_special,
                'cross_frame_special must be True, got False: special tokens are packed '
                'continuously and stay visible for ever; set num_special_tokens=0 to cache none')
        block.evict(sliding_window, include_scale_frames)

    def build_visible_page_table(self, block_idx: int) -> list[int]:
        """
        Pages that a query sees, in order scale, window, special; empty before the first append.

        Only the last page may be partly filled, see ``compute_last_page_len``.
        """
        block = self._block(block_idx)
        return list(block.visible().pages) if block.frames else []

    def compute_last_page_len(self, block_idx: int) -> int:
        """Tokens in the last visible page, 1 .. page_size; 0 before the first append."""
        block = self._block(block_idx)
        return block.visible().last_page_len if block.frames else 0

    def compute_attention(self, block_idx: int, q: torch.Tensor) -> torch.Tensor:
        """
        Attend to all visible tokens of a block; not causal, scale 1 / sqrt(head_dim).

        Parameters
        ----------
        block_idx : int
            Which block.
        q : Tensor, shape [queries, num_heads, head_dim]
            As a rule the tokens of the newest frame.

        Returns
        -------
        Tensor, shape [queries, num_heads, head_dim]
            In the dtype of `q`.

        Raises
        ------
        CacheError
            If nothing was appended to the block.
        ShapeError
            If shape, dtype or device differ, or there is no such block.

        """
        block = self._block(block_idx)
        spec, cache = self._spec, self._cache
        check_tensor('q', q, (q.shape[0] if q.ndim else 0, spec.heads, spec.head_dim),
                     q.dtype if self._any_query else cache.dtype, cache.device)
        plan = (block.visible(), q.shape[0])
        if plan != self._plan:
            self._backend.plan(*plan)
            self._plan = plan
        return self._backend.run(q, self.kv_caches[block_idx])

    def rollback_last_frame(self, block_idx: int) -> None:
        """
        Undo the last ``append_frame`` of a block, and the evictions since.

        Raises
        ------
        CacheError
            If there is none to undo; only one can be undone in a row.
        ShapeError
            If there is no such block.

        """
        self._block(block_idx).rollback()

    def reset(self) -> None:
        """Forget all frames of all blocks; the memory stays allocated."""
        for block in self._blocks:
            block.reset()

    def get_cache_stats(self, block_idx: int = 0) -> dict[str, int]:
        """
        Numbers of one block, and the bytes of all.

        Returns
        -------
        dict of str to int
            frames, scale_pages, window_pages, special_pages, special_tokens, visible_tokens,
            free_patch_pages, free_special_pages, max_num_pages, page_size, cache_bytes.

        """
        block = self._block(block_idx)
        return {
            'frames': block.frames,
            'scale_pages': block.scale_pages,
            'window_pages': block.window_pages,
            'special_pages': block.special_pages,
            'special_tokens': block.frames * self._spec.special_tokens,
            'visible_tokens': block.visible().tokens if block.frames else 0,
            'free_patch_pages': block.free_patch_pages,
            'free_special_pages': block.free_special_pages,
            'max_num_pages': self.max_num_pages,
            'page_size': self.page_size,
            'cache_bytes': self._cache.nbytes,
        }

    def _block(self, block_idx: int) -> BlockPages:
        if not 0 <= block_idx < len(self._blocks):
            raise ShapeError(f'block_idx must be 0 .. {len(self._blocks) - 1}, got {block_idx}')
        return self._blocks[block_idx]
