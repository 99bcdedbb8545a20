# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
One thread that does the slow work, and the one-slot mailbox that feeds it; no ROS import.

Callbacks only put. While the worker is busy the newest item replaces the waiting one, so what
comes out is never older than one item's work plus one item's wait.
"""

from __future__ import annotations

from collections.abc import Callable
import threading
from typing import Generic, TypeVar

T = TypeVar('T')


class Mailbox(Generic[T]):
    """A slot for one item; the newest wins."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._item: T | None = None
        self._closed = False

    def put(self, item: T) -> bool:
        """
        Store an item, in place of one that still waits.

        Parameters
        ----------
        item : T
            The item.

        Returns
        -------
        bool
            Whether an item was thrown away: the waiting one, or this one after `close`.

        """
        with self._condition:
            if self._closed:
                return True
            replaced = self._item is not None
            self._item = item
            self._condition.notify()
            return replaced

    def take(self) -> T | None:
        """
        Wait for an item and remove it.

        Returns
        -------
        T or None
            None once the mailbox is closed.

        """
        with self._condition:
            self._condition.wait_for(lambda: self._closed or self._item is not None)
            item, self._item = self._item, None
            return None if self._closed else item

    def close(self) -> None:
        """Wake the waiting thread; nothing comes out any more."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()


class Worker(Generic[T]):
    """
    Runs `prepare` once, then `process` for every item, in its own thread.

    Parameters
    ----------
    prepare : callable
        Called first; when it raises, `refuse` gets the exception and the thread ends.
    process : callable
        Called with each item.
    refuse : callable
        Gets an exception of `prepare`.
    recover : callable
        Gets an exception of `process`; the loop goes on.

    """

    def __init__(self, prepare: Callable[[], None], process: Callable[[T], None],
                 refuse: Callable[[Exception], None],
                 recover: Callable[[Exception], None]) -> None:
        self._prepare = prepare
        self._process = process
        self._refuse = refuse
        self._recover = recover
        self._mailbox: Mailbox[T] = Mailbox()
        self._stopping = threading.Event()
        # A daemon: the interpreter must be able to leave while a frame is still in the network.
        self._thread = threading.Thread(target=self._run, name='stream', daemon=True)

    @property
    def stopping(self) -> bool:
        """Whether `stop` was called; what is finished from now on is no longer wanted."""
        return self._stopping.is_set()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def put(self, item: T) -> bool:
        """
        Hand an item to the thread.

        Parameters
        ----------
        item : T
            The item.

        Returns
        -------
        bool
            Whether an item was thrown away because the thread is busy.

        """
        return self._mailbox.put(item)

    def stop(self, timeout_s: float) -> bool:
        """
        Ask the thread to end and wait for it.

        Parameters
        ----------
        timeout_s : float
            How long to wait, seconds.

        Returns
        -------
        bool
            Whether it ended; False when it is still inside `prepare` or `process`.

        """
        self._stopping.set()
        self._mailbox.close()
        if self._thread.is_alive():
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._prepare()
        except Exception as error:
            if not self.stopping:
                self._refuse(error)
            return
        while (item := self._mailbox.take()) is not None:
            try:
                self._process(item)
            except Exception as error:
                if not self.stopping:
                    self._recover(error)
