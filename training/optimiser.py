# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Muon for the matrices of the blocks, AdamW for everything else, one schedule for both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
import math

import torch
from torch import nn, Tensor
from torch.optim import AdamW, Optimizer

#: Coefficients of the Newton-Schulz iteration (Jordan et al., 2024, "Muon").
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)


@dataclass(frozen=True)
class OptimiserConfig:
    """
    Learning rates and schedule.

    Attributes
    ----------
    muon_rate, adam_rate : float
        Peak rates; Muon's is scaled so that its steps have AdamW's size.
    weight_decay : float
        Of the matrices.
    warmup : float
        Share of the run in which the rate rises from zero.
    decay : float
        Share of the run in which the rate falls to zero, at the end.
    clip : float
        Largest norm of the gradient.

    """

    muon_rate: float = 2.5e-3
    adam_rate: float = 1.2e-3
    weight_decay: float = 0.02
    warmup: float = 0.03
    decay: float = 0.6
    clip: float = 1.0


def orthogonalise(matrices: Tensor, steps: int = 5) -> Tensor:
    """
    Bring the singular values of matrices near one.

    Parameters
    ----------
    matrices : Tensor of float32, shape [count, rows, columns]
        Any.
    steps : int
        Iterations.

    Returns
    -------
    Tensor of bfloat16, shape [count, rows, columns]
        Singular values between about 0.7 and 1.2.

    """
    a, b, c = NEWTON_SCHULZ
    tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.bfloat16()
    x = x.mT if tall else x
    x = x / (x.norm(dim=(1, 2), keepdim=True) * 1.01 + 1e-7)
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.mT if tall else x


class StackedMuon(Optimizer):
    """
    Muon over all matrices of one shape at once.

    torch.optim.Muon takes one matrix at a time, and its launches took a fifth of a step of so
    small a network; the arithmetic is the same, and a test compares the two.

    Parameters
    ----------
    parameters : iterable of Tensor
        Matrices.
    lr, weight_decay, momentum : float
        As in torch.optim.Muon with adjust_lr_fn='match_rms_adamw'.

    """

    def __init__(self, parameters: Iterable[Tensor], lr: float, weight_decay: float,
                 momentum: float = 0.95) -> None:
        super().__init__(parameters, {'lr': lr, 'weight_decay': weight_decay,
                                      'momentum': momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        """Move every matrix by its orthogonalised Nesterov momentum."""
        for group in self.param_groups:
            shapes: dict[torch.Size, list[Tensor]] = defaultdict(list)
            for parameter in group['params']:
                if parameter.grad is not None:
                    shapes[parameter.shape].append(parameter)
            for shape, members in shapes.items():
                # One buffer a shape, kept with its first member.
                state = self.state[members[0]]
                gradients = torch.stack([p.grad for p in members if p.grad is not None])
                buffer = state.setdefault('momentum', torch.zeros_like(gradients))
                buffer.lerp_(gradients, 1 - group['momentum'])
                update = orthogonalise(gradients.lerp(buffer, group['momentum'])).float()
                size = 0.2 * math.sqrt(max(shape))
                torch._foreach_mul_(members, 1 - group['lr'] * group['weight_decay'])
                torch._foreach_add_(members, list(update.unbind()), alpha=-group['lr'] * size)


def make_optimisers(modules: list[nn.Module], config: OptimiserConfig) -> list[Optimizer]:
    """
    Share the parameters of some modules between Muon and AdamW.

    Parameters
    ----------
    modules : list of Module
        The first is the network; blocks are found by name.
    config : OptimiserConfig
        Rates.

    Returns
    -------
    list of Optimizer
        Muon and AdamW.

    """
    matrices, decayed, plain = [], [], []
    for module in modules:
        for name, parameter in module.named_parameters():
            if not parameter.requires_grad:
                continue
            if parameter.ndim == 2 and ('blocks.' in name or 'trunk.' in name):
                matrices.append(parameter)
            elif parameter.ndim >= 2 and name.endswith('weight'):
                decayed.append(parameter)
            else:
                plain.append(parameter)
    return [
        StackedMuon(matrices, config.muon_rate, config.weight_decay),
        AdamW([{'params': decayed, 'weight_decay': config.weight_decay},
               {'params': plain, 'weight_decay': 0.0}],
              lr=config.adam_rate, betas=(0.9, 0.98), fused=plain[0].is_cuda),
    ]


def rate_factor(progress: float, config: OptimiserConfig) -> float:
    """
    Factor of the peak rates: up, level, down to zero in a line.

    Parameters
    ----------
    progress : float
        Share of the run that is over, 0 to 1.
    config : OptimiserConfig
        Shares of warm-up and decay.

    Returns
    -------
    float
        0 to 1.

    """
    up = progress / config.warmup if config.warmup else 1.0
    down = (1 - progress) / config.decay if config.decay else 1.0
    return max(0.0, min(1.0, up, down))
