# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Networks that many tests share; they are never written to."""

from pathlib import Path
import sys

from lingbot_ros import load_network, Network
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import golden


@pytest.fixture(scope='session')
def golden_network() -> Network:
    return load_network('random', 'cpu', 'fp32', golden.CONFIG)


@pytest.fixture(scope='session')
def tiny_network() -> Network:
    return load_network('random', 'cpu', 'fp32')
