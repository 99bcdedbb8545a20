# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Muon for the matrices of the blocks, AdamW for everything else, one schedule for both."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn
from torch.optim import AdamW, Muon, Optimizer


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

    muon_rate: float = 2e-3
    adam_rate: float = 1e-3
    weight_decay: float = 0.02
    warmup: float = 0.03
    decay: float = 0.6
    clip: float = 1.0


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
        Muon(matrices, lr=config.muon_rate, weight_decay=config.weight_decay,
             adjust_lr_fn='match_rms_adamw'),
        AdamW([{'params': decayed, 'weight_decay': config.weight_decay},
               {'params': plain, 'weight_decay': 0.0}],
              lr=config.adam_rate, betas=(0.9, 0.98)),
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
