# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""package.xml, setup.py and the sources agree about name, version and dependencies."""

from __future__ import annotations

import ast
from pathlib import Path
import re
import runpy
import subprocess
import sys
from typing import Any
from unittest import mock
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = ElementTree.parse(ROOT / 'package.xml').getroot()
SOURCES = sorted((ROOT / 'lingbot_ros').rglob('*.py')) + sorted((ROOT / 'launch').glob('*.py'))

# Import name: the requirement of setup.py, and the rosdep key or None where only pip has it.
LIBRARIES = {
    'PIL': ('pillow', 'python3-pil'),
    'cv2': ('opencv-python-headless', 'python3-opencv'),
    'matplotlib': ('matplotlib', 'python3-matplotlib'),
    'numpy': ('numpy', 'python3-numpy'),
    'psutil': ('psutil', 'python3-psutil'),
    'rosbags': ('rosbags', None),
    'safetensors': ('safetensors', None),
    'torch': ('torch', None),
    'tqdm': ('tqdm', 'python3-tqdm'),
    # What rosbags itself requires, for the errors it lets through.
    'apsw': ('rosbags', None),
    'backports': ('rosbags', None),
    'ruamel': ('rosbags', None),
}
OPTIONAL = {'evo', 'flashinfer'}
# Not among the wheels; the code works without them.
NOT_ON_PYPI = {'cv_bridge', 'launch', 'launch_ros', 'tf2_msgs'}


def setup_argument(name: str) -> Any:
    """Return an argument of setup()."""
    with mock.patch('setuptools.setup') as fake:
        runpy.run_path(str(ROOT / 'setup.py'))
    return fake.call_args.kwargs[name]


def bare(requirements: list[str]) -> set[str]:
    return {re.split(r'[<>=!~\[ ;]', item)[0] for item in requirements}


def manifest_names(tag: str) -> set[str]:
    return {element.text or '' for element in MANIFEST.findall(tag)}


def imported() -> set[str]:
    """Return the top modules from outside that the package and its launch files import."""
    names = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split('.')[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                names.add(node.module.split('.')[0])
    # compression came into the standard library with Python 3.14.
    return names - set(sys.stdlib_module_names) - {'compression', 'lingbot_ros'}


def test_name_and_version() -> None:
    assert MANIFEST.get('format') == '3'
    assert MANIFEST.findtext('name') == setup_argument('name') == 'lingbot_ros'
    assert MANIFEST.findtext('version') == setup_argument('version')
    assert (ROOT / 'resource' / 'lingbot_ros').is_file()
    assert MANIFEST.findtext('export/build_type') == 'ament_python'
    assert 'lib/lingbot_ros' in (ROOT / 'setup.cfg').read_text()


def test_changelog_has_the_version() -> None:
    text = (ROOT / 'CHANGELOG.rst').read_text()
    assert re.search(rf'^{re.escape(str(setup_argument("version")))} \(', text, re.MULTILINE)


def test_licence() -> None:
    assert MANIFEST.findtext('license') == setup_argument('license') == 'Apache-2.0'
    assert 'Apache License' in (ROOT / 'LICENSE').read_text()


def test_every_import_is_declared() -> None:
    required = bare(setup_argument('install_requires'))
    wheels = bare(setup_argument('extras_require')['ros'])
    depends = manifest_names('exec_depend') | manifest_names('depend')
    for name in sorted(imported() - OPTIONAL):
        if name in LIBRARIES:
            requirement, key = LIBRARIES[name]
            assert requirement in required, f'setup.py does not require {requirement}'
            assert key is None or key in depends, f'package.xml does not depend on {key}'
        else:
            assert name in depends, f'package.xml does not depend on {name}'
            assert name in NOT_ON_PYPI or f'ros-{name.replace("_", "-")}' in wheels, (
                f'the ros extra lacks {name}')


def test_nothing_declared_is_unused() -> None:
    names = imported()
    used = [LIBRARIES[name] for name in names if name in LIBRARIES]
    assert bare(setup_argument('install_requires')) <= {requirement for requirement, _ in used}
    keys = {name for name in manifest_names('exec_depend') if name.startswith('python3-')}
    assert keys <= {key for _, key in used}
    # ros2bag is started by replay.launch.py; cv_bridge is imported by name, if there is one.
    unimported = {'cv_bridge', 'ros2bag', 'rosbag2_storage_default_plugins'}
    ros = {name for name in manifest_names('exec_depend') if not name.startswith('python3-')}
    assert ros - names - unimported == set()


def test_extra_named_test_lists_pytest() -> None:
    # colcon test runs pytest only for packages that say so.
    extras = setup_argument('extras_require')
    assert 'pytest' in bare(extras['test'])
    assert {'ros', 'flashinfer', 'dev', 'test'} <= set(extras)


def test_only_the_constraints_pin_torch() -> None:
    assert any(re.fullmatch(r'torch==[\d.]+', line)
               for line in (ROOT / 'constraints.txt').read_text().splitlines())
    requirement = next(item for item in setup_argument('install_requires')
                       if item.startswith('torch'))
    assert '==' not in requirement


@pytest.mark.parametrize('task', ['demo', 'test'])
def test_readme_commands_exist(task: str) -> None:
    assert f'./dev {task}' in (ROOT / 'README.md').read_text()
    shown = subprocess.run([ROOT / 'dev', 'help'], capture_output=True, text=True, check=True)
    assert f'./dev {task}' in shown.stdout


def test_ci_runs_the_readme_command() -> None:
    assert './dev test' in (ROOT / '.ci' / 'run').read_text()
