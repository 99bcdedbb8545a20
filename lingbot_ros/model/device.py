# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where a network lives and what it computes in, by name."""

from __future__ import annotations

from lingbot_ros.errors import ConfigError
import torch


def resolve_device(device: str | torch.device) -> torch.device:
    """
    Device of a name.

    Parameters
    ----------
    device : str or torch.device
        'auto' (CUDA where there is one, else CPU), 'cpu', 'cuda' or 'cuda:N'.

    Returns
    -------
    torch.device
        The device, with an index if it is a CUDA device.

    Raises
    ------
    ConfigError
        If the name is unknown or the machine lacks the device.

    """
    if device == 'auto':
        device = 'cuda' if torch.cuda.is_available() else 'cpu'
    try:
        chosen = torch.device(device)
    except RuntimeError:
        chosen = torch.device('meta')
    if chosen.type not in ('cpu', 'cuda'):
        raise ConfigError(f"device must be 'auto', 'cpu', 'cuda' or 'cuda:N', got {device!r}")
    if chosen.type == 'cuda':
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        index = chosen.index or 0
        if index >= count:
            raise ConfigError(f'device {device!r} asked for, but PyTorch sees {count} CUDA '
                              "devices; set device to 'cpu' or install a CUDA build of torch")
        return torch.device('cuda', index)
    return chosen


def resolve_dtype(dtype: str | torch.dtype, device: torch.device) -> torch.dtype:
    """
    Dtype of a name.

    Parameters
    ----------
    dtype : str or torch.dtype
        'auto' (bf16 on CUDA, fp32 on CPU), 'fp32', 'bf16', 'fp16', or one of those dtypes.
    device : torch.device
        Decides 'auto'.

    Returns
    -------
    torch.dtype
        The dtype.

    Raises
    ------
    ConfigError
        If the name is unknown.

    """
    names = {'fp32': torch.float32, 'bf16': torch.bfloat16, 'fp16': torch.float16}
    if dtype == 'auto':
        return names['bf16' if device.type == 'cuda' else 'fp32']
    chosen = names.get(dtype) if isinstance(dtype, str) else dtype
    if chosen is None or chosen not in names.values():
        raise ConfigError(f"dtype must be 'auto', 'fp32', 'bf16' or 'fp16', got {dtype!r}")
    return chosen
