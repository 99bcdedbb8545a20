# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is usual: the median of the last values of a number."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable
import math

from lingbot_ros.checks import require_at_least


class RunningMedian:
    """
    Median of the last values.

    Parameters
    ----------
    length : int
        Values that count, >= 1.

    """

    def __init__(self, length: int) -> None:
        require_at_least('running median length', length, 1)
        self._length = length
        self._order: deque[float] = deque()
        self._sorted: list[float] = []

    @property
    def value(self) -> float | None:
        """The median; None before the first value."""
        if not self._sorted:
            return None
        middle = len(self._sorted) // 2
        if len(self._sorted) % 2:
            return self._sorted[middle]
        return (self._sorted[middle - 1] + self._sorted[middle]) / 2

    @property
    def values(self) -> list[float]:
        """The values that count, oldest first."""
        return list(self._order)

    def add(self, value: float) -> None:
        """Take a value; one that is not finite is left out."""
        if not math.isfinite(value):
            return
        self._order.append(value)
        insort(self._sorted, value)
        if len(self._order) > self._length:
            del self._sorted[bisect_left(self._sorted, self._order.popleft())]

    def clear(self) -> None:
        """Forget all values."""
        self._order.clear()
        self._sorted.clear()

    def restore(self, values: Iterable[float]) -> None:
        """Go on from `values`."""
        self.clear()
        for value in values:
            self.add(value)
