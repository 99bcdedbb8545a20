# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""An evaluation as one HTML file that needs nothing beside it: no script, no style, no net."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
import json
from typing import Any

from lingbot_ros.evaluation.result import Evaluation
from lingbot_ros.tools.evaluate_plot import evaluation_figure, figure_png
from lingbot_ros.tools.evaluate_table import cells_of, facts_of, number, rows_of

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 }
td, th { padding: .2rem .8rem; border-bottom: 1px solid #ddd; text-align: left }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
img { max-width: 100% }
pre { background: #f5f5f5; padding: 1rem; overflow: auto }
"""


def html_page(title: str, sections: Sequence[tuple[str, Evaluation, str]], record: Any,
              summary: dict[str, dict[str, float]] | None = None) -> str:
    """
    Return the page.

    Parameters
    ----------
    title : str
        What was evaluated.
    sections : sequence of (str, Evaluation, str)
        Name, figures and unit of each comparison.
    record : object
        What the JSON file holds; shown at the end.
    summary : dict, optional
        Rows of the summary of many, by name.

    Returns
    -------
    str
        A whole HTML document with its pictures inside.

    """
    body = [f'<h1>{escape(title)}</h1>']
    if summary:
        columns = list(next(iter(summary.values())))
        body.append(_table(['', *columns], [
            [name, *(f'{values[column]:.0f}' if column in ('frames', 'scored')
                     else number(values[column]) for column in columns)]
            for name, values in summary.items()], 1))
    for name, result, unit in sections:
        body.append(f'<h2>{escape(name)}</h2>')
        body.append(_table(['', ''], [list(fact) for fact in facts_of(result, unit)], 2))
        picture = base64.b64encode(figure_png(evaluation_figure(result, name, unit))).decode()
        body.append(f'<img alt="trajectories and errors of {escape(name, quote=True)}" '
                    f'src="data:image/png;base64,{picture}">')
        body.append(_table(['', 'unit', 'rmse', 'mean', 'median', 'max', 'count'], [
            [what, of, *cells_of(values)] for what, of, values in rows_of(result, unit)], 2))
    body.append('<details><summary>All figures (JSON)</summary><pre>'
                f'{escape(json.dumps(record, indent=2))}</pre></details>')
    return ('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n'
            + '\n'.join(body) + '\n</body>\n</html>\n')


def _table(header: list[str], rows: list[list[str]], left: int) -> str:
    def line(cells: list[str], tag: str) -> str:
        return '<tr>' + ''.join(
            f'<{tag}{"" if at < left else " class=n"}>{escape(cell)}</{tag}>'
            for at, cell in enumerate(cells)) + '</tr>'
    head = line(header, 'th') if any(header) else ''
    return f'<table>{head}{"".join(line(row, "td") for row in rows)}</table>'
