# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stops a run that has gone wrong before it wastes its time."""

from __future__ import annotations

from collections import deque
import statistics

#: A run is bad when the median loss of the last steps is this much above the best median.
BAD_FACTOR = 1.6
BAD_STEPS = 60


class BadRunError(Exception):
    """The loss says that going on would waste time."""


class Watch:
    """Keeps the last losses and stops a run that has gone wrong."""

    def __init__(self) -> None:
        self._last: deque[float] = deque(maxlen=BAD_STEPS)
        self._best: dict[int, float] = {}
        self._skipped = 0

    def see(self, loss: float, frames: int, usable: bool) -> None:
        """
        Take one loss.

        Parameters
        ----------
        loss : float
            Of a step.
        frames : int
            Its length; losses are compared within a length.
        usable : bool
            Whether its gradient was finite.

        Raises
        ------
        BadRunError
            If losses have risen far above their best, or many steps were skipped.

        """
        if not usable:
            self._skipped += 1
            if self._skipped > BAD_STEPS:
                raise BadRunError(f'{self._skipped} steps without a finite gradient')
            return
        best = self._best.get(frames)
        self._last.append(loss / best if best else 1.0)
        self._best[frames] = loss if best is None else min(best, 0.95 * best + 0.05 * loss)
        if len(self._last) == BAD_STEPS and statistics.median(self._last) > BAD_FACTOR:
            raise BadRunError(f'the last {BAD_STEPS} losses are {BAD_FACTOR} times the best')
