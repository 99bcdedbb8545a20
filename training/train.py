# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Train the embedded network: python -m training.train --seconds 560 --until 1 --output run.

A run ends by the clock; the next one goes on from its folder with --resume. Under torchrun every
process renders and learns for itself, and gradients are averaged.
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import dataclass
import math
import os
from pathlib import Path
import random
import sys
import time

from lingbot_ros.model.network import EMBEDDED, Network
import torch
from torch import distributed, nn, Tensor

from training.curriculum import draw_lesson, Lesson
from training.initial import initialise
from training.losses import Auxiliary, AuxiliarySizes
from training.optimiser import make_optimisers, OptimiserConfig, rate_factor
from training.pool import Pool, PoolConfig, SeedCounter
from training.state import is_state, load_state, save_state
from training.step import step_loss, Weights
from training.watch import BadRunError, Watch

#: Steps in which the rate rises after a resumed start, while the optimisers' moments come back.
RESUME_STEPS = 60


@dataclass(frozen=True)
class RunConfig:
    """
    One run.

    Attributes
    ----------
    seconds : float
        How long it learns.
    until : float
        Progress of the whole training at its end, 0 to 1.
    tokens : int
        Tokens a step, for each process.
    seed : int
        Of everything that is drawn.

    """

    seconds: float
    until: float = 1.0
    tokens: int = 200_000
    seed: int = 0


def prepare_gradients(parameters: list[Tensor], clip: float) -> float:
    """
    Average gradients over processes and clip their norm.

    Parameters
    ----------
    parameters : list of Tensor
        With gradients.
    clip : float
        Largest norm.

    Returns
    -------
    float
        The norm before clipping; infinite or NaN when a gradient is, and then nothing is clipped.

    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    if distributed.is_initialized():
        flat = torch.cat([g.flatten() for g in gradients])
        distributed.all_reduce(flat)
        flat /= distributed.get_world_size()
        parts = flat.split([g.numel() for g in gradients])
        torch._foreach_copy_(
            gradients, [part.view_as(g) for part, g in zip(parts, gradients, strict=True)])
    norm = float(nn.utils.get_total_norm(gradients))
    if math.isfinite(norm) and norm > clip:
        torch._foreach_mul_(gradients, clip / norm)
    return norm


class Trainer:
    """
    Network, optimisers and pools of one process.

    Parameters
    ----------
    config : RunConfig
        The run.
    optimiser : OptimiserConfig
        Rates.
    pool : PoolConfig
        Rendering.
    device : torch.device
        Where it runs.
    resume : Path or None
        Folder of an earlier run.

    """

    def __init__(self, config: RunConfig, optimiser: OptimiserConfig, pool: PoolConfig,
                 device: torch.device, resume: Path | None) -> None:
        self.config, self.optimiser, self.device = config, optimiser, device
        rank = distributed.get_rank() if distributed.is_initialized() else 0
        self.world = world = distributed.get_world_size() if distributed.is_initialized() else 1
        torch.manual_seed(config.seed)
        self.network = Network(EMBEDDED)
        initialise(self.network)
        self.auxiliary = Auxiliary(EMBEDDED.width, AuxiliarySizes(1, 3, EMBEDDED.blocks - 1))
        self.state = {'progress': 0.0, 'step': 0.0, 'seeds': 0.0, 'frames': 0.0, 'seconds': 0.0}
        if resume is not None:
            self.state = load_state(resume, self.network, self.auxiliary)
        self.first_step = int(self.state['step'])
        self.network.to(device)
        self.auxiliary.to(device)
        self.optimisers = make_optimisers([self.network, self.auxiliary], optimiser)
        self.parameters = [p for o in self.optimisers for g in o.param_groups for p in g['params']]
        self.peaks = [[g['lr'] for g in o.param_groups] for o in self.optimisers]
        self._pool_config = pool
        self._pools: dict[tuple[tuple[int, int], int], Pool] = {}
        self._seeds = SeedCounter(int(self.state['seeds']) * world + rank, world)
        self._generator = torch.Generator().manual_seed(
            config.seed * 1_000_003 + self.first_step * world + rank)

    def _pool(self, lesson: Lesson) -> Pool:
        key = (lesson.size, lesson.stage.rendered)
        if key not in self._pools:
            # Pools of shorter sequences stay: a later stage still draws from them.
            self._pools[key] = Pool(self._pool_config, self._seeds, lesson.size,
                                    lesson.stage.rendered, self.device)
        return self._pools[key]

    def step(self, lesson: Lesson, progress: float) -> tuple[dict[str, Tensor], float]:
        """Learn from one sample; return measures on the device, and the gradient's norm."""
        frames = lesson.stage.frames
        patches = (lesson.size[0] // EMBEDDED.patch_px) * (lesson.size[1] // EMBEDDED.patch_px)
        count = max(1, self.config.tokens // (frames * (patches + EMBEDDED.special_tokens)))
        sample = self._pool(lesson).sample(count, frames, self._generator)
        loss, measures = step_loss(
            self.network, self.auxiliary, sample, lesson.streaming, Weights(),
            depth_frames=max(1, count * frames // 5))
        for optimiser in self.optimisers:
            optimiser.zero_grad(set_to_none=True)
        loss.backward()
        norm = prepare_gradients(self.parameters, self.optimiser.clip)
        since = int(self.state['step']) - self.first_step
        again = min(1.0, (since + 1) / RESUME_STEPS) if self.first_step else 1.0
        factor = again * rate_factor(progress, self.optimiser)
        for optimiser, peaks in zip(self.optimisers, self.peaks, strict=True):
            for group, peak in zip(optimiser.param_groups, peaks, strict=True):
                group['lr'] = peak * factor
            if math.isfinite(norm):  # the same in every process: gradients are averaged
                optimiser.step()
        self.state['step'] += 1
        self.state['frames'] += self.world * sample.images.shape[0] * frames
        self.state['seeds'] = self._seeds.used
        return measures, norm


def train(trainer: Trainer, output: Path, log_every: int) -> None:
    """
    Learn until the clock says stop; save every minute and at the end.

    Parameters
    ----------
    trainer : Trainer
        Ready.
    output : Path
        Folder for state and curves; written by the first process alone.
    log_every : int
        Steps between rows of the curves.

    Raises
    ------
    BadRunError
        If the loss has gone wrong; the last good state stays.

    """
    main = not distributed.is_initialized() or distributed.get_rank() == 0
    config, state = trainer.config, trainer.state
    rng = random.Random(config.seed + int(state['step']))
    begin, before = state['progress'], state['seconds']
    start = saved = time.monotonic()
    watch, skipped = Watch(), 0
    output.mkdir(parents=True, exist_ok=True)
    rows: csv.DictWriter[str] | None = None
    with (output / f'curves_{int(state["step"])}.csv' if main else Path(os.devnull)).open(
            'w', encoding='utf-8', newline='') as curves:
        while True:
            share = shared((time.monotonic() - start) / config.seconds)
            if share >= 1:
                break
            progress = begin + (config.until - begin) * share
            lesson = draw_lesson(progress, rng)
            measures, norm = trainer.step(lesson, progress)
            skipped += not math.isfinite(norm)
            watch.see(float(measures['loss']), lesson.stage.frames, math.isfinite(norm))
            state['progress'] = progress
            state['seconds'] = before + time.monotonic() - start
            if main and int(state['step']) % log_every == 0:
                row = {'step': int(state['step']), 'seconds': state['seconds'],
                       'progress': progress, 'frames_a_sequence': lesson.stage.frames,
                       'height': lesson.size[0], 'anchors': lesson.streaming.anchors,
                       'frames': state['frames'], 'skipped': skipped, 'norm': norm}
                row |= {name: float(value) for name, value in measures.items()}
                if rows is None:
                    late = {'rotation_8_deg', 'direction_8_deg', 'translation_8'}
                    rows = csv.DictWriter(curves, sorted({*row, *late}))
                    rows.writeheader()
                rows.writerow({k: f'{v:.5g}' for k, v in row.items()})
                curves.flush()
                print(' '.join(f'{name}={value:.4g}' for name, value in row.items()), flush=True)
            if main and time.monotonic() - saved > 60:
                save_state(output, trainer.network, trainer.auxiliary, state)
                saved = time.monotonic()
    state['progress'] = config.until
    if main:
        save_state(output, trainer.network, trainer.auxiliary, state)


def shared(share: float) -> float:
    """Share of the time that is over, as the first process sees it."""
    if not distributed.is_initialized():
        return share
    value = torch.tensor([share], device='cuda')
    distributed.broadcast(value, 0)
    return float(value)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, required=True, help='time to learn')
    parser.add_argument('--begin', type=float,
                        help='progress to begin at, 0 to 1 (as the earlier run left it)')
    parser.add_argument('--until', type=float, default=1.0, help='progress at the end, 0 to 1')
    parser.add_argument('--output', type=Path, required=True, help='folder of the run')
    parser.add_argument('--resume', type=Path, help='folder of an earlier run to go on from')
    parser.add_argument('--muon-rate', type=float, default=OptimiserConfig.muon_rate)
    parser.add_argument('--adam-rate', type=float, default=OptimiserConfig.adam_rate)
    parser.add_argument('--tokens', type=int, default=RunConfig.tokens, help='tokens a step')
    parser.add_argument('--reuse', type=float, default=PoolConfig.reuse)
    parser.add_argument('--chunk', type=int, default=PoolConfig.chunk)
    parser.add_argument('--log-every', type=int, default=20)
    args = parser.parse_args()
    if args.resume is not None and not is_state(args.resume):
        parser.error(f'--resume must be the folder of an earlier run, got {args.resume}')
    if 'RANK' in os.environ:
        distributed.init_process_group('nccl')
        torch.cuda.set_device(distributed.get_rank())
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    torch.set_float32_matmul_precision('high')
    torch.backends.cudnn.allow_tf32 = True
    trainer = Trainer(
        RunConfig(args.seconds, args.until, args.tokens),
        OptimiserConfig(muon_rate=args.muon_rate, adam_rate=args.adam_rate),
        PoolConfig(chunk=args.chunk, sequences=6 * args.chunk, reuse=args.reuse),
        device, args.resume)
    if args.begin is not None:
        trainer.state['progress'] = args.begin
    if not 0 <= trainer.state['progress'] < args.until <= 1:
        parser.error(f'--until must lie between {trainer.state["progress"]:g}, where the run '
                     f'begins, and 1, got {args.until:g}; --begin goes back')
    try:
        train(trainer, args.output, args.log_every)
    except BadRunError as error:
        print(f'stopped: {error}; the state of the last minute is in {args.output}',
              file=sys.stderr)
        return 1
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()
    return 0


if __name__ == '__main__':
    sys.exit(main())
