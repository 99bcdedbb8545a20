# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The embedded weights still localise: four held-out worlds through the real session, on a CPU.

What was measured when the weights were made lies beside them. A change of more than a tenth either
way fails: worse, because something broke; better, because the card no longer says what is true.
`python -m training.figures embedded --gate --output gate.json` prints the new figures.
"""

from __future__ import annotations

import json
from pathlib import Path

from lingbot_ros.model import embedded
import numpy as np
import pytest
import torch

pytest.importorskip('evo', reason='evo is not installed (pip install .[evaluate])')

from training.figures import run, Setting, summary
from training.heldout import GATE, SHORT_FRAMES

FIGURES = Path(embedded.__file__).parents[1] / 'weights' / 'figures.json'
WORDS = {'ate_percent': 'ATE after Sim(3), % of the path',
         'rotation_8_deg': 'rotation over 8 frames, degrees',
         'direction_8_deg': 'direction over 8 frames, degrees',
         'depth': 'relative error of depth after scale',
         'fov_deg': 'field of view, degrees'}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope='module')
def measured():
    threads = torch.get_num_threads()
    setting = Setting('embedded', 'cpu', 'fp32', plain=False, changes={})
    results = [run(setting, seed, SHORT_FRAMES, 0) for seed in GATE]
    torch.set_num_threads(threads)
    for result in results:
        print(result)
    return results


def test_every_frame_has_a_pose_that_is_not_lost(measured):
    for result in measured:
        assert result.score.poses == SHORT_FRAMES
        assert result.states.get('lost', 0) == 0, result


def test_the_worlds_are_four_of_different_kinds(measured):
    assert len({result.kind[0] for result in measured}) == len(measured) == 4
    assert all(result.score.path_length > 0.1 for result in measured)


@pytest.mark.parametrize('name', WORDS)
def test_figure_stays(measured, name):
    figures = json.loads(FIGURES.read_text())['gate']
    now, then = summary(measured)[name], figures[name]
    assert np.isfinite(now)
    assert now == pytest.approx(then, rel=0.1), (
        f'{WORDS[name]}: {now:.4g} now, {then:.4g} when the weights were made')
