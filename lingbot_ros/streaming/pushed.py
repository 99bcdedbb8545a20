# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A frame on its way through a stream."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
import operator

from lingbot_ros.errors import ConfigError
from lingbot_ros.streaming.motion import thumbnail
from torch import Tensor


def checked_stamp(stamp_ns: object) -> int:
    """
    Return a stamp as a plain integer; numpy's integers do not survive in a saved session.

    Raises
    ------
    ConfigError
        If it is no integer.

    """
    try:
        return operator.index(stamp_ns)  # type: ignore[arg-type]
    except TypeError:
        raise ConfigError('stamp_ns must be an integer, nanoseconds, got '
                          f'{stamp_ns!r} ({type(stamp_ns).__name__})') from None


@dataclass(frozen=True, eq=False)
class Pushed:
    """
    A frame that has been encoded.

    Attributes
    ----------
    patches : Tensor, shape [patches, width]
        Patch tokens.
    pixels : Tensor of float32, shape [3, H, W]
        The network's input.
    stamp_ns, index : int
        Its stamp, and its number since the reset.

    """

    patches: Tensor
    pixels: Tensor
    stamp_ns: int
    index: int

    @cached_property
    def thumbnail(self) -> Tensor:
        """Small image that tells whether the camera rests."""
        return thumbnail(self.pixels)
