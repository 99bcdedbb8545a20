# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Whether the covariances that a stream states are honest, and coefficients that make them so.

    python benchmarks/covariance.py --checkpoint embedded --worlds 16 --output covariance.json
    python benchmarks/covariance.py --checkpoint embedded --fit 48 --output covariance.json
    python benchmarks/covariance.py --checkpoint lingbot-map.pt --device cuda --data FOLDER

Sequences are held-out worlds (`training/heldout.py`) and folders with images, timestamps.txt and
groundtruth.txt. Each runs through a session that judges its poses; lost frames are left out. The
truth is laid over the first eight poses, its unit by the depths there where they are known, so
that the error of a pose is what has drifted since. The NEES of honest covariances is 6 on average
(3 for position and 3 for rotation alone), and below 12.6 in 95 % of all frames.

`--fit N` first fits the coefficients of `CovarianceModel` to N other worlds; they are printed as
the JSON that a checkpoint carries under stream / covariance, and the sequences are judged with
them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
import json
from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lingbot_ros import load_network, recommended_stream, StreamConfig, StreamSession
from lingbot_ros.datasets.folder import FolderLayout
from lingbot_ros.evaluation.consistency import (
    added_by_joins,
    covariances_of,
    fit_model,
    FITTED,
    nees,
    NEES_BOUND,
    pose_errors,
    PoseRun,
    truth_from_start,
)
from lingbot_ros.model.network import Network
from lingbot_ros.records import TrackingState
from lingbot_ros.streaming.measures import typical_depth
import numpy as np
import torch

from training.heldout import SHORT, SHORT_FRAMES, SHORT_RANGE

# Far from the sequences that figures are made of.
FIT_SEEDS = range(SHORT_RANGE.start + 1_000_000, SHORT_RANGE.stop)
FRAME_NS = 66_666_667
ANCHOR_FRAMES = 8


@dataclass(frozen=True)
class TrueFrame:
    """An image with its true pose, which may be missing, and its true typical depth or NaN."""

    image: np.ndarray
    stamp_ns: int
    pose: np.ndarray | None
    depth: torch.Tensor | None = None


def world_frames(seed: int, frames: int, device: str) -> Iterator[TrueFrame]:
    """Render a held-out world."""
    from training.figures import frames_of

    for index, (image, depth, pose) in enumerate(frames_of(seed, frames, device)):
        yield TrueFrame(image, index * FRAME_NS, pose.cpu().numpy().astype(np.float64), depth)


def folder_frames(root: Path, name: str) -> Iterator[TrueFrame]:
    """Read a recording with truth."""
    sequence = FolderLayout().load(root, name)
    truth = sequence.truth
    assert truth.stamps_ns is not None
    for frame in sequence.frames:
        nearest = int(np.abs(truth.stamps_ns - frame.stamp_ns).argmin())
        late_s = abs(int(truth.stamps_ns[nearest]) - frame.stamp_ns) / 1e9
        yield TrueFrame(frame.image, frame.stamp_ns,
                        truth.poses[nearest] if late_s < sequence.max_difference_s else None)


def depth_ratio(estimated: torch.Tensor, true: torch.Tensor | None) -> float:
    """Median depth of the estimate over that of the truth; NaN where none is known."""
    if true is None:
        return float('nan')
    true = torch.nn.functional.interpolate(
        true[None, None].to(estimated.device), estimated.shape, mode='nearest')[0, 0]
    seen = true > 0
    return float((estimated[seen] / true[seen]).median()) if seen.any() else float('nan')


def stream(network: Network, config: StreamConfig,
           frames: Iterable[TrueFrame]) -> tuple[PoseRun, np.ndarray]:
    """Run a session over frames; the run of believed poses, and the covariances it stated."""
    session = StreamSession(network, config)
    estimates, truths, depths, ratios = [], [], [], []
    for frame in frames:
        for estimate in session.push(frame.image, frame.stamp_ns):
            believed = estimate.tracking.state is not TrackingState.LOST
            if not believed or frame.pose is None or estimate.stamp_ns != frame.stamp_ns:
                continue
            depths.append(float(typical_depth(estimate.depth)))
            ratios.append(depth_ratio(estimate.depth, frame.depth))
            estimates.append(replace(estimate, depth=None, depth_confidence=None))
            truths.append(frame.pose)
    poses = np.stack([e.T_world_camera for e in estimates])
    known = [ratio for ratio in ratios[:ANCHOR_FRAMES] if np.isfinite(ratio)]
    true = truth_from_start(poses, np.stack(truths), float(np.median(known)) if known else None,
                            ANCHOR_FRAMES)
    run = PoseRun(poses, [e.stamp_ns for e in estimates], np.array(depths),
                  np.array([e.tracking.score for e in estimates]), pose_errors(poses, true))
    stated = np.stack([e.covariance for e in estimates])
    return replace(run, added=added_by_joins(run, config.covariance, stated)), stated


def figures(name: str, run: PoseRun, covariances: np.ndarray) -> dict:
    """NEES of one sequence, and its last error beside what was stated of it."""
    every = nees(run.errors, covariances)
    last, stated = run.errors[-1], np.sqrt(np.diag(covariances[-1]))
    return {
        'sequence': name, 'frames': len(every), 'nees': float(every.mean()),
        'nees_median': float(np.median(every)), 'within_95': float(np.mean(every < NEES_BOUND)),
        'nees_position': float(nees(run.errors[:, :3], covariances[:, :3, :3]).mean()),
        'nees_rotation': float(nees(run.errors[:, 3:], covariances[:, 3:, 3:]).mean()),
        'last_position_error': float(np.linalg.norm(last[:3])),
        'last_position_stated': float(np.linalg.norm(stated[:3])),
        'last_rotation_error_deg': float(np.degrees(np.linalg.norm(last[3:]))),
        'last_rotation_stated_deg': float(np.degrees(np.linalg.norm(stated[3:])))}


def print_row(row: dict) -> None:
    """Print one sequence."""
    print(f'{row["sequence"]:24} {row["frames"]:5} frames  NEES {row["nees"]:7.2f} (median '
          f'{row["nees_median"]:6.2f}, position {row["nees_position"]:6.2f}, rotation '
          f'{row["nees_rotation"]:6.2f})  within 95 % {row["within_95"]:.2f}  last: '
          f'{row["last_position_error"]:.3f} of {row["last_position_stated"]:.3f} units, '
          f'{row["last_rotation_error_deg"]:.2f} of {row["last_rotation_stated_deg"]:.2f} deg',
          flush=True)


def fitted(network: Network, config: StreamConfig, worlds: int, device: str) -> StreamConfig:
    """Fit the coefficients to worlds of their own, print them, and return settings with them."""
    runs = [stream(network, config, world_frames(seed, SHORT_FRAMES, device))[0]
            for seed in FIT_SEEDS[:worlds]]
    model = fit_model(runs, config.covariance)
    before, after = (np.concatenate([nees(run.errors, covariances_of(run, one)) for run in runs])
                     for one in (config.covariance, model))
    print(f'fit to {worlds} worlds: mean NEES {before.mean():.2f} before, {after.mean():.2f} '
          f'after; within 95 %: {np.mean(before < NEES_BOUND):.2f}, '
          f'{np.mean(after < NEES_BOUND):.2f}')
    print(json.dumps({'covariance': {name: float(f'{vars(model)[name]:.3g}')
                                     for name in FITTED}}))
    return replace(config, covariance=model)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--checkpoint', default='embedded')
    parser.add_argument('--device', default='auto')
    parser.add_argument('--dtype', default='auto')
    parser.add_argument('--worlds', type=int, default=16, help='held-out worlds of 64 frames')
    parser.add_argument('--data', type=Path, help='folder of recordings with truth')
    parser.add_argument('--fit', type=int, default=0, metavar='N', help='fit to N worlds first')
    parser.add_argument('--output', type=Path, help='JSON file for the figures')
    arguments = parser.parse_args()

    network = load_network(arguments.checkpoint, arguments.device, arguments.dtype)
    config = recommended_stream(network).without_end()
    device = network.device.type
    if arguments.fit:
        config = fitted(network, config, arguments.fit, device)
    sequences = [(f'world {seed - SHORT_RANGE.start}', world_frames(seed, SHORT_FRAMES, device))
                 for seed in SHORT[:arguments.worlds]]
    if arguments.data:
        sequences += [(name, folder_frames(arguments.data, name))
                      for name in FolderLayout().names(arguments.data)]
    rows = []
    for name, frames in sequences:
        rows.append(figures(name, *stream(network, config, frames)))
        print_row(rows[-1])
    if rows:
        print(f'all: mean NEES {np.mean([row["nees"] for row in rows]):.2f}, median sequence '
              f'{np.median([row["nees"] for row in rows]):.2f}, within 95 %: '
              f'{np.mean([row["within_95"] for row in rows]):.2f} of the frames')
    if arguments.output:
        arguments.output.write_text(json.dumps(
            {'checkpoint': arguments.checkpoint, 'covariance': asdict(config.covariance),
             'sequences': rows}, indent=1) + '\n', encoding='utf-8')


if __name__ == '__main__':
    main()
