# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Networks that many tests share, never written to; and patience with a busy machine."""

import importlib.util
from pathlib import Path
import sys

from lingbot_ros import load_network, Network
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import golden

if importlib.util.find_spec('hypothesis') is not None:
    from hypothesis import HealthCheck, settings
    # How long an example takes says more of what else the machine does than of the code.
    settings.register_profile('patient', deadline=None,
                              suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile('patient')


@pytest.fixture(scope='session')
def golden_network() -> Network:
    return load_network('random', 'cpu', 'fp32', golden.CONFIG)


@pytest.fixture(scope='session')
def tiny_network() -> Network:
    return load_network('random', 'cpu', 'fp32')
