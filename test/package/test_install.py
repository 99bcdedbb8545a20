# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Install the package as pip and as colcon do, and look for what ROS looks for."""

from __future__ import annotations

import os
from pathlib import Path
import re
import shutil
import subprocess
import sys

import pytest

ROOT = Path(__file__).resolve().parents[2]
WEIGHTS = Path('lingbot_ros', 'weights')
MARKER = 'share/ament_index/resource_index/packages/lingbot_ros'


@pytest.fixture(scope='module')
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy what a build reads, so that it leaves nothing behind in the checkout."""
    copy = tmp_path_factory.mktemp('workspace') / 'src' / 'lingbot_ros'
    unwanted = shutil.ignore_patterns('.*', '__pycache__', '*.egg-info', 'build', 'data')
    shutil.copytree(ROOT, copy, ignore=unwanted)
    weights = copy / WEIGHTS
    weights.mkdir(exist_ok=True)
    for name in ('embedded.safetensors', 'embedded.sha256', 'README.md', 'figures.json'):
        if not (weights / name).exists():
            (weights / name).write_text(f'in place of {name}')
    return copy


def run(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> str:
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True,
                            stdin=subprocess.DEVNULL)
    assert result.returncode == 0, f'{result.stdout}\n{result.stderr}'
    return result.stdout


def check_layout(prefix: Path) -> None:
    """Check the part of an install that ros2 run, ros2 launch and the ament index read."""
    assert (prefix / MARKER).is_file()
    share = prefix / 'share' / 'lingbot_ros'
    for path in [ROOT / 'package.xml', *(ROOT / 'launch').glob('*.launch.py'),
                 *(ROOT / 'config').glob('*.*'), *(ROOT / 'rviz').glob('*.rviz')]:
        installed = share / path.relative_to(ROOT)
        assert installed.read_bytes() == path.read_bytes()
    for name in ('stream_node', 'lingbot_ros'):
        script = prefix / 'lib' / 'lingbot_ros' / name
        assert os.access(script, os.X_OK)
        # The environment's interpreter, wherever torch is, and not the one that built.
        assert script.read_text().splitlines()[0] == '#!/usr/bin/env python3'


def check_weights(checkout: Path, packages: Path) -> None:
    """Check that the embedded weights lie beside the modules, with their card and hash."""
    files = sorted((checkout / WEIGHTS).iterdir())
    assert len(files) >= 4
    for path in files:
        assert (packages / WEIGHTS / path.name).read_bytes() == path.read_bytes(), path.name


def test_there_is_something_to_install() -> None:
    assert (ROOT / 'launch' / 'stream.launch.py').is_file()
    assert (ROOT / 'config' / 'stream.yaml').is_file()


@pytest.mark.slow
def test_pip_install(checkout: Path, tmp_path: Path) -> None:
    prefix = tmp_path / 'prefix'
    # --ignore-installed, or pip would uninstall the copy that runs this test.
    run([sys.executable, '-m', 'pip', 'install', '--no-deps', '--no-build-isolation',
         '--ignore-installed', '--no-warn-script-location', '--prefix', str(prefix),
         str(checkout)], tmp_path)
    check_layout(prefix)
    packages = next((prefix / 'lib').glob('python3*/site-packages'))
    modules = {path.relative_to(ROOT) for path in (ROOT / 'lingbot_ros').rglob('*.py')}
    assert modules <= {path.relative_to(packages) for path in packages.rglob('*.py')}
    check_weights(checkout, packages)
    assert (prefix / 'bin' / 'stream_node').is_file()
    # The installed copy answers, from a folder where the checkout cannot be imported.
    environment = {**os.environ, 'PYTHONPATH': str(packages)}
    shown = run([str(prefix / 'bin' / 'lingbot_ros'), '--help'], tmp_path, environment)
    assert 'replay' in shown
    where = run([sys.executable, '-c', 'import lingbot_ros; print(lingbot_ros.__file__)'],
                tmp_path, environment)
    assert where.startswith(str(packages))


@pytest.mark.slow
def test_colcon_build(checkout: Path) -> None:
    colcon = shutil.which('colcon', path=f'{Path(sys.executable).parent}:{os.environ["PATH"]}')
    if colcon is None:
        pytest.skip('colcon is not installed (extra: dev)')
    workspace = checkout.parents[1]
    listed = run([colcon, 'list'], workspace)
    assert re.search(r'^lingbot_ros\s.*\(ros\.ament_python\)$', listed, re.MULTILINE)
    run([colcon, 'build', '--event-handlers', 'console_direct-'], workspace)
    prefix = workspace / 'install' / 'lingbot_ros'
    check_layout(prefix)
    # A fresh shell that sources the workspace, as the user does.
    probe = ('import lingbot_ros, os; '
             'print(lingbot_ros.__file__, os.environ["AMENT_PREFIX_PATH"])')
    shown = run(['bash', '-c', f'. install/setup.bash && {sys.executable} -c {probe!r}'],
                workspace)
    file, prefixes = shown.split()[-2:]
    assert Path(file).is_relative_to(prefix)
    check_weights(checkout, Path(file).parents[1])
    assert str(prefix) in prefixes.split(':')
    pytest.importorskip('ament_index_python')
    probe = ('from ament_index_python.packages import get_package_share_directory as share; '
             'print(share("lingbot_ros"))')
    shown = run(['bash', '-c', f'. install/setup.bash && {sys.executable} -c {probe!r}'],
                workspace)
    assert shown.split()[-1] == str(prefix / 'share' / 'lingbot_ros')
