# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a run leaves behind: weights in half precision, curves, and where to go on.

The moments of the optimisers are not kept: they are back after some fifty steps, and a state of
33 MB travels where one of 200 MB does not.
"""

from __future__ import annotations

import json
from pathlib import Path

from safetensors.torch import load_file, save_file
import torch
from torch import nn

WEIGHTS, AUXILIARY, PROGRESS = 'weights.safetensors', 'auxiliary.safetensors', 'progress.json'


def half(module: nn.Module) -> dict[str, torch.Tensor]:
    """Parameters of a module in float16 on the CPU, by name."""
    return {name: parameter.detach().half().cpu().contiguous()
            for name, parameter in module.named_parameters()}


def save_state(folder: Path, network: nn.Module, auxiliary: nn.Module,
               progress: dict[str, float]) -> None:
    """
    Write a state; the one before stays whole until this one is.

    Parameters
    ----------
    folder : Path
        Of the run.
    network, auxiliary : Module
        What was learnt.
    progress : dict
        Numbers to go on from.

    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, module in ((WEIGHTS, network), (AUXILIARY, auxiliary)):
        save_file(half(module), folder / f'{name}.part')
        (folder / f'{name}.part').replace(folder / name)
    (folder / PROGRESS).write_text(json.dumps(progress, indent=1) + '\n', encoding='utf-8')


def is_state(folder: Path) -> bool:
    """Whether a folder holds a state whole."""
    return all((folder / name).is_file() for name in (WEIGHTS, AUXILIARY, PROGRESS))


def load_state(folder: Path, network: nn.Module, auxiliary: nn.Module) -> dict[str, float]:
    """
    Read a state into modules.

    Parameters
    ----------
    folder : Path
        Of an earlier run.
    network, auxiliary : Module
        Filled in place; names must match.

    Returns
    -------
    dict
        The numbers that `save_state` was given.

    """
    network.load_state_dict(load_file(folder / WEIGHTS))
    auxiliary.load_state_dict(load_file(folder / AUXILIARY))
    return json.loads((folder / PROGRESS).read_text(encoding='utf-8'))
