# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The card of the embedded weights is filled in, and its figures are the measured ones."""

from __future__ import annotations

import json
from pathlib import Path
import re

import lingbot_ros
import pytest

WEIGHTS = Path(lingbot_ros.__file__).parent / 'weights'
CARD = (WEIGHTS / 'README.md').read_text(encoding='utf-8')
FIGURES = json.loads((WEIGHTS / 'figures.json').read_text(encoding='utf-8'))
ROWS = {
    'ATE, % of the path': 'ate_percent',
    'rotation, degrees': 'rotation_8_deg',
    'direction of translation, degrees': 'direction_8_deg',
    'depth, relative': 'depth',
    'horizontal field of view, degrees': 'fov_deg',
}
COLUMNS = ('short', 'gate', 'short_cuda_bf16_one_segment')


def rows() -> list[list[str]]:
    table = CARD[CARD.index('| figure |'):].split('\n\n')[0]
    return [[cell.strip() for cell in line.strip('|').split('|')] for line in table.splitlines()]


def test_no_placeholder() -> None:
    assert re.findall(r'\b[A-Z]+_(?:TABLE|FIGURES?|VALUES?)\b|TODO|TBD|\?\?', CARD) == []


def test_the_table_has_every_figure() -> None:
    header, _, *body = rows()
    assert [row[0] for row in body] == list(ROWS)
    for column, title in zip(COLUMNS, header[3:], strict=True):
        assert str(FIGURES[column]['sequences']) in re.findall(r'\d+', title), title


@pytest.mark.parametrize('row', rows()[2:], ids=lambda row: row[0])
def test_figures_are_the_measured_ones(row: list[str]) -> None:
    for column, cell in zip(COLUMNS, row[3:], strict=True):
        digits = len(cell.partition('.')[2])
        # Half a unit of the last digit that the card has.
        assert float(cell) == pytest.approx(FIGURES[column][ROWS[row[0]]],
                                            abs=0.501 * 10**-digits), column


def test_other_pages_say_the_same_of_depth() -> None:
    page = (Path(__file__).resolve().parents[2] / 'docs' / 'checkpoints.md').read_text(
        encoding='utf-8')
    for column in ('short', 'gate'):
        assert f'{100 * FIGURES[column]["depth"]:.1f} %' in page
        assert f'{FIGURES[column]["rotation_8_deg"]:.1f}' in page
