# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A picture of a trajectory: from above, and its height over time. No display needed."""

from __future__ import annotations

from pathlib import Path

from lingbot_ros.streaming.trajectory import Trajectory
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

PLOT_SUFFIXES = ('.png', '.svg', '.pdf')
RANDOM_WARNING = 'RANDOM WEIGHTS: these poses mean nothing'


def plot_trajectory(path: Path, trajectory: Trajectory, title: str, warning: str = '') -> None:
    """
    Write a plot of a trajectory.

    Parameters
    ----------
    path : Path
        Picture file; the suffix chooses the format (.png, .svg, .pdf).
    trajectory : Trajectory
        At least one pose, camera to world, optical axes (x right, y down, z forward).
    title : str
        What was replayed.
    warning : str
        Shown in red above the title when not empty.

    """
    x, y, z = trajectory.positions.T
    seconds = (trajectory.stamps_ns - trajectory.stamps_ns[0]) / 1e9
    figure = Figure(figsize=(11, 6), layout='constrained')
    FigureCanvasAgg(figure)
    above, side = figure.subplots(1, 2, width_ratios=(3, 2))
    line = '.-' if len(trajectory) < 200 else '-'
    above.plot(x, z, line, color='tab:blue', linewidth=1.5, markersize=4)
    above.plot(x[0], z[0], 'o', color='tab:green', markersize=9, label='start')
    above.plot(x[-1], z[-1], 's', color='tab:red', markersize=9, label='end')
    above.set(title='from above', xlabel='x, right (scene units)',
              ylabel='z, forward (scene units)')
    above.set_aspect('equal', adjustable='datalim')
    above.legend()
    side.plot(seconds, -y, line, color='tab:blue', linewidth=1.5, markersize=4)
    # At least a tenth of the extent from above, so that the noise of a level path looks small.
    half = max(0.1 * max(x.max() - x.min(), z.max() - z.min()), y.max() - y.min(), 1e-6) * 0.6
    middle = -(y.max() + y.min()) / 2
    side.set(title='height over time', xlabel='time (s)', ylabel='-y, up (scene units)',
             ylim=(middle - half, middle + half))
    for axes in (above, side):
        axes.grid(alpha=0.3)
    summary = f'{len(trajectory)} poses, path length {trajectory.path_length:.3g} scene units'
    figure.suptitle('\n'.join(filter(None, [warning, title, summary])),
                    color='tab:red' if warning else 'black', fontsize=11)
    figure.savefig(path, dpi=110)
