# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Time of the stages of a frame, measured on the device and without making the host wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
import threading
import time

import torch

# Stages of a few frames; a device that is further behind loses the oldest measurements.
_MOST_PENDING = 64


class StageTimes:
    """
    Last duration of each stage.

    Parameters
    ----------
    device : torch.device
        On CUDA its own clock is read, once the events have passed; elsewhere the host's.

    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._lock = threading.Lock()  # diagnostics read from another thread
        self._seconds: dict[str, float] = {}
        self._pending: deque[tuple[str, torch.cuda.Event, torch.cuda.Event]] = deque(
            maxlen=_MOST_PENDING)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """
        Time what is inside.

        Parameters
        ----------
        name : str
            Of the stage.

        Yields
        ------
        None

        """
        if self._device.type != 'cuda':
            begin = time.perf_counter()
            yield
            with self._lock:
                self._seconds[name] = time.perf_counter() - begin
            return
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record(torch.cuda.current_stream(self._device))
        yield
        last.record(torch.cuda.current_stream(self._device))
        with self._lock:
            self._pending.append((name, first, last))

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds of each stage when it ran last, as far as the device has got."""
        with self._lock:
            while self._pending and self._pending[0][2].query():
                name, first, last = self._pending.popleft()
                self._seconds[name] = first.elapsed_time(last) / 1e3
            return dict(self._seconds)
