# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The file of a running session: one safetensors file, whose metadata hold the rest as JSON.

Nothing in it can run code. It says which version wrote it and for which model, and a checksum
finds damage that the format itself does not see.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
import hashlib
import json
import os
from pathlib import Path
from typing import Any
import zlib

from lingbot_ros.config import StreamConfig
from lingbot_ros.errors import StateError
from lingbot_ros.model.network import Network
import numpy as np
from safetensors import safe_open, SafetensorError
from safetensors.torch import save_file
import torch
from torch import Tensor

FORMAT = 'lingbot_ros session'
VERSION = 1

_TENSOR, _ARRAY = '$tensor', '$array'
# Values of each weight tensor that identify a model.
_SAMPLED = 64


def fingerprint(network: Network) -> str:
    """
    Hash sizes, dtype and some values of every weight: equal for the same model alone.

    Parameters
    ----------
    network : Network
        Any.

    Returns
    -------
    str
        Hexadecimal.

    """
    digest = hashlib.sha256(json.dumps([asdict(network.config), str(network.dtype)]).encode())
    for name, weight in sorted(network.named_parameters()):
        values = weight.detach().flatten()
        step = max(1, values.numel() // _SAMPLED)
        digest.update(name.encode())
        digest.update(values[::step].float().cpu().numpy().tobytes())
    return digest.hexdigest()


def _pack(value: Any, tensors: dict[str, Tensor]) -> Any:
    """Replace tensors and arrays by their names; everything else becomes JSON."""
    if isinstance(value, (Tensor, np.ndarray)):
        name = f't{len(tensors):05d}'
        tensors[name] = (torch.from_numpy(np.array(value)) if isinstance(value, np.ndarray)
                         else value.detach().to('cpu', copy=True).contiguous())
        return {_ARRAY if isinstance(value, np.ndarray) else _TENSOR: name}
    if isinstance(value, dict):
        return {str(key): _pack(part, tensors) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_pack(part, tensors) for part in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f'a state holds JSON types, tensors and arrays, got {type(value).__name__}')


def _unpack(value: Any, tensors: Mapping[str, Tensor], device: torch.device) -> Any:
    if isinstance(value, dict):
        if set(value) == {_TENSOR}:
            return tensors[value[_TENSOR]].to(device)
        if set(value) == {_ARRAY}:
            return tensors[value[_ARRAY]].numpy()
        return {key: _unpack(part, tensors, device) for key, part in value.items()}
    if isinstance(value, list):
        return [_unpack(part, tensors, device) for part in value]
    return value


def _checksum(tree: str, tensors: Mapping[str, Tensor]) -> str:
    crc = zlib.crc32(tree.encode())
    for name in sorted(tensors):
        crc = zlib.crc32(tensors[name].flatten().view(torch.uint8).numpy().data, crc)
    return f'{crc:08x}'


def write_state(path: str | Path, model: str, config: StreamConfig,
                state: Mapping[str, Any]) -> None:
    """
    Write a state; the file appears whole or not at all.

    Parameters
    ----------
    path : str or Path
        Replaced if it exists.
    model : str
        `fingerprint` of the network.
    config : StreamConfig
        Of the session.
    state : mapping
        Nested dictionaries and lists of JSON types, tensors and arrays.

    Raises
    ------
    StateError
        If it cannot be written.

    """
    path = Path(path)
    tensors: dict[str, Tensor] = {}
    tree = json.dumps(_pack(dict(state), tensors))
    metadata = {
        'format': FORMAT, 'version': str(VERSION), 'model': model,
        'config': json.dumps(asdict(config)), 'state': tree,
        'checksum': _checksum(tree, tensors)}
    part = path.with_name(path.name + '.part')
    try:
        save_file(tensors, part, metadata)
        os.replace(part, path)
    except (OSError, SafetensorError) as error:
        part.unlink(missing_ok=True)
        raise StateError(f'cannot write {path}: {error}; choose another place') from error


def read_state(path: str | Path, model: str, config: StreamConfig,
               device: torch.device) -> dict[str, Any]:
    """
    Read a state that fits a session.

    Parameters
    ----------
    path : str or Path
        From `write_state`.
    model : str
        `fingerprint` of the session's network.
    config : StreamConfig
        Of the session.
    device : torch.device
        Where tensors go.

    Returns
    -------
    dict
        As it was written.

    Raises
    ------
    StateError
        If the file is missing, damaged or another version's, or the model or a setting differs;
        says which.

    """
    try:
        with safe_open(path, framework='pt') as file:
            metadata = file.metadata() or {}
            if metadata.get('format') != FORMAT:
                raise StateError(f'{path} is no saved session; expected a file from save()')
            if metadata.get('version') != str(VERSION):
                raise StateError(f'{path} has version {metadata.get("version")}, this program '
                                 f'reads {VERSION}; start a new session')
            tensors = {name: file.get_tensor(name) for name in file.keys()}
    except (OSError, SafetensorError) as error:
        raise StateError(f'cannot read {path}: {error}; start a new session') from error
    tree = metadata.get('state', '')
    if _checksum(tree, tensors) != metadata.get('checksum'):
        raise StateError(f'{path} is damaged: its checksum differs; start a new session')
    if metadata['model'] != model:
        raise StateError(f'{path} is the state of another model (other weights, sizes or dtype); '
                         'load the checkpoint it was made with, or start a new session')
    saved, ours = json.loads(metadata['config']), json.loads(json.dumps(asdict(config)))
    differing = [f'{key}: saved {saved.get(key)}, here {ours.get(key)}'
                 for key in sorted({*saved, *ours}) if saved.get(key) != ours.get(key)]
    if differing:
        raise StateError(f'{path} was saved with other settings ({"; ".join(differing)}); use '
                         'the same ones, or start a new session')
    return dict(_unpack(json.loads(tree), tensors, device))
