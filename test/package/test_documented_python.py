# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Python blocks of the documentation run as printed, and print what their comments say."""

from __future__ import annotations

from pathlib import Path
import re
from typing import Any

from lingbot_ros import StreamSession
from lingbot_ros.evaluation.score import score_trajectory
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
NEEDS_A_FILE = "lingbot-map.pt'"
IMAGE = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)
POSES = np.tile(np.eye(4), (20, 1, 1))
POSES[:, :3, 3] = np.random.default_rng(1).normal(size=(20, 3))

# What blocks use without making it, by page.
GIVEN: dict[str, dict[str, Any]] = {
    'README.md': {'frames': [(IMAGE, 0)]},
    'docs/checkpoints.md': {},
    'docs/endless.md': {},
    'docs/evaluation.md': {'estimate_T': POSES, 'truth_T': 2 * POSES - np.eye(4),
                           'other_score': score_trajectory(POSES, POSES)},
}


def blocks() -> list[tuple[str, str]]:
    found = []
    for path in [ROOT / 'README.md', *sorted((ROOT / 'docs').glob('*.md'))]:
        page, text = str(path.relative_to(ROOT)), path.read_text(encoding='utf-8')
        for block in re.findall(r'^```python\n(.*?)^```', text, re.DOTALL | re.MULTILINE):
            code = '\n'.join(line.split('#')[0] for line in block.splitlines())
            if NEEDS_A_FILE not in code:
                found.append((page, block))
    return found


def test_what_the_blocks_of_a_page_use_is_known() -> None:
    assert {page for page, _ in blocks()} == set(GIVEN)


@pytest.mark.parametrize(('page', 'block'), blocks())
def test_blocks_run(page: str, block: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = dict(GIVEN[page])
    exec(compile(block, page, 'exec'), names)
    printed = capsys.readouterr().out
    for said in re.findall(r'^print\(.*#(.*)$', block, re.MULTILINE):
        assert [f'{float(word):.2f}' for word in printed.split()] == said.split()
    if 'frames' in names:
        assert printed.startswith('0 ')
    session = names.get('session')
    if session is not None:
        assert isinstance(session, StreamSession)
        session.reset()
        assert session.push(IMAGE, 0)[0].stamp_ns == 0
