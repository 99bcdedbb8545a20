# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Headers, names and links of the files that git tracks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
import re
import subprocess
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]


def listed_files() -> list[Path]:
    """Return tracked and new files; without git (a source archive), all outside hidden folders."""
    command = ['git', 'ls-files', '--cached', '--others', '--exclude-standard']
    try:
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        paths = [ROOT / line for line in result.stdout.splitlines()]
    except (FileNotFoundError, subprocess.CalledProcessError):
        paths = [path for path in ROOT.rglob('*')
                 if not any(part.startswith('.') for part in path.relative_to(ROOT).parts)]
    return [path for path in paths if path.is_file()]


FILES = listed_files()
PYTHON = [path for path in FILES if path.suffix == '.py' or path.parent.name == 'bin']
MARKDOWN = [path for path in FILES if path.suffix == '.md']
XML = [path for path in FILES if path.suffix in ('.xml', '.svg')]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize('path', PYTHON, ids=name)
def test_header(path: Path) -> None:
    lines = path.read_text(encoding='utf-8').splitlines()
    if lines and lines[0].startswith('#!'):
        lines = lines[1:]
    assert lines[:2] == ['# Copyright 2026 The lingbot_ros developers',
                         '# SPDX-License-Identifier: Apache-2.0']


@pytest.mark.parametrize('path', XML, ids=name)
def test_xml_is_well_formed(path: Path) -> None:
    ElementTree.parse(path)


def test_test_files_have_unique_names() -> None:
    # pytest's default import mode imports them by their bare name.
    counts = Counter(path.name for path in FILES
                     if path.is_relative_to(ROOT / 'test') and path.name.startswith('test_'))
    assert [file for file, count in counts.items() if count > 1] == []


def anchors(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as they are made from the text."""
    found = set()
    for line in path.read_text(encoding='utf-8').splitlines():
        if match := re.match(r'#+\s+(.*)', line):
            text = re.sub(r'[^\w\- ]', '', match[1].lower())
            found.add(text.replace(' ', '-'))
    return found


@pytest.mark.parametrize('path', MARKDOWN, ids=name)
def test_links_lead_somewhere(path: Path) -> None:
    text = re.sub(r'```.*?```', '', path.read_text(encoding='utf-8'), flags=re.DOTALL)
    for target in re.findall(r'\]\(([^)\s]+)\)', text):
        if re.match(r'[a-z]+:', target):
            continue
        file, _, anchor = target.partition('#')
        page = (path.parent / file).resolve() if file else path
        assert page.exists(), f'{name(path)} links to {target}'
        if anchor and page.suffix == '.md':
            assert anchor in anchors(page), f'{name(path)} links to {target}'
