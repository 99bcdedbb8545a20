# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Networks that many tests share; they are never written to."""

import sys
from pathlib import Path

from lingbot_ros import load_network, Network
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import golden  # noqa: E402, I100, I202


@pytest.fixture(scope='session')
def golden_network() -> Network:
    return load_network('random', 'cpu', 'fp32', golden.CONFIG)


@pytest.fixture(scope='session')
def tiny_network() -> Network:
    return load_network('random', 'cpu', 'fp32')
