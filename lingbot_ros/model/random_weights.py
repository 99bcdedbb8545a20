# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Weights drawn from the names of the tensors: the same everywhere, and meaningless."""

from __future__ import annotations

import zlib

import numpy as np
import torch
from torch import nn, Tensor

# Drawn at half scale so that learned tokens differ from each other as trained ones do.
TOKENS = frozenset({'camera_token', 'register_token', 'register_tokens', 'scale_token',
                    'cls_token', 'pos_embed', 'mask_token'})


def random_tensor(name: str, shape: tuple[int, ...]) -> Tensor:
    """
    Draw one tensor; its name seeds the generator.

    Parameters
    ----------
    name : str
        Parameter name, as in a checkpoint.
    shape : tuple of int
        Its shape.

    Returns
    -------
    Tensor of float32
        Scaled so that activations keep their size through the network.

    """
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    values = rng.standard_normal(shape, dtype=np.float32)
    if len(shape) == 1 and name.endswith('weight'):
        values = 1 + np.float32(0.1) * values
    elif name.endswith('gamma'):
        values = np.float32(0.5) + np.float32(0.1) * values
    elif len(shape) <= 1:
        values *= np.float32(0.02)
    elif name.rsplit('.', 1)[-1] in TOKENS:
        values *= np.float32(0.5)
    else:
        values /= np.sqrt(np.float32(np.prod(shape[1:])))
    return torch.from_numpy(np.ascontiguousarray(values))


def fill_random(network: nn.Module) -> None:
    """
    Draw every parameter of a network in place.

    Parameters
    ----------
    network : Module
        Parameters keep their device and dtype.

    """
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.copy_(random_tensor(name, tuple(parameter.shape)))
