# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The rules of docs/architecture.md about who may import and do what, read from the sources."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / 'lingbot_ros'
SOURCES = sorted(PACKAGE.rglob('*.py'))
IDS = [str(path.relative_to(PACKAGE)) for path in SOURCES]

BASE = {'checks', 'config', 'errors', 'records', 'stream_parts'}
# Room: the rooms it may import besides itself and BASE.
ALLOWED = {
    'checks': set(),
    'errors': set(),
    'config': set(),
    'stream_parts': set(),
    'records': set(),
    'geometry': set(),
    'cache': set(),
    'attention': {'cache'},
    'model': {'attention', 'cache', 'geometry'},
    'streaming': {'attention', 'cache', 'geometry', 'model'},
    'imaging': set(),
    'sources': {'imaging'},
    'evaluation': {'geometry', 'streaming'},
    'datasets': {'evaluation', 'geometry', 'imaging', 'sources'},
    'ros': {'geometry', 'imaging', 'model', 'sources', 'streaming'},
    'tools': {'datasets', 'evaluation', 'geometry', 'imaging', 'model', 'sources', 'streaming'},
    'cli': {'ros', 'tools'},
    '__main__': {'cli'},
    # The public names.
    '__init__': {'model', 'streaming'},
}
# Public addresses that are resolved at first use, from a room above.
LAZY = {('cache/__init__.py', 'lingbot_ros.attention.manager.FlashInferKVCacheManager')}
ROS_MODULES = {
    'ament_index_python', 'builtin_interfaces', 'cv_bridge', 'diagnostic_msgs', 'geometry_msgs',
    'launch', 'launch_ros', 'lifecycle_msgs', 'nav_msgs', 'rcl_interfaces', 'rclpy',
    'rosgraph_msgs', 'sensor_msgs', 'std_msgs', 'std_srvs', 'tf2_msgs', 'tf2_ros',
}
IDS_ONLY = {'cache/spec.py', 'cache/pool.py', 'cache/table.py'}
# Mains and the worker loop: the last place where an error can become a message.
BROAD_EXCEPT = {'cli.py', 'ros/main.py', 'ros/node.py', 'ros/stream_node.py', 'ros/worker.py'}


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix('.py')


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding='utf-8'), filename=str(path))


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and full dotted name of everything imported, wherever the statement stands."""
    package = ['lingbot_ros', *path.relative_to(PACKAGE).parent.parts]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ''
            if node.level:
                parents = package[:len(package) - node.level + 1]
                module = '.'.join([*parents, module] if module else parents)
            for alias in node.names:
                yield node.lineno, f'{module}.{alias.name}'


def calls_of(path: Path, *names: str) -> list[str]:
    return [f'{name_of(path)}:{node.lineno} {node.func.id}()' for node in ast.walk(tree_of(path))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            and node.func.id in names]


def test_every_room_has_a_rule() -> None:
    assert {room_of(path) for path in SOURCES} <= set(ALLOWED)


def test_rooms_form_layers() -> None:
    order: list[str] = []
    left = dict(ALLOWED)
    while left:
        free = [room for room, below in left.items() if below <= set(order)]
        assert free, f'a cycle among {sorted(left)}'
        order += free
        left = {room: below for room, below in left.items() if room not in free}


@pytest.mark.parametrize('path', SOURCES, ids=IDS)
def test_imports_point_down(path: Path) -> None:
    room = room_of(path)
    rooms = set(ALLOWED) - {'__init__'}
    for line, name in imports_of(path):
        parts = name.split('.')
        if parts[0] != 'lingbot_ros' or (name_of(path), name) in LAZY:
            continue
        if parts[1] not in rooms:
            # A public name: it stands for model and streaming.
            assert room in ('cli', 'ros', 'tools'), f'{name_of(path)}:{line} imports {name}'
            continue
        allowed = ALLOWED[room] | BASE | {room}
        assert parts[1] in allowed, f'{name_of(path)}:{line} imports {name}'


@pytest.mark.parametrize('path', SOURCES, ids=IDS)
def test_only_ros_imports_ros(path: Path) -> None:
    if room_of(path) == 'ros':
        return
    found = [name for _, name in imports_of(path) if name.split('.')[0] in ROS_MODULES]
    assert not found, f'{name_of(path)} imports {found}'


def test_one_file_imports_flashinfer() -> None:
    found = [name_of(path) for path in SOURCES
             if any(name.split('.')[0] == 'flashinfer' for _, name in imports_of(path))]
    assert found == ['attention/flashinfer.py']


def test_one_file_imports_evo() -> None:
    found = [name_of(path) for path in SOURCES
             if any(name.split('.')[0] == 'evo' for _, name in imports_of(path))]
    assert set(found) == {'evaluation/engine.py'}


@pytest.mark.parametrize('name', sorted(IDS_ONLY))
def test_page_numbers_know_no_tensors(name: str) -> None:
    found = [module for _, module in imports_of(PACKAGE / name)
             if module.split('.')[0] in ('torch', 'numpy')]
    assert not found


@pytest.mark.parametrize('path', SOURCES, ids=IDS)
def test_no_print_outside_tools(path: Path) -> None:
    if room_of(path) not in ('tools', 'cli'):
        assert not calls_of(path, 'print')


@pytest.mark.parametrize('path', SOURCES, ids=IDS)
def test_no_probing(path: Path) -> None:
    assert not calls_of(path, 'getattr', 'hasattr', 'setattr')


@pytest.mark.parametrize('path', SOURCES, ids=IDS)
def test_no_broad_except(path: Path) -> None:
    if name_of(path) in BROAD_EXCEPT:
        return
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ExceptHandler):
            last = node.body[-1]
            if isinstance(last, ast.Raise) and last.exc is None:
                continue  # Undoes what was begun and passes the error on.
            kinds = {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)} \
                if node.type else {'(bare)'}
            assert not kinds & {'(bare)', 'Exception', 'BaseException'}, (
                f'{name_of(path)}:{node.lineno}')


@pytest.mark.parametrize('path', SOURCES, ids=IDS)
def test_one_concept_a_file(path: Path) -> None:
    lines = len(path.read_text(encoding='utf-8').splitlines())
    assert lines < 330, f'{name_of(path)} has {lines} lines: split it'
