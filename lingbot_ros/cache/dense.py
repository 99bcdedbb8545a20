# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Dense key/value cache of the camera head: one token a frame, every kept frame, for ever.

One entry for each refinement iteration and trunk block. Too small to page: it is allocated once
for all frames it may ever hold.
"""

from __future__ import annotations

from lingbot_ros.cache.paged import check_tensor
from lingbot_ros.checks import require
from lingbot_ros.errors import CacheError, CacheFullError, ShapeError
import torch


class DenseCache:
    """
    Keys and values of the kept frames, entry by entry.

    Parameters
    ----------
    entries : int
        Independent caches that advance together.
    capacity : int
        Frames that fit, the open ones included; pass max_keyframes + 1 so that a transient frame
        still fits when max_keyframes frames are kept.
    heads, head_dim : int
        Of a key and a value.
    dtype, device
        Of the one tensor that holds all.

    """

    def __init__(self, entries: int, capacity: int, heads: int, head_dim: int,
                 dtype: torch.dtype, device: torch.device | str) -> None:
        for name, value in (('entries', entries), ('capacity', capacity), ('heads', heads),
                            ('head_dim', head_dim)):
            require(value >= 1, f'{name} must be >= 1, got {value}')
        # Written once, as the paged pools are, so that memory does not grow while it fills.
        self._data = torch.empty((entries, 2, heads, capacity, head_dim), dtype=dtype,
                                 device=device).zero_()
        self._kept = 0
        self._frames = 0  # open frames; 0 while none is open
        self._written: set[int] = set()

    @property
    def kept(self) -> int:
        """Frames committed since reset."""
        return self._kept

    @property
    def is_open(self) -> bool:
        """Whether frames are between begin and commit or discard."""
        return self._frames > 0

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor."""
        return self._data.nbytes

    def begin(self, frames: int = 1) -> None:
        """
        Open frames, to be kept or not.

        Raises
        ------
        CacheError
            If frames are open, or fewer than one is asked for.
        CacheFullError
            If they do not fit.

        """
        capacity = self._data.shape[3]
        if self._frames:
            raise CacheError('begin needs no open frame; commit or discard the open one first')
        if frames < 1:
            raise CacheError(f'frames must be >= 1, got {frames}')
        if self._kept + frames > capacity:
            raise CacheFullError(f'dense cache exhausted: need room for {self._kept + frames} '
                                 f'frames, have {capacity}; raise max_keyframes or reset the '
                                 'stream')
        self._frames = frames

    def extend(self, entry: int, k: torch.Tensor,
               v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """
        Store keys and values of the open frames in one entry.

        Parameters
        ----------
        entry : int
            Which cache.
        k, v : Tensor of the cache's dtype, shape [frames, heads, head_dim]
            Of the open frames.

        Returns
        -------
        K, V : Tensor, shape [heads, kept + frames, head_dim]
            Views of all committed and open frames, valid until the next ``begin``.

        Raises
        ------
        CacheError
            If no frame is open or there is no such entry.
        ShapeError
            If shape, dtype or device differ.

        """
        data = self._data
        if not self._frames:
            raise CacheError('extend needs an open frame; call begin first')
        if not 0 <= entry < data.shape[0]:
            raise CacheError(f'entry must be 0 .. {data.shape[0] - 1}, got {entry}')
        shape = (self._frames, data.shape[2], data.shape[4])
        check_tensor('k', k, shape, data.dtype, data.device)
        check_tensor('v', v, shape, data.dtype, data.device)
        end = self._kept + self._frames
        data[entry, 0, :, self._kept:end] = k.transpose(0, 1)
        data[entry, 1, :, self._kept:end] = v.transpose(0, 1)
        self._written.add(entry)
        return data[entry, 0, :, :end], data[entry, 1, :, :end]

    def commit(self) -> None:
        """
        Keep the open frames.

        Raises
        ------
        CacheError
            If no frame is open, or an entry was not extended (it would later be read unwritten).

        """
        if not self._frames:
            raise CacheError('commit needs an open frame; call begin first')
        missing = sorted(set(range(self._data.shape[0])) - self._written)
        if missing:
            raise CacheError(f'commit needs every entry extended, missing {missing}; extend them '
                             'or discard the frame')
        self._kept += self._frames
        self._close()

    def discard(self) -> None:
        """
        Drop the open frames.

        Raises
        ------
        CacheError
            If no frame is open.

        """
        if not self._frames:
            raise CacheError('discard needs an open frame; call begin first')
        self._close()

    @property
    def contents(self) -> torch.Tensor:
        """Keys and values of the kept frames, a view [entries, 2, heads, kept, head_dim]."""
        return self._data[:, :, :, :self._kept]

    def fill(self, contents: torch.Tensor) -> None:
        """
        Replace all frames by those that another cache of the same sizes held.

        Parameters
        ----------
        contents : Tensor of the cache's dtype, shape [entries, 2, heads, frames, head_dim]
            What its `contents` gave; copied.

        Raises
        ------
        ShapeError
            If shape or dtype differ from this cache's, or the frames do not fit; nothing is
            changed then.

        """
        entries, two, heads, capacity, head_dim = self._data.shape
        frames = contents.shape[3] if contents.ndim == 5 else -1
        if (tuple(contents.shape) != (entries, two, heads, frames, head_dim)
                or not 0 <= frames <= capacity or contents.dtype != self._data.dtype):
            raise ShapeError(f'expected contents [{entries}, 2, {heads}, 0 .. {capacity}, '
                             f'{head_dim}] {self._data.dtype}, got {list(contents.shape)} '
                             f'{contents.dtype}')
        self.reset()
        self._data[:, :, :, :frames] = contents
        self._kept = frames

    def reset(self) -> None:
        """Forget every frame, open ones too."""
        self._kept = 0
        self._close()

    def _close(self) -> None:
        self._frames = 0
        self._written.clear()
