# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A short recording, forward and backward again and again: do joins leave a step.

    python benchmarks/long_replay.py LINGBOT_DATA/kitti_00_0060_0159 --frames 5000 --output long

Forward and backward, the camera comes back to where it was and no image follows one that it did
not follow in the recording. OUTPUT.csv has a line a frame (position, segment, state, step to the
frame before, milliseconds), OUTPUT.png the positions and steps with the joins, OUTPUT.json the
largest step at a join and elsewhere, and how far a place is from where it was at the first
visit. Without a fault steps at joins are like all others.
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import replace
import json
from pathlib import Path
import time

from lingbot_ros import load_network, SegmentConfig, StreamSession
from lingbot_ros.model.recommended import recommended_stream
from lingbot_ros.sources import open_source
import matplotlib
import numpy as np
import torch

matplotlib.use('Agg')
import matplotlib.pyplot as plt


def to_and_fro(length: int, frames: int) -> np.ndarray:
    """Image of each frame: 0 .. length - 1 .. 0 .. and so on."""
    turn = np.arange(frames) % max(2 * length - 2, 1)
    return np.where(turn < length, turn, 2 * length - 2 - turn)


def latency_around(milliseconds: np.ndarray, joins: list[int], before: int) -> dict:
    """Latency around the joins over the usual one there: frames that prepare, and the change."""
    usual = [np.median(milliseconds[max(0, join - 60):join + 60]) for join in joins]
    change = np.array([milliseconds[join - 1] / each
                       for join, each in zip(joins, usual, strict=True)])
    prepare = np.array([milliseconds[join - before:join - 1] / each
                        for join, each in zip(joins, usual, strict=True)])
    return {'prepare_median': float(np.median(prepare)), 'prepare_largest': float(prepare.max()),
            'change_median': float(np.median(change)), 'change_largest': float(change.max())}


def plot(path: Path, positions: np.ndarray, steps: np.ndarray, joins: list[int],
         title: str) -> None:
    """Draw positions and steps over the frames, with a line at each join."""
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(12, 7), sharex=True)
    for axis, name in enumerate('xyz'):
        upper.plot(positions[:, axis], lw=0.7, label=name)
    lower.plot(steps, lw=0.5, color='black')
    for axes in (upper, lower):
        for frame in joins:
            axes.axvline(frame, color='tab:red', lw=0.5, alpha=0.5)
    upper.set_ylabel('position (scene units)')
    upper.set_title(f'{title}; joins in red')
    upper.legend(loc='upper right')
    lower.set_ylabel('step (scene units)')
    lower.set_xlabel('frame')
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Run the stream and write what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('recording')
    parser.add_argument('--checkpoint', default='embedded')
    parser.add_argument('--frames', type=int, default=5000)
    parser.add_argument('--image-size', type=int)
    parser.add_argument('--segment-keyframes', type=int)
    parser.add_argument('--device', default='auto')
    parser.add_argument('--output', type=Path, default=Path('long'))
    arguments = parser.parse_args()
    network = load_network(arguments.checkpoint, arguments.device)
    config = replace(recommended_stream(network).without_end(), depth=False)
    if arguments.image_size:
        config = replace(config, image_size=arguments.image_size)
    if arguments.segment_keyframes:
        config = replace(config, segments=SegmentConfig(
            arguments.segment_keyframes, config.segments.overlap))
    with open_source(arguments.recording, None, None) as source:
        images = [frame.image for frame in source]
    order = to_and_fro(len(images), arguments.frames)
    session = StreamSession(network, config)
    estimates, milliseconds = [], []
    for frame, number in enumerate(order):
        start = time.perf_counter()
        estimates += session.push(images[number], frame * 100_000_000)
        milliseconds.append(1e3 * (time.perf_counter() - start))
        if frame % 500 == 499:
            print(f'{frame + 1} frames, {session.snapshot().joins} joins', flush=True)
    positions = np.array([estimate.T_world_camera[:3, 3] for estimate in estimates])
    steps = np.r_[0.0, np.linalg.norm(np.diff(positions, axis=0), axis=1)]
    joins = [i for i in range(1, len(estimates))
             if estimates[i].segment != estimates[i - 1].segment]
    at_joins = np.zeros(len(steps), bool)
    at_joins[joins] = True
    states = [str(estimate.tracking.state) for estimate in estimates]
    settled = joins[0] + 50 if joins else 0
    first = {number: positions[i] for i, number in reversed(list(enumerate(order)))
             if i >= settled}
    away = np.array([np.linalg.norm(positions[i] - first[order[i]])
                     for i in range(settled, len(order))])
    result = {
        'recording': Path(arguments.recording).name, 'frames': len(estimates),
        'joins': len(joins), 'states': {state: states.count(state) for state in set(states)},
        'largest_step_at_a_join': float(steps[at_joins].max()) if joins else None,
        'largest_step_elsewhere': float(steps[~at_joins].max()),
        'p99_step_elsewhere': float(np.percentile(steps[~at_joins], 99)),
        'distance_to_the_first_visit_median': float(np.median(away)),
        'distance_to_the_first_visit_last_tenth': float(np.median(away[-len(away) // 10:])),
        'extent': float(np.linalg.norm(np.ptp(positions, axis=0))),
        'milliseconds_median': float(np.median(milliseconds)),
        'latency_over_usual': latency_around(np.array(milliseconds), joins, 12) if joins else None,
        'torch': torch.__version__, 'device': str(network.device),
        'session': session.snapshot().to_json()}
    arguments.output.with_suffix('.json').write_text(json.dumps(result, indent=2) + '\n')
    with arguments.output.with_suffix('.csv').open('w', newline='') as file:
        writer = csv.writer(file)
        writer.writerow(['frame', 'image', 'x', 'y', 'z', 'segment', 'state', 'step', 'ms'])
        for i, estimate in enumerate(estimates):
            writer.writerow([i, order[i], *(f'{value:.5f}' for value in positions[i]),
                             estimate.segment, states[i], f'{steps[i]:.5f}',
                             f'{milliseconds[i]:.2f}'])
    plot(arguments.output.with_suffix('.png'), positions, steps, joins,
         f'{result["recording"]}, {len(estimates)} frames to and fro')
    print(json.dumps(result, indent=2))


if __name__ == '__main__':
    main()
