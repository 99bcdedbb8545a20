# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Draw the curves of a training: python -m training.curves CSV PNG."""

from __future__ import annotations

import csv
from pathlib import Path
import sys

from matplotlib.figure import Figure

#: Panels: title, columns, whether the axis is logarithmic.
PANELS = (
    ('pose loss', ('pose',), False),
    ('auxiliary losses', ('match', 'flow', 'point'), True),
    ('median error over 1 frame, degrees', ('direction_1_deg', 'rotation_1_deg'), True),
    ('median error of depth; of translation over 1 frame, of the motion',
     ('depth_error', 'translation_1'), True),
)


def main() -> int:
    """Run from the command line."""
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    source, output = map(Path, sys.argv[1:])
    with source.open(encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    figure = Figure(figsize=(10, 6), layout='constrained')
    for axes, (title, columns, logarithmic) in zip(
            figure.subplots(2, 2).flat, PANELS, strict=True):
        for column in columns:
            known = [(float(row['step']), float(row[column])) for row in rows if row[column]]
            axes.plot(*zip(*known, strict=True), marker='.', label=column)
        axes.set_title(title, fontsize=9)
        axes.set_xlabel('step')
        if logarithmic:
            axes.set_yscale('log')
        axes.legend(fontsize=8)
    figure.savefig(output, dpi=110)
    return 0


if __name__ == '__main__':
    sys.exit(main())
