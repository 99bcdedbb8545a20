# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Command lines in the documentation are accepted by the programs; Python blocks compile."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
import re
import shlex
import subprocess

from lingbot_ros.cli import COMMANDS
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob('*.md'), *(ROOT / 'docs').glob('*.md')])
BLOCKS = [(page.name, match[1], match[2]) for page in PAGES
          for match in re.finditer(r'^```(\w*)\n(.*?)^```', page.read_text(encoding='utf-8'),
                                   re.DOTALL | re.MULTILINE)]


def command_lines(program: str) -> list[tuple[str, str]]:
    found = []
    for page, language, block in BLOCKS:
        if language in ('', 'sh', 'bash', 'shell', 'console'):
            for line in block.replace('\\\n', ' ').splitlines():
                line = line.strip().removeprefix('$ ')
                if line.split(' ')[0] == program:
                    found.append((page, line))
    return found


@pytest.mark.parametrize(('page', 'line'), command_lines('lingbot_ros'))
def test_lingbot_ros(page: str, line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    assert words and words[0] in COMMANDS, line
    module = COMMANDS[words[0]][0]
    if '.ros.' in module:
        pytest.importorskip('rclpy', reason='rclpy is not installed (pip install .[ros])')
    parser = argparse.ArgumentParser(exit_on_error=False)
    importlib.import_module(module).add_arguments(parser)
    parser.parse_args(words[1:])


def test_every_command_is_documented() -> None:
    text = '\n'.join(page.read_text(encoding='utf-8') for page in PAGES)
    for name in COMMANDS:
        assert f'lingbot_ros {name}' in text, name


@pytest.mark.parametrize(('page', 'line'), command_lines('./dev'))
def test_dev(page: str, line: str) -> None:
    shown = subprocess.run([ROOT / 'dev', 'help'], capture_output=True, text=True, check=True)
    task = shlex.split(line, comments=True)[1]
    assert f'./dev {task}' in shown.stdout


@pytest.mark.parametrize(('page', 'block'), [
    (page, block) for page, language, block in BLOCKS if language == 'python'])
def test_python_blocks_compile(page: str, block: str) -> None:
    compile(block, page, 'exec')
