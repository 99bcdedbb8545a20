# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What commands that run for hours share: outputs checked before, interruptions that keep them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import signal
from typing import Any

from lingbot_ros.errors import ConfigError
from lingbot_ros.model.network import Network
from lingbot_ros.streaming.trajectory import TUM_HEADER
from lingbot_ros.tools.plot import RANDOM_WARNING


def make_writable(path: Path) -> None:
    """
    Make the folder of a file to write, refusing early what would fail after hours.

    Raises
    ------
    ConfigError
        The path is a folder, or protected.

    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f'cannot write {path}: {error.strerror}; choose another place') \
            from error
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ConfigError(f'cannot write {path}: it is a folder or protected; choose another '
                          'place')


def header_of(network: Network) -> str:
    """Return the first lines of a TUM file of a network's poses; random weights are named."""
    return (f'# {RANDOM_WARNING}\n' if network.is_random else '') + TUM_HEADER


@contextmanager
def stop_on(*numbers: signal.Signals) -> Iterator[list[int]]:
    """Collect the first of some signals in a list; a second one acts as usual."""
    received: list[int] = []

    def restore() -> None:
        for which, old in previous.items():
            signal.signal(which, old)

    def handler(number: int, _: Any) -> None:
        received.append(number)
        restore()

    previous = {which: signal.getsignal(which) for which in numbers}
    for which in numbers:
        signal.signal(which, handler)
    try:
        yield received
    finally:
        restore()
