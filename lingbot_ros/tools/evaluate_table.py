# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""An evaluation as text: one comparison, or many sequences side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import math

from lingbot_ros.evaluation.result import Evaluation, Statistics

_NAMES = {'sim3': 'Sim(3)', 'se3': 'SE(3)', 'scale': 'scale alone', 'none': 'not aligned'}


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with so many significant digits, '-' for none."""
    return '-' if value is None or not math.isfinite(value) else f'{value:#.{digits}g}'.rstrip('.')


def rows_of(result: Evaluation, unit: str = 'm') -> list[tuple[str, str, Statistics | None]]:
    """
    Return the lines of a comparison that have statistics.

    Returns
    -------
    list of (str, str, Statistics or None)
        What, in which unit, and the numbers.

    """
    rows: list[tuple[str, str, Statistics | None]] = [
        (f'ATE, {_NAMES[kind]}', unit, values) for kind, values in result.ate.items()]
    chosen = _NAMES[result.settings.alignment]
    rows.append((f'rotation, {chosen}', 'deg', result.rotation_deg))
    for one in result.relative:
        rows += [(f'RPE over {one.delta}', unit, one.translation),
                 (f'RPE over {one.delta}', 'deg', one.rotation_deg)]
    lag = result.settings.lag
    return [*rows, (f'rotation over {lag} f', 'deg', result.lag_rotation_deg),
            (f'direction over {lag} f', 'deg', result.lag_direction_deg)]


def facts_of(result: Evaluation, unit: str = 'm') -> list[tuple[str, str]]:
    """Return the other lines of a comparison: name and text."""
    matched, score = result.matched, result.score
    by = 'frame numbers' if matched.seconds is None else (
        f'stamps, at most {number(1e3 * matched.largest_difference_s, 3)} ms apart')
    facts = [
        ('poses', f'{score.poses} matched by {by}; {matched.estimates} estimated, '
                  f'{matched.truths} true'
                  + (f', {matched.repeated} repeated and left out' if matched.repeated else '')),
        ('path of the truth', f'{number(score.path_length)} {unit}'),
        ('scale', f"{number(score.scale, 6)} of the truth's units in one of the estimate's"),
        ('drift', f'ATE {number(score.ate_percent)} % of the path, end '
                  f'{number(score.end_percent)} %, after Sim(3)'),
    ]
    if result.drift is None:
        shortest = min(result.settings.segments, default=math.nan)
        text = f'none: the path is not longer than {shortest:g} {unit}'
    else:
        text = (f'{number(result.drift.translation_percent)} %, '
                f'{number(result.drift.rotation_deg_per_100)} deg per 100 {unit}, mean of '
                f'{result.drift.segments} segments of '
                + ', '.join(f'{length:g}' for length in result.drift_by_length) + f' {unit}')
    facts.append(('drift, segments', text))
    for name, baseline in result.baselines.items():
        facts.append((name, f'ATE {number(baseline.ate_sim3)} {unit}, '
                            f'{number(baseline.ate_percent)} % of the path; rotation over 8 f '
                            f'{number(baseline.rotation_8_deg)} deg, direction '
                            f'{number(baseline.direction_8_deg)} deg (medians)'))
    return facts


def comparison_table(result: Evaluation, unit: str = 'm') -> str:
    """Return one comparison as lines of text."""
    lines = [f'{name:<20}{text}' for name, text in facts_of(result, unit)]
    header = ('', '', 'rmse', 'mean', 'median', 'max', 'count')
    table = [header, *((what, unit, *(cells_of(values)))
                       for what, unit, values in rows_of(result, unit))]
    return '\n'.join([*lines, '', *aligned(table)])


def cells_of(values: Statistics | None) -> tuple[str, ...]:
    """Return rmse, mean, median, maximum and count as text."""
    if values is None:
        return ('-', '-', '-', '-', '0')
    return (*(number(value) for value in (values.rmse, values.mean, values.median, values.max)),
            str(values.count))


def aligned(table: Sequence[Sequence[str]], left: int = 2) -> Iterable[str]:
    """Return lines of columns as wide as their widest cell; the first `left` begin left."""
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        cells = [cell.ljust(width) if column < left else cell.rjust(width)
                 for column, (cell, width) in enumerate(zip(row, widths, strict=True))]
        yield '  '.join(cells).rstrip()


SUMMARY_COLUMNS = ('frames', 'scored', 'path', 'ATE', 'ATE %', 'RPE t', 'RPE r', 'rot 8',
                   'dir 8')
BASELINE_COLUMNS = {'standing still': 'still %', 'constant velocity': 'const v %'}


def summary_values(result: Evaluation, frames: int) -> dict[str, float]:
    """
    Return the figures of one sequence for the summary of many.

    Returns
    -------
    dict of str to float
        By column of `SUMMARY_COLUMNS` (ATE: Sim(3) rmse; RPE: over one frame, rmse, in the
        truth's unit and degrees; rot and dir: medians over 8 frames, degrees), and of
        `BASELINE_COLUMNS` where baselines were scored.

    """
    score = result.score
    one = next((one for one in result.relative
                if one.delta.unit == 'frames' and one.delta.value == 1), None)
    values = [frames, score.poses, score.path_length, score.ate_sim3, score.ate_percent,
              one.translation.rmse if one and one.translation else math.nan,
              one.rotation_deg.rmse if one and one.rotation_deg else math.nan,
              score.rotation_8_deg, score.direction_8_deg]
    return {**dict(zip(SUMMARY_COLUMNS, values, strict=True)),
            **{BASELINE_COLUMNS[name]: baseline.ate_percent
               for name, baseline in result.baselines.items()}}


def summary_table(rows: dict[str, dict[str, float]]) -> str:
    """Return sequences side by side; whole numbers where frames are counted."""
    columns = list(next(iter(rows.values())))
    table = [('', *columns)]
    for name, values in rows.items():
        cells = [number(values[column], 5 if values[column] >= 1e4 else 4)
                 if column not in ('frames', 'scored') else f'{values[column]:.0f}'
                 for column in columns]
        table.append((name, *cells))
    return '\n'.join(aligned(table, 1))
