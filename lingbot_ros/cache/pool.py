# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A pool of page ids: which are free, which are taken. Knows nothing of tensors or frames."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from lingbot_ros.errors import CacheError, CacheFullError


class PagePool:
    """
    Page ids, handed out first in, first out.

    Parameters
    ----------
    ids : iterable of int
        The ids of the pool, all free, none twice.
    setting : str
        What to change when the pool is exhausted; ends the error message.

    """

    def __init__(self, ids: Iterable[int], setting: str) -> None:
        self._free: deque[int] = deque()
        self._taken: set[int] = set()
        self._setting = setting
        self.grow(ids)

    @property
    def size(self) -> int:
        """Ids in the pool, free and taken."""
        return len(self._free) + len(self._taken)

    @property
    def free_count(self) -> int:
        """Ids that can be allocated."""
        return len(self._free)

    def allocate(self, count: int = 1) -> list[int]:
        """
        Take the ids that have been free for longest.

        Parameters
        ----------
        count : int
            How many; 0 is allowed.

        Returns
        -------
        list of int
            Distinct ids, no longer free.

        Raises
        ------
        CacheFullError
            If fewer are free; none is taken then.

        """
        if count < 0:
            raise CacheError(f'page count must be >= 0, got {count}')
        if count > len(self._free):
            raise CacheFullError(f'page pool exhausted: need {count} free pages, have '
                                 f'{len(self._free)} of {self.size}; {self._setting}')
        pages = [self._free.popleft() for _ in range(count)]
        self._taken.update(pages)
        return pages

    def free(self, pages: Sequence[int]) -> None:
        """
        Give ids back.

        Raises
        ------
        CacheError
            If an id is not taken (freed twice, or never this pool's); none is freed then.

        """
        wrong = [page for page in pages if page not in self._taken]
        if wrong or len(set(pages)) != len(pages):
            raise CacheError(f'pages to free must be taken and distinct, got {list(pages)}; '
                             f'not taken: {wrong}')
        self._taken.difference_update(pages)
        self._free.extend(pages)

    def grow(self, ids: Iterable[int]) -> None:
        """
        Add free ids.

        Raises
        ------
        CacheError
            If an id is already in the pool or given twice; none is added then.

        """
        fresh = list(ids)
        known = self._taken.union(self._free)
        if len(set(fresh)) != len(fresh) or known.intersection(fresh):
            raise CacheError('page ids must be new and distinct, got '
                             f'{sorted(known.intersection(fresh)) or fresh}')
        self._free.extend(fresh)
