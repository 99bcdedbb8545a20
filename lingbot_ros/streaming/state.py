# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The file of a running session: one safetensors file, whose metadata hold the rest as JSON.

Nothing in it can run code. It says which version wrote it and for which model, and a checksum
finds damage that the format itself does not see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
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
VERSION = 2

_TENSOR, _ARRAY = '$tensor', '$array'
# Values of each weight tensor that identify a model.
_SAMPLED = 64
_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True, eq=False)
class SavedSession:
    """
    All that a session needs to go on.

    Attributes
    ----------
    window : int
        Keyframes.
    size : tuple of int, or None
        Height and width of the network input, pixels; None before the first frame.
    frames, resets : int
        Counters.
    reset_reason : str
        Of the last reset.
    gathered : list of (Tensor of float32, shape [3, H, W]; int)
        Images that wait to be anchors, RGB in [0, 1], and their stamps, nanoseconds.
    track : dict, or None
        `PoseStream.state`, where anchors have run.

    """

    window: int
    size: tuple[int, int] | None
    frames: int
    resets: int
    reset_reason: str
    gathered: list[tuple[Tensor, int]]
    track: dict[str, Any] | None


def fingerprint(network: Network) -> str:
    """
    Hash sizes, dtype, and some values and the sum of every weight, which differ between models.

    All values count. They are summed as integers, so that neither the device nor the number of
    threads changes the sum.

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
    numbers = []
    for name, weight in sorted(network.named_parameters()):
        digest.update(name.encode())
        bits = weight.detach().flatten().view(_INTEGERS[weight.element_size()])
        step = max(1, bits.numel() // _SAMPLED)
        numbers += [bits[::step].to(torch.int64), bits.sum(dtype=torch.int64)[None]]
    # Together, so that a GPU is waited for once.
    digest.update(torch.cat(numbers).cpu().numpy().tobytes())
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


def _checksum(metadata: Mapping[str, str], tensors: Mapping[str, Tensor]) -> str:
    described = [[name, str(tensor.dtype), list(tensor.shape)]
                 for name, tensor in sorted(tensors.items())]
    header = [metadata.get(key) for key in ('version', 'model', 'config', 'state')]
    crc = zlib.crc32(json.dumps([header, described]).encode())
    for name in sorted(tensors):
        crc = zlib.crc32(tensors[name].flatten().view(torch.uint8).numpy().data, crc)
    return f'{crc:08x}'


@contextmanager
def refuse_damage(path: str | Path) -> Iterator[None]:
    """
    Refuse a state whose parts are missing or do not fit together.

    Parameters
    ----------
    path : str or Path
        The file, for messages.

    Raises
    ------
    StateError
        In place of what the malformed part raises inside the `with` block.

    """
    try:
        yield
    except (LookupError, TypeError, ValueError, RecursionError) as error:
        raise StateError(f'{path} is damaged: {type(error).__name__}: {error}; start a new '
                         'session') from error


def write_session(path: str | Path, network: Network, config: StreamConfig,
                  session: SavedSession) -> None:
    """
    Write a session; the file appears whole or not at all.

    Parameters
    ----------
    path : str or Path
        Replaced if it exists; where it is a link, the file that it points to.
    network : Network
        Of the session.
    config : StreamConfig
        Of the session.
    session : SavedSession
        What to write.

    Raises
    ------
    StateError
        If it cannot be written, or something other than a file is there.

    """
    tensors: dict[str, Tensor] = {}
    tree = json.dumps(_pack(vars(session), tensors))
    metadata = {
        'format': FORMAT, 'version': str(VERSION), 'model': fingerprint(network),
        'config': json.dumps(asdict(config)), 'state': tree}
    metadata['checksum'] = _checksum(metadata, tensors)
    try:
        # A link stays, and its target is replaced.
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            raise StateError(f'cannot write {target}: expected a file or nothing there; choose '
                             'another place')
        _replace(target, tensors, metadata)
    except (OSError, ValueError, SafetensorError) as error:
        raise StateError(f'cannot write {path}: {error}; choose another place') from error


def _replace(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    part = path.with_name(path.name + '.part')
    try:
        save_file(tensors, part, metadata)
        _sync(part)
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
    # The new name outlasts a power cut as well; some file systems cannot sync a folder.
    with suppress(OSError):
        _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_session(path: str | Path, network: Network, config: StreamConfig) -> SavedSession:
    """
    Read a session that the same network and settings wrote.

    Parameters
    ----------
    path : str or Path
        From `write_session`.
    network : Network
        Of the session that goes on; tensors go to its device.
    config : StreamConfig
        Of that session.

    Returns
    -------
    SavedSession
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
    except (OSError, ValueError, SafetensorError) as error:
        raise StateError(f'cannot read {path}: {error}; start a new session') from error
    if _checksum(metadata, tensors) != metadata.get('checksum'):
        raise StateError(f'{path} is damaged: its checksum differs; start a new session')
    if metadata.get('model') != fingerprint(network):
        raise StateError(f'{path} is the state of another model (other weights, sizes or dtype); '
                         'load the checkpoint it was made with, or start a new session')
    with refuse_damage(path):
        saved, ours = dict(json.loads(metadata['config'])), json.loads(json.dumps(asdict(config)))
        differing = [f'{key}: saved {saved.get(key)}, here {ours.get(key)}'
                     for key in sorted({*saved, *ours}) if saved.get(key) != ours.get(key)]
        if differing:
            raise StateError(f'{path} was saved with other settings ({"; ".join(differing)}); '
                             'use the same ones, or start a new session')
        state = _unpack(json.loads(metadata['state']), tensors, network.device)
        return SavedSession(**{
            **state, 'size': state['size'] and (state['size'][0], state['size'][1]),
            'gathered': [(pixels, stamp_ns) for pixels, stamp_ns in state['gathered']]})
