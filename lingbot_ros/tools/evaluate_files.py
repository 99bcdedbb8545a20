# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One trajectory file against another, and what both modes of `lingbot_ros evaluate` share."""

from __future__ import annotations

import argparse
from dataclasses import replace
import json
import logging
import math
from pathlib import Path
from typing import Any

from lingbot_ros.errors import ConfigError
from lingbot_ros.evaluation.association import associate, Matched, MAX_DIFFERENCE_S
from lingbot_ros.evaluation.files import read_times, read_track
from lingbot_ros.evaluation.relative import Delta
from lingbot_ros.evaluation.result import evaluate, Settings
from lingbot_ros.tools.evaluate_html import html_page
from lingbot_ros.tools.evaluate_plot import evaluation_figure, save_figure
from lingbot_ros.tools.evaluate_table import comparison_table
from lingbot_ros.tools.long_run import make_writable
from lingbot_ros.tools.plot import PLOT_SUFFIXES

_log = logging.getLogger(__name__)

# Fewer matches than this part of the shorter trajectory are worth a word.
_FEW = 0.5


def settings_from(args: argparse.Namespace) -> Settings:
    """
    Return what is to be measured.

    Raises
    ------
    ConfigError
        A list holds something else than expected.

    """
    deltas = tuple(dict.fromkeys(Delta.parse(item) for item in _items(args.rpe)))
    try:
        segments = tuple(float(item) for item in _items(args.segments))
    except ValueError as error:
        raise ConfigError('--segments: expected lengths separated by commas, got '
                          f'{args.segments!r}') from error
    return Settings(
        alignment=args.align, deltas=deltas, all_pairs=not args.consecutive,
        pairs_from=args.pairs_from, segments=segments, segment_step=args.segment_step,
        lag=args.lag, baselines=args.baselines)


def _items(text: str) -> list[str]:
    return [item for item in text.split(',') if item.strip()]


def prepare_output(path: Path, inputs: tuple[Path, ...] = ()) -> None:
    """
    Make the folder of a file to write, refusing early what would fail after hours.

    Raises
    ------
    ConfigError
        The path is a folder, protected, or one of the inputs.

    """
    make_writable(path)
    if path.resolve() in [one.resolve() for one in inputs]:
        raise ConfigError(f'cannot write {path}: it is an input; choose another place')


def write_json(path: Path, record: Any) -> None:
    """Write a record that holds no NaN."""
    path.write_text(json.dumps(record, indent=2, allow_nan=False) + '\n', encoding='utf-8')


def plain(value: Any) -> Any:
    """Return settings as JSON takes them: paths and deltas as text."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def _match(args: argparse.Namespace) -> Matched:
    estimate = read_track(args.path, args.format or 'auto')
    truth = read_track(args.truth, args.truth_format or 'auto')
    limits = (args.max_difference or MAX_DIFFERENCE_S, args.offset or 0.0, args.interpolate)
    if args.times is None:
        return associate(estimate, truth, *limits)
    times = read_times(args.times)
    if estimate.numbers is None and truth.numbers is None:
        raise ConfigError('--times is for KITTI files, and neither file is one; leave it out')
    if estimate.numbers is not None and truth.numbers is not None:
        # Numbers are surer than stamps; these then only say how much time has passed.
        stamps = truth.stamped(times).stamps_ns
        matched = associate(estimate, truth)
        assert stamps is not None and matched.numbers is not None
        return replace(matched, seconds=(times[matched.numbers] - stamps[0]) / 1e9)
    if estimate.numbers is not None:
        return associate(estimate.stamped(times), truth, *limits)
    return associate(estimate, truth.stamped(times), *limits)


def run(args: argparse.Namespace) -> int:
    """Compare one file with another; see `lingbot_ros.tools.evaluate.run`."""
    settings = settings_from(args)
    inputs = tuple(path for path in (Path(args.path), args.truth, args.times) if path)
    written = {'json': args.json, 'plot': args.plot, 'html': args.html}
    files = {what: path for what, path in written.items() if path is not None}
    if len({path.resolve() for path in files.values()}) < len(files):
        raise ConfigError('output files must differ, got '
                          + ', '.join(f'{what} {path}' for what, path in files.items()))
    if args.plot and args.plot.suffix not in PLOT_SUFFIXES:
        raise ConfigError(f'--plot must end in one of {", ".join(PLOT_SUFFIXES)}, got {args.plot}')
    for path in files.values():
        prepare_output(path, inputs)
    matched = _match(args)
    possible = min(matched.estimates, matched.truths)
    if len(matched.truth) < _FEW * possible:
        _log.warning('only %d of %d poses have a partner in the other file; the figures say '
                     'nothing of the rest', len(matched.truth), possible)
    result = evaluate(matched, settings)
    title = f'{Path(args.path).name} against {args.truth.name}'
    record = {'version': args.version, 'estimate': str(args.path), 'truth': str(args.truth),
              'max_difference_s': args.max_difference or MAX_DIFFERENCE_S,
              'offset_s': args.offset or 0.0, 'interpolate': args.interpolate,
              **result.as_dict()}
    print(comparison_table(result))
    if args.json:
        write_json(args.json, record)
    if args.plot:
        save_figure(evaluation_figure(result, title), args.plot)
    if args.html:
        args.html.write_text(html_page(title, [(title, result, 'm')], record), encoding='utf-8')
    for what, path in files.items():
        print(f'  {what:<8}{path}')
    return 0
