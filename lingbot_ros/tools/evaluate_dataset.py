# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A network over the sequences of a benchmark: trajectories, figures, and one summary."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass, field, replace
import logging
from pathlib import Path
import signal
import sys
from typing import Any

from lingbot_ros.config import StreamConfig
from lingbot_ros.datasets import LAYOUTS
from lingbot_ros.datasets.base import Cropped, Layout, Sequence
from lingbot_ros.errors import ConfigError, EvaluationError, LingbotError
from lingbot_ros.evaluation.association import associate
from lingbot_ros.evaluation.result import evaluate, Evaluation, Settings
from lingbot_ros.evaluation.track import make_track
from lingbot_ros.model.checkpoint import load_network
from lingbot_ros.model.network import Network
from lingbot_ros.model.recommended import recommended_stream
from lingbot_ros.sources.base import Source
from lingbot_ros.streaming.session import StreamSession
from lingbot_ros.streaming.trajectory import LateFile
from lingbot_ros.tools.evaluate_files import plain, prepare_output, settings_from, write_json
from lingbot_ros.tools.evaluate_html import html_page
from lingbot_ros.tools.evaluate_plot import evaluation_figure, save_figure
from lingbot_ros.tools.evaluate_table import summary_table, summary_values
from lingbot_ros.tools.long_run import header_of, stop_on
from lingbot_ros.tools.plot import RANDOM_WARNING
from lingbot_ros.tools.replay_run import Replay, run_replay, Selection
import numpy as np
from tqdm import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

_log = logging.getLogger(__name__)

# Keyframes the published evaluation keeps at most, by thinning those of longer sequences.
KEPT_FRAMES = 320
# Weights made for this width run at a layout's own width.
_PUBLISHED_WIDTH = 518


@dataclass(frozen=True)
class Plan:
    """
    How each sequence is run.

    Attributes
    ----------
    selection : Selection
        Which of its frames.
    crop : tuple of int or None
        Width to height of the central part that is used; None: all.
    stream : StreamConfig
        Settings; keyframe interval and room are set for each sequence.
    keyframe_interval : int or None
        As asked for; None: frames / `KEPT_FRAMES`, rounded up.
    backend : str
        Of attention.

    """

    selection: Selection
    crop: tuple[int, int] | None
    stream: StreamConfig
    keyframe_interval: int | None
    backend: str


@dataclass
class Outcome:
    """What came of one sequence; `failed` says why there is no evaluation."""

    name: str
    unit: str = 'm'
    keyframe_interval: int = 1
    state: Replay = field(default_factory=Replay)
    evaluation: Evaluation | None = None
    failed: str = ''

    def as_dict(self) -> dict[str, Any]:
        """Return what the JSON file of the sequence holds."""
        rate = self.state.used / self.state.seconds if self.state.seconds else 0.0
        return {
            'sequence': self.name, 'unit': self.unit, 'failed': self.failed or None,
            'frames': {'read': self.state.read, 'used': self.state.used,
                       'refused': self.state.refused},
            'keyframe_interval': self.keyframe_interval, 'keyframes': self.state.keyframes,
            'seconds': round(self.state.seconds, 3), 'frames_per_second': round(rate, 3),
            **({} if self.evaluation is None else self.evaluation.as_dict()),
        }


def interval_for(frames: int) -> int:
    """Return the keyframe interval of the published evaluation for a number of frames."""
    return max(1, -(-frames // KEPT_FRAMES))


def plan_for(args: argparse.Namespace, layout: Layout, network: Network) -> Plan:
    """Return how to run: as asked for, else as the weights were trained and as published."""
    trained = recommended_stream(network)
    if layout.image_width and trained.image_size == _PUBLISHED_WIDTH:
        trained = replace(trained, image_size=layout.image_width)
    given = {'anchor_frames': args.anchors, 'window': args.window,
             'camera_iterations': args.iterations, 'image_size': args.image_size}
    return Plan(
        Selection(stride=args.stride or layout.stride, max_frames=args.max_frames),
        layout.crop if args.crop is None else _crop(args.crop),
        replace(trained, depth=False, max_keyframes=max(trained.max_keyframes, args.anchors or 0),
                **{name: value for name, value in given.items() if value is not None}),
        args.keyframe_interval, args.backend or 'auto')


def _crop(text: str) -> tuple[int, int] | None:
    if text == 'none':
        return None
    try:
        width, height = (int(word) for word in text.split(':'))
        if width < 1 or height < 1:
            raise ValueError
    except ValueError as error:
        raise ConfigError(f"--crop: expected W:H, like 504:280, or none, got '{text}'") from error
    return width, height


def run_sequence(sequence: Sequence, network: Network, plan: Plan, settings: Settings,
                 output: Path, interpolate: bool, should_stop: Any) -> Outcome:
    """
    Stream a sequence and score its trajectory.

    Parameters
    ----------
    sequence : Sequence
        Images and truth.
    network : Network
        With weights.
    plan : Plan
        How it is run.
    settings : Settings
        What is measured.
    output : Path
        The TUM file to write.
    interpolate : bool
        Whether the truth is interpolated at the stamps of the frames.
    should_stop : callable
        Asked before each frame.

    Raises
    ------
    LingbotError
        The settings do not fit the network or its images.

    """
    source: Source = sequence.frames
    if plan.crop:
        source = Cropped(source, *plan.crop)
    selection = plan.selection
    frames = -(-(source.len_hint or 0) // selection.stride)
    frames = min(frames, selection.max_frames or frames)
    interval = plan.keyframe_interval or interval_for(frames)
    anchors = plan.stream.anchor_frames
    config = replace(plan.stream, keyframe_interval=interval,
                     max_keyframes=anchors + -(-max(frames - anchors, 0) // interval))
    outcome = Outcome(sequence.name, sequence.unit, interval)
    session = StreamSession(network, config, plan.backend)
    with LateFile(output, header_of(network)) as file, logging_redirect_tqdm(), tqdm(
            total=frames, unit='frame', desc=sequence.name,
            disable=not sys.stderr.isatty()) as bar:
        outcome.state = run_replay(source, session, file, selection, should_stop,
                                   lambda state: bar.update(state.used - bar.n))
    trajectory = outcome.state.trajectory
    try:
        if outcome.state.stopped:
            raise EvaluationError(f'ended early: {outcome.state.stopped}')
        estimate = make_track('estimate', trajectory.poses, trajectory.stamps_ns)
        outcome.evaluation = evaluate(associate(
            estimate, sequence.truth, sequence.max_difference_s, interpolate=interpolate),
            settings)
    except EvaluationError as error:
        outcome.failed = ' '.join(str(error).split())
    return outcome


def run(args: argparse.Namespace) -> int:
    """Run a benchmark; see `lingbot_ros.tools.evaluate.run`."""
    settings = settings_from(args)
    layout, root = LAYOUTS[args.dataset], Path(args.path)
    names = args.sequence or layout.names(root)
    for name in args.sequence or ():
        layout.load(root, name)  # refuses a wrong name before weights are read
    output = args.output or Path('evaluation')
    files = {'summary': args.json or output / 'summary.json'}
    if args.html:
        files['html'] = args.html
    stems = {name: _stem(name, root) for name in names}
    if root.resolve() in (output.resolve(), *output.resolve().parents):
        raise ConfigError(f'cannot write to {output}: it lies in the dataset; choose another '
                          'place with --output')
    for path in (*files.values(), *(output / f'{stem}.tum' for stem in stems.values())):
        prepare_output(path)
    checkpoint = 'embedded' if args.checkpoint is None else args.checkpoint
    network = load_network(checkpoint, args.device or 'auto', args.dtype or 'auto')
    plan = plan_for(args, layout, network)
    if network.is_random:
        _log.warning('%s', RANDOM_WARNING)
    outcomes: list[Outcome] = []
    with stop_on(signal.SIGINT) as stopped:
        for name, stem in stems.items():
            outcomes.append(_one(layout, root, name, network, plan, settings, output / stem,
                                 args.interpolate, lambda: bool(stopped)))
            if stopped:
                break
    record = _record(args, checkpoint, network, plan, outcomes)
    write_json(files['summary'], record)
    _report(args, files, outcomes, record)
    if stopped:
        return 128 + stopped[0]
    return 1 if any(outcome.failed for outcome in outcomes) else 0


def _stem(name: str, root: Path) -> str:
    """Return a file name for a sequence; the root's where the root is the sequence."""
    return root.resolve().name if name == '.' else name.replace('/', '_')


def _one(layout: Layout, root: Path, name: str, network: Network, plan: Plan, settings: Settings,
         stem: Path, interpolate: bool, should_stop: Any) -> Outcome:
    try:
        sequence = layout.load(root, name)
        _log.info('%s', sequence.frames.describe())
        outcome = run_sequence(sequence, network, plan, settings, stem.with_name(
            f'{stem.name}.tum'), interpolate, should_stop)
    except ConfigError:
        raise  # would be the same for every sequence
    except LingbotError as error:
        outcome = Outcome(name, failed=' '.join(str(error).split()))
    if outcome.failed:
        _log.error('%s: not scored: %s', name, outcome.failed)
    write_json(stem.with_name(f'{stem.name}.json'), outcome.as_dict())
    if outcome.evaluation is not None:
        save_figure(evaluation_figure(outcome.evaluation, name, outcome.unit),
                    stem.with_name(f'{stem.name}.png'))
    return outcome


def _summary(outcomes: list[Outcome]) -> dict[str, dict[str, float]]:
    """Return the rows of the summary: the scored sequences, their mean and their median."""
    rows = {outcome.name: summary_values(outcome.evaluation, outcome.state.used)
            for outcome in outcomes if outcome.evaluation is not None}
    if len(rows) > 1:
        columns = list(next(iter(rows.values())))
        known = {column: np.array([row[column] for row in rows.values()]) for column in columns}
        known = {column: values[~np.isnan(values)] for column, values in known.items()}
        for name, take in (('mean', np.mean), ('median', np.median)):
            rows[name] = {column: float(take(values)) if len(values) else float('nan')
                          for column, values in known.items()}
    return rows


def _record(args: argparse.Namespace, checkpoint: str, network: Network, plan: Plan,
            outcomes: list[Outcome]) -> dict[str, Any]:
    record: dict[str, Any] = plain({
        'version': args.version, 'dataset': args.dataset, 'root': str(args.path),
        'checkpoint': {'path': checkpoint, 'is_random': network.is_random},
        'device': str(network.device), 'dtype': str(network.dtype).removeprefix('torch.'),
        'settings': {**asdict(plan), 'interpolate': args.interpolate},
        'summary': _summary(outcomes)})
    return {**record, 'sequences': [outcome.as_dict() for outcome in outcomes]}


def _report(args: argparse.Namespace, files: dict[str, Path], outcomes: list[Outcome],
            record: dict[str, Any]) -> None:
    rows = _summary(outcomes)
    if args.html:
        args.html.write_text(html_page(
            f'{args.dataset}: {record["checkpoint"]["path"]}',
            [(outcome.name, outcome.evaluation, outcome.unit) for outcome in outcomes
             if outcome.evaluation is not None], record, rows), encoding='utf-8')
    if rows:
        print(summary_table(rows))
    for outcome in outcomes:
        if outcome.failed:
            print(f'{outcome.name}: not scored: {outcome.failed}')
    for what, path in files.items():
        print(f'  {what:<8}{path}')
