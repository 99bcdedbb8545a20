# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A picture of an evaluation: both trajectories from two sides, and the errors over time."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from lingbot_ros.errors import ConfigError
from lingbot_ros.evaluation.result import Evaluation
from lingbot_ros.tools.plot import PLOT_SUFFIXES
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
import numpy as np

_ALIGNED = {'sim3': 'aligned by Sim(3)', 'se3': 'aligned by SE(3)', 'scale': 'scaled',
            'none': 'not aligned'}


def evaluation_figure(result: Evaluation, title: str, unit: str = 'm') -> Figure:
    """
    Draw an evaluation.

    The view from above shows the two axes along which the truth extends most; the one from the
    side the first of these and the third.

    Parameters
    ----------
    result : Evaluation
        What was measured.
    title : str
        What was compared.
    unit : str
        Of the truth's lengths.

    Returns
    -------
    Figure
        Four plots.

    """
    truth, estimate = result.matched.truth[:, :3, 3], result.aligned[:, :3, 3]
    order = np.argsort(-np.ptp(truth, axis=0), kind='stable')
    first, second, third = sorted(int(axis) for axis in order[:2]) + [int(order[2])]
    figure = Figure(figsize=(12, 8), layout='constrained')
    FigureCanvasAgg(figure)
    above, side, distance, turn = figure.subplots(2, 2, height_ratios=(3, 2)).ravel()
    for axes, vertical, name in ((above, second, 'along both main axes'),
                                 (side, third, 'from the side')):
        axes.plot(truth[:, first], truth[:, vertical], color='0.55', linewidth=2.5,
                  label='truth')
        axes.plot(estimate[:, first], estimate[:, vertical], color='tab:blue', linewidth=1.2,
                  label=f'estimate, {_ALIGNED[result.settings.alignment]}')
        axes.plot(*truth[0, [first, vertical]], 'o', color='tab:green', label='start')
        axes.set(title=name, xlabel=f'{"xyz"[first]} ({unit})',
                 ylabel=f'{"xyz"[vertical]} ({unit})')
        axes.set_aspect('equal', adjustable='datalim')
    above.legend(fontsize=9)
    stamped = result.matched.seconds is not None
    along = result.matched.seconds if stamped else result.matched.numbers
    label = 'time (s)' if stamped else 'frame'
    _errors(distance, along, result.distances, label, f'distance ({unit})')
    _errors(turn, along, result.turns_deg, label, 'rotation (deg)')
    for axes in (above, side, distance, turn):
        axes.grid(alpha=0.3)
    score = result.score
    figure.suptitle(f'{title}\n{score.poses} poses, path {score.path_length:.4g} {unit}, ATE '
                    f'{score.ate_sim3:.4g} {unit} ({score.ate_percent:.3g} % of the path) after '
                    'Sim(3)', fontsize=11)
    return figure


def _errors(axes: Any, along: Any, errors: Any, label: str, name: str) -> None:
    axes.plot(along, errors, color='tab:red', linewidth=1)
    axes.axhline(float(np.median(errors)), color='0.4', linewidth=1, linestyle='--',
                 label='median')
    axes.set(xlabel=label, ylabel=name, title=f'error: {name}')
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=9)


def save_figure(figure: Figure, path: Path) -> None:
    """
    Write a figure; the suffix chooses the format.

    Raises
    ------
    ConfigError
        Another suffix than .png, .svg or .pdf.

    """
    if path.suffix not in PLOT_SUFFIXES:
        raise ConfigError(f'a plot must end in one of {", ".join(PLOT_SUFFIXES)}, got {path}')
    figure.savefig(path, dpi=110)


def figure_png(figure: Figure) -> bytes:
    """Return a figure as the bytes of a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format='png', dpi=110)
    return buffer.getvalue()
