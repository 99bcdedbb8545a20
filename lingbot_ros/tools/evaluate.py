# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
`lingbot_ros evaluate`: a trajectory against truth, or a network over a benchmark.

Knows the options; what needs evo or torch is imported when it is run, so that help needs neither.
"""

from __future__ import annotations

import argparse
import importlib
import math
from pathlib import Path
from typing import Any

from lingbot_ros.errors import ConfigError

# With --dataset only, and without it only: the names as argparse stores them.
_OF_DATASETS = ('sequence', 'checkpoint', 'output', 'stride', 'max_frames', 'anchors', 'window',
                'keyframe_interval', 'iterations', 'image_size', 'crop', 'device', 'dtype',
                'backend')
_OF_FILES = ('truth', 'format', 'truth_format', 'times', 'max_difference', 'offset', 'plot')


def _above(low: float, kind: type, allowed: bool) -> Any:
    def convert(text: str) -> Any:
        value = kind(text)
        if not (low <= value if allowed else low < value) or value == math.inf:
            raise ValueError
        return value
    convert.__name__ = (f'{"integer" if kind is int else "number"} '
                        f'{">=" if allowed else ">"} {low:g}')
    return convert


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return value


_finite.__name__ = 'finite number'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `lingbot_ros evaluate`."""
    count, positive = _above(1, int, True), _above(0, float, False)
    parser.add_argument('path', metavar='ESTIMATE_OR_ROOT',
                        help='trajectory file; with --dataset the folder of the dataset')
    group = parser.add_argument_group('a trajectory file')
    group.add_argument('--truth', type=Path, metavar='FILE', help='the true trajectory')
    formats = ('auto', 'tum', 'kitti', 'euroc')
    group.add_argument('--format', choices=formats, help='of the estimate (default auto)')
    group.add_argument('--truth-format', choices=formats, help='of the truth (default auto)')
    group.add_argument('--times', type=Path, metavar='FILE',
                       help='stamps of the frames of KITTI files, seconds, one a line (times.txt)')
    group.add_argument('--max-difference', type=positive, metavar='SECONDS',
                       help='largest difference of matching stamps (default 0.01)')
    group.add_argument('--offset', type=_finite, metavar='SECONDS',
                       help='added to the stamps of the estimate (default 0)')
    group.add_argument('--plot', type=Path, metavar='FILE.png', help='also .svg, .pdf')
    group = parser.add_argument_group('what is measured')
    group.add_argument('--align', choices=('sim3', 'se3', 'scale', 'none'), default='sim3',
                       help='fit for relative errors, segments and plots (default sim3); ATE is '
                       'given for sim3 and se3 in any case')
    group.add_argument('--rpe', default='1f,8f,10m,1s', metavar='LIST',
                       help='relative errors over frames, metres, seconds (default 1f,8f,10m,1s)')
    group.add_argument('--consecutive', action='store_true',
                       help='relative errors of pairs that follow each other, not of all pairs')
    group.add_argument('--pairs-from', choices=('truth', 'estimate'), default='truth',
                       help='whose path counts metres (default truth)')
    group.add_argument('--segments', metavar='LIST', default='100,200,300,400,500,600,700,800',
                       help="lengths of drift segments, metres (default KITTI's, 100 to 800)")
    group.add_argument('--segment-step', type=count, default=10, metavar='N',
                       help='a segment begins at every N-th frame (default 10)')
    group.add_argument('--lag', type=count, default=8, metavar='N',
                       help='frames over which rotation and direction are compared (default 8)')
    group.add_argument('--interpolate', action='store_true',
                       help='interpolate between poses instead of taking the nearest')
    group.add_argument('--baselines', action='store_true',
                       help='score standing still and the best constant-velocity path too')
    group = parser.add_argument_group('what is written')
    group.add_argument('--json', type=Path, metavar='FILE', help='all figures')
    group.add_argument('--html', type=Path, metavar='FILE', help='tables and plots in one file')
    _add_dataset_arguments(parser, count)


def _add_dataset_arguments(parser: argparse.ArgumentParser, count: Any) -> None:
    group = parser.add_argument_group(
        'a network over a benchmark', 'What is not given is as the weights were trained for.')
    group.add_argument('--dataset', choices=('tum', 'kitti', '7scenes', 'euroc', 'oxford_spires',
                                             'tanks', 'folder'), help='how the folder is laid out')
    group.add_argument('--sequence', action='append', metavar='NAME',
                       help='only this one; may be repeated (default: all with truth)')
    group.add_argument('--checkpoint', metavar='PATH',
                       help="weights: 'embedded' (default) for the small network in the package, "
                       "a .pt or .safetensors file, or 'random' for poses that mean nothing")
    group.add_argument('--output', type=Path, metavar='FOLDER',
                       help='trajectory, figures and plot of each sequence, and summary.json '
                       '(default evaluation)')
    group.add_argument('--stride', type=count, metavar='N',
                       help="use every N-th frame (default: the published benchmark's, 12 for "
                       'oxford_spires, 5 for 7scenes, 1 for others)')
    group.add_argument('--max-frames', type=count, metavar='N',
                       help='use at most N frames of a sequence')
    group.add_argument('--anchors', type=count, metavar='N',
                       help='first frames, which fix origin and scale')
    group.add_argument('--window', type=count, metavar='N',
                       help='keyframes after the anchors that are kept whole')
    group.add_argument('--keyframe-interval', type=count, metavar='N',
                       help='keep every N-th frame (default: frames / 320, rounded up)')
    group.add_argument('--iterations', type=count, metavar='N',
                       help='refinements of each pose')
    group.add_argument('--image-size', type=count, metavar='N',
                       help='width of the processed image, pixels (the released weights: 504 '
                       'for kitti)')
    group.add_argument('--crop', metavar='W:H',
                       help="central part of the images, or 'none' (default 504:280 for kitti, "
                       'else none)')
    group.add_argument('--device', help='auto, cpu, cuda, cuda:N')
    group.add_argument('--dtype', help='auto, fp32, bf16, fp16')
    group.add_argument('--backend',
                       help='auto, sdpa, flashinfer, flashinfer_fa2, flashinfer_fa3')


def run(args: argparse.Namespace) -> int:
    """
    Evaluate.

    Returns
    -------
    int
        0 done; 1 a sequence of a dataset could not be scored; 128 + signal number when
        interrupted.

    Raises
    ------
    LingbotError
        Something is refused; the message is one line.

    """
    mode = 'with' if args.dataset else 'without'
    foreign = [name for name in (_OF_FILES if args.dataset else _OF_DATASETS)
               if vars(args)[name] is not None]
    if foreign:
        raise ConfigError(f'--{foreign[0].replace("_", "-")} does nothing {mode} --dataset; '
                          'leave it out')
    if not args.dataset and args.truth is None:
        raise ConfigError('expected a true trajectory to compare with, got none: give --truth '
                          'FILE, or --dataset for a whole benchmark')
    name = 'evaluate_dataset' if args.dataset else 'evaluate_files'
    return int(importlib.import_module(f'lingbot_ros.tools.{name}').run(args))
