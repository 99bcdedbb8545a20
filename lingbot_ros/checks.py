# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of settings: one line that says what was expected and what came."""

from __future__ import annotations

import math

from lingbot_ros.errors import ConfigError


def require(condition: bool, message: str) -> None:
    """
    Raise ConfigError with a message unless a condition holds.

    Parameters
    ----------
    condition : bool
        What must be true.
    message : str
        Expected, got, and what to change.

    Raises
    ------
    ConfigError
        If the condition is false.

    """
    if not condition:
        raise ConfigError(message)


def require_at_least(name: str, value: object, low: int) -> None:
    """
    Raise ConfigError unless a value is an integer of at least `low`; a bool is none.

    Parameters
    ----------
    name : str
        Of the setting, for the message.
    value : object
        What came.
    low : int
        The bound.

    Raises
    ------
    ConfigError
        Naming the setting, the bound and what came.

    """
    fits = isinstance(value, int) and not isinstance(value, bool) and value >= low
    require(fits, f'{name} must be an integer >= {low}, got {value!r}')


def require_between(name: str, value: object, low: float, high: float) -> None:
    """
    Raise ConfigError unless a value is a finite number from `low` to `high`; a bool is none.

    Parameters
    ----------
    name : str
        Of the setting, for the message.
    value : object
        What came.
    low, high : float
        The bounds; both are allowed.

    Raises
    ------
    ConfigError
        Naming the setting, the bounds and what came.

    """
    fits = (isinstance(value, (int, float)) and not isinstance(value, bool)
            and math.isfinite(value) and low <= value <= high)
    require(fits, f'{name} must be a number from {low:g} to {high:g}, got {value!r}')
