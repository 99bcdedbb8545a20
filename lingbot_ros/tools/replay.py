# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
`lingbot_ros replay`: a recording through the network, every frame in order, without ROS.

Writes a trajectory (TUM, line by line while it runs), a plot and a JSON summary.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
import json
import logging
import math
from pathlib import Path
import resource
import signal
import sys
from typing import Any

from lingbot_ros.config import StreamConfig
from lingbot_ros.errors import ConfigError, LingbotError
from lingbot_ros.model.checkpoint import load_network
from lingbot_ros.model.recommended import believable, recommended_stream
from lingbot_ros.sources import open_source
from lingbot_ros.sources.base import Source
from lingbot_ros.stream_parts import AnchorConfig, KeyframeConfig
from lingbot_ros.streaming.session import StreamSession
from lingbot_ros.streaming.trajectory import LateFile, write_kitti
from lingbot_ros.tools.long_run import header_of, make_writable, stop_on
from lingbot_ros.tools.plot import PLOT_SUFFIXES, plot_trajectory, RANDOM_WARNING
from lingbot_ros.tools.replay_run import Replay, run_replay, Selection
import psutil
import torch
from tqdm import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

_log = logging.getLogger(__name__)


def _at_least(low: int, kind: type = int) -> Any:
    def convert(text: str) -> Any:
        value = kind(text)
        if not low <= value < math.inf:
            raise ValueError
        return value
    convert.__name__ = f'{"integer" if kind is int else "number"} >= {low}'
    return convert


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `lingbot_ros replay`."""
    count, seconds = _at_least(1), _at_least(0, float)
    parser.add_argument('input', metavar='BAG_OR_FOLDER_OR_VIDEO',
                        help='rosbag2 folder, .db3, .mcap, ROS 1 .bag, folder of pictures, video')
    parser.add_argument('--checkpoint', default='embedded', metavar='PATH',
                        help="weights: 'embedded' (default) for the small network in the package, "
                        "a .pt or .safetensors file, or 'random' for poses that mean nothing")
    group = parser.add_argument_group('what is read')
    group.add_argument('--topic', help='image topic of a bag; needed when it has several')
    group.add_argument('--fps', type=float,
                       help='stamps of pictures and videos, frames a second (default: '
                       'timestamps.txt or what the video says, else 30)')
    group.add_argument('--stride', type=count, default=1, metavar='N',
                       help='use every N-th frame (default 1)')
    group.add_argument('--start', type=seconds, default=0.0, metavar='SECONDS',
                       help='begin this long after the first frame')
    group.add_argument('--duration', type=seconds, metavar='SECONDS',
                       help='end this long after --start')
    group.add_argument('--max-frames', type=count, metavar='N', help='use at most N frames')
    group = parser.add_argument_group('what is written')
    group.add_argument('--output', type=Path, default=Path('trajectory.tum'), metavar='FILE',
                       help='TUM trajectory (default trajectory.tum)')
    group.add_argument('--kitti', type=Path, metavar='FILE', help='also the poses in KITTI form')
    group.add_argument('--plot', type=Path, metavar='FILE.png',
                       help='plot (default: beside the output)')
    group.add_argument('--summary', type=Path, metavar='FILE.json',
                       help='summary (default: beside the output)')
    group = parser.add_argument_group(
        'how the network is run', 'What is not given is as the weights were trained for.')
    for name, text in (
            ('window', 'keyframes after the anchors that are kept whole'),
            ('anchors', 'first frames, which fix origin and scale'),
            ('keyframe-interval', 'keep every N-th frame'),
            ('iterations', 'refinements of each pose'),
            ('image-size', 'width of the processed image, pixels')):
        group.add_argument(f'--{name}', type=count, metavar='N', help=text)
    group.add_argument('--keyframe-policy', choices=('auto', 'motion', 'interval'),
                       help='which frames are kept (default: as trained, or auto; interval where '
                       '--keyframe-interval is given)')
    for name, text in (
            ('segment-keyframes', 'kept frames after which a new cache takes over'),
            ('overlap-keyframes', 'last keyframes that the new cache begins with'),
            ('lost-frames', 'lost frames in a row before the stream starts anew')):
        group.add_argument(f'--{name}', type=count, metavar='N', help=text)
    group.add_argument('--reference', action='store_true',
                       help='one cache, anchors together, keyframes by interval, as the '
                       'reference runs; nothing is judged')
    group.add_argument('--max-keyframes', type=count, metavar='N',
                       help='with --reference, room for kept frames (default: what the recording '
                       f'needs where its length is known, else {StreamConfig().max_keyframes})')
    group.add_argument('--device', default='auto', help='auto, cpu, cuda, cuda:N')
    group.add_argument('--dtype', default='auto', help='auto, fp32, bf16, fp16')
    group.add_argument('--backend', default='auto',
                       help='auto, sdpa, flashinfer, flashinfer_fa2, flashinfer_fa3')


def room_for(source: Source, selection: Selection, anchors: int, interval: int) -> int | None:
    """
    Return the keyframes that a source can lead to, so that no recording runs out of room.

    Returns
    -------
    int or None
        None when the source does not know its length.

    """
    if source.len_hint is None:
        return None
    # Video containers may understate their length by a few frames.
    frames = -(-(source.len_hint + 8) // selection.stride)
    if selection.max_frames is not None:
        frames = min(frames, selection.max_frames)
    return anchors + -(-max(frames - anchors, 0) // interval)


def _stream_config(args: argparse.Namespace, source: Source, selection: Selection,
                   trained: StreamConfig) -> StreamConfig:
    given = {'anchor_frames': args.anchors, 'window': args.window,
             'keyframe_interval': args.keyframe_interval, 'camera_iterations': args.iterations,
             'image_size': args.image_size}
    config = replace(trained, depth=False, **_given(given))
    if not args.reference:
        if args.max_keyframes:
            raise ConfigError('--max-keyframes is for --reference; without it use '
                              '--segment-keyframes')
        return _endless(args, config)
    if any((args.keyframe_policy, args.segment_keyframes, args.overlap_keyframes,
            args.lost_frames)):
        raise ConfigError('--keyframe-policy, --segment-keyframes, --overlap-keyframes and '
                          '--lost-frames are not for --reference; leave them out')
    room = args.max_keyframes or room_for(
        source, selection, config.anchor_frames, config.keyframe_interval)
    return replace(config, anchors=AnchorConfig(), keyframes=KeyframeConfig(), segments=None,
                   tracking=None, max_keyframes=room or config.max_keyframes)


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _endless(args: argparse.Namespace, config: StreamConfig) -> StreamConfig:
    config = config.without_end()
    assert config.segments is not None and config.tracking is not None
    policy = args.keyframe_policy or ('interval' if args.keyframe_interval else None)
    return replace(
        config, keyframes=replace(config.keyframes, **_given({'policy': policy})),
        segments=replace(config.segments, **_given({
            'keyframes': args.segment_keyframes, 'overlap': args.overlap_keyframes})),
        tracking=replace(config.tracking, **_given({'lost_frames': args.lost_frames})))


def _output_files(args: argparse.Namespace) -> dict[str, Path]:
    """Return the files to write, refusing early what would fail after hours."""
    if not args.output.name:
        raise ConfigError(f'--output must name a file, got {args.output}')
    files = {'tum': args.output, 'plot': args.plot or args.output.with_suffix('.png'),
             'summary': args.summary or args.output.with_suffix('.json')}
    if args.kitti:
        files['kitti'] = args.kitti
    if len(set(files.values())) < len(files):
        raise ConfigError('output files must differ, got '
                          + ', '.join(f'{what} {path}' for what, path in files.items()))
    if files['plot'].suffix not in PLOT_SUFFIXES:
        raise ConfigError(f'--plot must end in one of {", ".join(PLOT_SUFFIXES)}, '
                          f'got {files["plot"]}')
    source = Path(args.input).resolve()
    for path in files.values():
        # Not over a recording's file, nor among its files: a plot would be the next run's picture.
        if not path.is_dir() and source in (path.resolve(), *path.resolve().parents):
            raise ConfigError(f'cannot write {path}: it lies in the recording; choose another '
                              'place')
        make_writable(path)
    return files


def _memory(device: torch.device) -> str:
    text = f'{psutil.Process().memory_info().rss / 1e9:.1f} GB'
    if device.type == 'cuda':
        text += f', cuda {torch.cuda.memory_allocated(device) / 1e9:.1f} GB'
    return text


def _peak_bytes(device: torch.device) -> dict[str, int]:
    # Linux counts in KiB, macOS in bytes.
    unit = 1 if sys.platform == 'darwin' else 1024
    peak = {'host': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit}
    if device.type == 'cuda':
        peak['cuda'] = torch.cuda.max_memory_allocated(device)
    return peak


def run(args: argparse.Namespace) -> int:
    """
    Replay a recording.

    Returns
    -------
    int
        0 done; 1 no pose was produced; 128 + signal number when interrupted.

    Raises
    ------
    LingbotError
        Something is refused; the message is one line.

    """
    selection = Selection(args.stride, args.start, args.duration, args.max_frames)
    with open_source(args.input, args.topic, args.fps) as source:
        _log.info('%s', source.describe())
        files = _output_files(args)
        network = load_network(args.checkpoint, args.device, args.dtype)
        config = believable(
            network, _stream_config(args, source, selection, recommended_stream(network)))
        session = StreamSession(network, config, args.backend)
        with LateFile(files['tum'], header_of(network)) as output, \
                stop_on(signal.SIGINT, signal.SIGTERM) as signals, logging_redirect_tqdm(), \
                tqdm(total=source.len_hint, unit='frame', disable=not sys.stderr.isatty()) as bar:

            def on_frame(state: Replay) -> None:
                bar.set_postfix_str(_memory(network.device), refresh=False)
                bar.update(state.read - bar.n)

            state = run_replay(source, session, output, selection, lambda: bool(signals),
                               on_frame)
    _write_reports(args, files, source, session, state)
    if state.interrupted:
        return 128 + signals[0]
    if state.stopped:
        raise LingbotError(f'ended early, {len(state.trajectory)} poses kept: {state.stopped}')
    if not len(state.trajectory):
        hint = '' if state.used else '; --start is beyond the last frame, or --duration is 0'
        print(f'lingbot_ros: error: no pose was produced: {state.read} frames read, {state.used} '
              f'used, {state.refused} refused{hint}', file=sys.stderr)
        return 1
    return 0


def _write_reports(args: argparse.Namespace, files: dict[str, Path], source: Source,
                   session: StreamSession, state: Replay) -> None:
    trajectory, network, config = state.trajectory, session.network, session.config
    if args.kitti:
        write_kitti(args.kitti, trajectory)
    warning = RANDOM_WARNING if network.is_random else ''
    if len(trajectory):
        plot_trajectory(files['plot'], trajectory, Path(args.input).name + (
            f' {source.topic}' if source.topic else ''), warning)
    else:
        del files['plot'], files['tum']
    rate = state.used / state.seconds if state.seconds else 0.0
    summary = {
        'version': args.version,
        'input': str(args.input),
        'topic': source.topic,
        'poses': len(trajectory),
        'frames': {'read': state.read, 'used': state.used, 'undecodable': source.dropped,
                   'refused': state.refused, 'lost': state.lost},
        'keyframes': state.keyframes,
        'session': session.snapshot().to_json(),
        'interrupted': state.interrupted,
        'ended_early': state.stopped or source.incomplete,
        'path_length_scene_units': trajectory.path_length,
        'checkpoint': {'path': str(args.checkpoint), 'is_random': network.is_random},
        'device': str(network.device),
        'dtype': str(network.dtype).removeprefix('torch.'),
        'backend': session.backend_name,
        'settings': {**asdict(config), 'stride': args.stride, 'start_s': args.start,
                     'duration_s': args.duration, 'max_frames': args.max_frames, 'fps': args.fps},
        'seconds': round(state.seconds, 3),
        'frames_per_second': round(rate, 3),
        'peak_memory_bytes': _peak_bytes(network.device),
        'files': {what: str(path) for what, path in files.items()},
    }
    files['summary'].write_text(json.dumps(summary, indent=2) + '\n')
    print(f'{len(trajectory)} poses from {state.used} frames in {state.seconds:.1f} s '
          f'({rate:.1f} a second){f", {state.lost} lost" if state.lost else ""}'
          f'{", interrupted" if state.interrupted else ""}'
          f'{"; " + warning if warning else ""}')
    for what, path in files.items():
        print(f'  {what:<8}{path}')
