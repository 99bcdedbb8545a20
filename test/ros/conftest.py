# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests with real rclpy."""

from __future__ import annotations

from collections.abc import Iterator
import hashlib
from importlib.metadata import version
import importlib.util
import os
from pathlib import Path
import shutil
import sys
import tempfile

import pytest


@pytest.fixture(scope='session')
def ros_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    pytest.importorskip('rclpy', reason='rclpy is not installed (pip install .[ros])')
    from ros_harness import environment
    env = environment(os.getpid() % 100 + 1, tmp_path_factory.mktemp('ros_home'))
    before = dict(os.environ)
    os.environ.update(env)
    yield env
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope='session')
def rclpy_context(ros_environment: dict[str, str]) -> Iterator[None]:
    import rclpy
    from rclpy.signals import SignalHandlerOptions
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    yield
    rclpy.shutdown()


@pytest.fixture()
def probe(rclpy_context: None) -> Iterator:
    from ros_harness import Probe
    probe = Probe()
    yield probe
    probe.close()


@pytest.fixture(scope='module')
def start_node(ros_environment: dict[str, str],
               tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    """Start nodes; whatever still runs at the end of the module is killed."""
    from ros_harness import NodeProcess
    nodes: list[NodeProcess] = []
    folder = tmp_path_factory.mktemp('nodes')

    def start(env: dict[str, str] | None = None, **parameters: object) -> NodeProcess:
        node = NodeProcess({**ros_environment, **(env or {})},
                           folder / f'node{len(nodes)}.log', **parameters)
        nodes.append(node)
        return node

    yield start
    for node in nodes:
        node.kill()


@pytest.fixture(scope='session')
def tf2_environment(ros_environment: dict[str, str],
                    tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment in which tf2_msgs can be imported; built once where ROS lacks it."""
    if importlib.util.find_spec('tf2_msgs') is not None:
        return ros_environment
    import build_tf2_msgs
    missing = build_tf2_msgs.missing_tools()
    if missing:
        pytest.skip(f'tf2_msgs is not installed and cannot be built: {missing} missing')
    # Kept between runs (13 s to build), one for each environment and version of its messages.
    key = f'{sys.prefix} {sys.version} {version("ros-geometry-msgs")} {os.getuid()}'
    prefix = Path(tempfile.gettempdir(),
                  f'lingbot_ros-tf2_msgs-{hashlib.sha256(key.encode()).hexdigest()[:12]}')
    if not prefix.is_dir():
        building = tmp_path_factory.mktemp('tf2_msgs') / 'prefix'
        build_tf2_msgs.build(building)
        shutil.copytree(building, f'{prefix}.{os.getpid()}')
        os.rename(f'{prefix}.{os.getpid()}', prefix)
    packages = prefix / 'lib' / f'python{sys.version_info.major}.{sys.version_info.minor}'
    return {
        **ros_environment,
        'PYTHONPATH': f'{packages / "site-packages"}:{ros_environment["PYTHONPATH"]}',
        'LD_LIBRARY_PATH': f'{prefix / "lib"}:{ros_environment.get("LD_LIBRARY_PATH", "")}',
    }
