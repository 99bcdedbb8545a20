# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Figures of weights on held-out worlds, streamed frame by frame through a session.

python -m training.figures WEIGHTS --output figures.json
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
import json
import math
import multiprocessing
from pathlib import Path
import sys
import time
from typing import Any

from lingbot_ros import load_network, PoseEstimate, StreamConfig, StreamSession
from lingbot_ros.errors import LingbotError
from lingbot_ros.evaluation.score import median, median_score, Score, score_trajectory
from lingbot_ros.model.recommended import recommended_stream
import numpy as np
import torch
from torch import Tensor

from training.heldout import GATE, HEIGHT, LONG, LONG_FRAMES, SHORT, SHORT_FRAMES, WIDTH
from training.worlds import kinds, render

#: Frames rendered at once.
CHUNK = 32
FRAME_NS = 66_666_667


@dataclass(frozen=True)
class Setting:
    """Which weights run, where, and with what changes to the settings they recommend."""

    weights: str
    device: str
    dtype: str
    plain: bool
    changes: dict[str, Any]


@dataclass(frozen=True)
class Result:
    """
    One sequence.

    Attributes
    ----------
    seed, frames : int
        Of the world.
    kind : tuple of str
        Scene and motion.
    score : Score
        Of all poses.
    depth : float
        Median relative error of depth after the scale of the trajectory's anchor depth.
    fov_deg : float
        Median error of the horizontal field of view, degrees.
    states : dict
        Frames by tracking state.
    segments : int
        Caches used.
    fps : float
        Frames a second of the session alone.

    """

    seed: int
    frames: int
    kind: tuple[str, str]
    score: Score
    depth: float
    fov_deg: float
    states: dict[str, int]
    segments: int
    fps: float


def frames_of(seed: int, count: int, device: str) -> Iterator[tuple[np.ndarray, Tensor, Tensor]]:
    """Yield image uint8 [H, W, 3], depth [H, W] and pose [4, 4] of each frame of a world."""
    for first in range(0, count, CHUNK):
        batch = render([seed], min(CHUNK, count - first), HEIGHT, WIDTH, device=device,
                       first_frame=first)
        images = batch.images[0].permute(0, 2, 3, 1).cpu().numpy()
        yield from zip(images, batch.depth[0], batch.T_world_camera[0], strict=True)


def relative_depth_error(estimate: Tensor, truth: Tensor) -> float:
    """Median |d s / truth - 1| of one frame with the best scale s (median ratio); NaN for sky."""
    truth = torch.nn.functional.interpolate(
        truth[None, None], estimate.shape, mode='nearest')[0, 0].to(estimate.device)
    seen = truth > 0
    if int(seen.sum()) < 100:
        return math.nan
    ratio = truth[seen] / estimate[seen]
    return float((ratio / ratio.median() - 1).abs().median())


def settings_of(network: torch.nn.Module, setting: Setting) -> StreamConfig:
    """Recommended settings with changes; without segments and judgement where asked for."""
    config = recommended_stream(network)
    if setting.plain:
        config = StreamConfig(anchor_frames=config.anchor_frames, window=config.window,
                              image_size=config.image_size, max_keyframes=LONG_FRAMES)
    changes: dict[str, Any] = {}
    for name, value in setting.changes.items():
        part, _, leaf = name.rpartition('.')
        if part:
            base = changes.get(part, vars(config)[part])
            changes[part] = replace(base, **{leaf: value})
        else:
            changes[leaf] = value
    return replace(config, **changes)


def run(setting: Setting, seed: int, frames: int, worker: int) -> Result:
    """
    Stream one sequence.

    Parameters
    ----------
    setting : Setting
        Weights and device.
    seed, frames : int
        Of the world.
    worker : int
        Chooses the GPU where there are several.

    Returns
    -------
    Result
        Its figures.

    """
    device = setting.device
    if device == 'cuda':
        device = f'cuda:{worker % torch.cuda.device_count()}'
        torch.cuda.set_device(device)
    else:
        torch.set_num_threads(1)
    network = load_network(setting.weights, device, setting.dtype)
    session = StreamSession(network, settings_of(network, setting), 'sdpa')
    estimates: dict[int, PoseEstimate] = {}
    truth, depths, fovs = [], [], []
    fov = float(render([seed], 1, 8, 8).fov[0, 1])
    spent = 0.0

    def take(new: list[PoseEstimate]) -> None:
        for estimate in new:
            estimates[estimate.frame_index] = replace(estimate, depth=None, depth_confidence=None)
            fovs.append(2 * math.atan(estimate.image_size[1] / 2 / estimate.K[0, 0]) - fov)
            if estimate.depth is not None and estimate.frame_index % 4 == 0:
                depths.append(relative_depth_error(
                    estimate.depth, recent[estimate.frame_index]))

    recent: dict[int, Tensor] = {}
    for index, (image, depth, pose) in enumerate(frames_of(seed, frames, device)):
        truth.append(pose.cpu().numpy())
        recent[index] = depth
        recent.pop(index - 64, None)
        start = time.perf_counter()
        new = session.push(image, index * FRAME_NS)
        spent += time.perf_counter() - start
        take(new)
    take(session.flush())
    order = sorted(estimates)
    states: dict[str, int] = {}
    for index in order:
        tracking = estimates[index].tracking
        name = str(tracking.state) if tracking else 'unjudged'
        states[name] = states.get(name, 0) + 1
    score = score_trajectory(np.stack([estimates[i].T_world_camera for i in order]),
                             np.stack([truth[i] for i in order]).astype(np.float64))
    return Result(
        seed, frames, kinds([seed])[0], score, median(np.array(depths)),
        float(np.degrees(np.median(np.abs(fovs)))), states,
        1 + max(estimates[i].segment for i in order), frames / spent)


def summary(results: list[Result]) -> dict[str, Any]:
    """Medians over sequences, rounded for a table."""
    figures: dict[str, Any] = asdict(median_score([result.score for result in results]))
    figures['depth'] = median(np.array([result.depth for result in results]))
    figures['fov_deg'] = median(np.array([result.fov_deg for result in results]))
    figures['fps'] = median(np.array([result.fps for result in results]))
    rounded = {name: float(f'{value:.4g}') for name, value in figures.items()
               if name not in ('poses', 'scale')}
    return {'sequences': len(results), 'frames': results[0].frames, **rounded}


def standing_still(results: list[Result]) -> dict[str, float]:
    """Figures of a camera that never moves, on the same sequences: what is easy to beat."""
    frames = results[0].frames
    truth = render([result.seed for result in results], frames, 8, 8).T_world_camera
    still = np.tile(np.eye(4), (frames, 1, 1))
    score = asdict(median_score([score_trajectory(still, poses)
                                 for poses in truth.double().numpy()]))
    return {name: float(f'{score[name]:.4g}')
            for name in ('ate_percent', 'rotation_8_deg', 'direction_8_deg')}


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('weights', help='.safetensors file, or embedded')
    parser.add_argument('--device', default='cpu')
    parser.add_argument('--dtype', default='fp32')
    parser.add_argument('--plain', action='store_true',
                        help='no segments, every frame a keyframe, poses not judged')
    parser.add_argument('--short', type=int, default=len(SHORT), help='sequences of 64 frames')
    parser.add_argument('--long', type=int, default=len(LONG), help='sequences of 1,000 frames')
    parser.add_argument('--gate', action='store_true', help='only the sequences of the gate')
    parser.add_argument('--set', nargs='*', default=[], metavar='NAME=JSON',
                        help='changes to the settings, such as segments.keyframes=48')
    parser.add_argument('--processes', type=int, default=1)
    parser.add_argument('--output', type=Path, required=True)
    args = parser.parse_args()
    changes = {name: json.loads(value) for name, _, value in
               (item.partition('=') for item in args.set)}
    setting = Setting(args.weights, args.device, args.dtype, args.plain, changes)
    short = GATE if args.gate else SHORT[:args.short]
    long = () if args.gate else LONG[:args.long]
    jobs = [(seed, LONG_FRAMES) for seed in long] + [(seed, SHORT_FRAMES) for seed in short]
    try:
        load_network(args.weights, 'cpu')
    except LingbotError as error:
        parser.error(str(error))
    context = multiprocessing.get_context('spawn')
    with ProcessPoolExecutor(args.processes, mp_context=context) as pool:
        futures = [pool.submit(run, setting, seed, frames, number)
                   for number, (seed, frames) in enumerate(jobs)]
        results = []
        for future in futures:
            result = future.result()
            results.append(result)
            score = result.score
            print(f'{result.seed} {result.frames} {"/".join(result.kind)} '
                  f'ATE {score.ate_percent:.2f} % rotation {score.rotation_8_deg:.2f} deg '
                  f'direction {score.direction_8_deg:.1f} deg depth {result.depth:.3f} '
                  f'fov {result.fov_deg:.1f} deg {result.states} segments {result.segments} '
                  f'{result.fps:.1f}/s', flush=True)
    groups = {name: [r for r in results if r.frames == frames]
              for name, frames in (('short', SHORT_FRAMES), ('long', LONG_FRAMES))}
    document = {
        'device': args.device, 'dtype': args.dtype, 'settings': args.set, 'plain': args.plain,
        **{'gate' if args.gate else name: summary(group)
           for name, group in groups.items() if group},
        'standing_still': {name: standing_still(group)
                           for name, group in groups.items() if group},
        'sequences': [asdict(result) for result in results]}
    args.output.write_text(json.dumps(document, indent=1) + '\n', encoding='utf-8')
    print({name: value for name, value in document.items() if name != 'sequences'})
    return 0


if __name__ == '__main__':
    sys.exit(main())
