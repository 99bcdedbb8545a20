# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Checkpoints: read without executing code, fitted by name, refused with a readable report.

The sizes of the network are read off the tensor shapes, so a small network of the family loads
like the released one. Nothing here downloads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import logging
from pathlib import Path
import pickle
import struct
from typing import Any
import zipfile

from lingbot_ros.config import NetworkConfig
from lingbot_ros.errors import CheckpointError
from lingbot_ros.model.device import resolve_device, resolve_dtype
from lingbot_ros.model.embedded import embedded_file
from lingbot_ros.model.network import EMBEDDED, Network, TINY
from lingbot_ros.model.random_weights import fill_random
from lingbot_ros.model.recommended import METADATA_KEY, parse_recommended, recommend
from lingbot_ros.model.sizes import infer_config, Shapes
from safetensors import safe_open, SafetensorError
import torch
from torch import nn, Tensor

logger = logging.getLogger(__name__)

# Trained beside the streaming heads in some releases; streaming never runs it.
IGNORED_PREFIX = 'point_head.'
# Bytes read through one safetensors mapping; reopening returns the pages already copied.
GROUP_BYTES = 64_000_000
_SHOWN = 5
# What torch's reader raises on damaged bytes: it trusts them more than it should.
_UNREADABLE = (RuntimeError, EOFError, ValueError, OSError, LookupError, TypeError,
               AttributeError, AssertionError, struct.error)


def _listed(what: str, names: list[str]) -> list[str]:
    if not names:
        return []
    more = f' and {len(names) - _SHOWN} more' if len(names) > _SHOWN else ''
    return [f'{len(names)} {what}: {", ".join(names[:_SHOWN])}{more}']


def _check(path: Path, shapes: Shapes, network: nn.Module) -> None:
    expected = {name: tuple(p.shape) for name, p in network.named_parameters()}
    problems = _listed('missing', [name for name in expected if name not in shapes])
    problems += _listed('unexpected', [name for name in shapes if name not in expected])
    problems += _listed('of a wrong shape', [
        f'{name} (expected {list(expected[name])}, got {list(shape)})'
        for name, shape in shapes.items() if name in expected and expected[name] != shape])
    if problems:
        raise CheckpointError(
            f'{path} does not fit the network ({len(expected)} tensors expected): '
            + '; '.join(problems)
            + '. Use a checkpoint of this network family, or pass its sizes as config=')


def _read_pt(path: Path) -> dict[str, Tensor]:
    try:
        with path.open('rb') as file:
            magic = file.read(2)
        if magic != b'PK' and magic[:1] != b'\x80':  # how torch's two formats begin
            raise ValueError('it begins as neither a zip nor a pickle')
        if magic == b'PK' and not zipfile.is_zipfile(path):
            raise ValueError('it is a zip archive that is cut off')
        loaded: Any = torch.load(path, map_location='cpu', weights_only=True)
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            f'{path} holds more than tensors, and loading would execute code: refused. Expected '
            'a dict of tensors, plain or under "model"; save it again with '
            'torch.save(model.state_dict(), path)') from error
    except _UNREADABLE as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
        raise CheckpointError(f'{path} is not a readable PyTorch checkpoint: {reason}. '
                              'Download it again and compare its SHA-256') from error
    if isinstance(loaded, dict) and isinstance(loaded.get('model'), dict):
        loaded = loaded['model']
    if not isinstance(loaded, dict) or not loaded or not all(
            isinstance(k, str) and isinstance(v, Tensor) and _is_plain(v)
            for k, v in loaded.items()):
        raise CheckpointError(f'{path}: expected a dict of tensors, plain or under "model", '
                              f'got {type(loaded).__name__} with other content')
    return loaded


def _is_plain(tensor: Tensor) -> bool:
    return tensor.layout == torch.strided and tensor.device.type == 'cpu'


def _pop_all(tensors: dict[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    # Popping lets each source tensor go as soon as its copy exists: memory stays near one copy.
    while tensors:
        name = next(iter(tensors))
        yield name, tensors.pop(name)


def _safetensors_header(path: Path) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
    """Shapes by tensor name, and the metadata."""
    try:
        with safe_open(path, framework='pt') as file:
            shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}
            return shapes, file.metadata() or {}
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f'{path} is not a readable safetensors file: {error}. '
                              'Download it again and compare its SHA-256') from error


def _stream_safetensors(path: Path, names: list[str]) -> Iterator[tuple[str, Tensor]]:
    rest = iter(names)
    name = next(rest, None)
    while name is not None:
        read = 0
        with safe_open(path, framework='pt') as file:
            while name is not None and read < GROUP_BYTES:
                tensor = file.get_tensor(name)
                read += tensor.nbytes
                yield name, tensor
                del tensor
                name = next(rest, None)


def _place(network: Network, tensors: Iterator[tuple[str, Tensor]], device: torch.device,
           dtype: torch.dtype) -> None:
    for name, tensor in tensors:
        if name.startswith(IGNORED_PREFIX):
            continue
        if not tensor.is_floating_point():
            raise CheckpointError(f'{name}: expected floating point weights, got {tensor.dtype}')
        wanted = dtype if network.takes_dtype(name) else torch.float32
        owner, _, leaf = name.rpartition('.')
        value = tensor.to(device, wanted, copy=True)
        network.get_submodule(owner).register_parameter(
            leaf, nn.Parameter(value, requires_grad=False))


def _config_of(shapes: Shapes) -> NetworkConfig:
    # Six blocks: which ones are tapped does not show in the shapes.
    with torch.device('meta'):
        known = {name: tuple(p.shape) for name, p in Network(EMBEDDED).named_parameters()}
    return EMBEDDED if shapes == known else infer_config(shapes)


def load_network(checkpoint: str | Path = 'embedded', device: str | torch.device = 'auto',
                 dtype: str | torch.dtype = 'auto',
                 config: NetworkConfig | None = None) -> Network:
    """
    Load a network, ready to stream.

    Parameters
    ----------
    checkpoint : str or Path
        'embedded': the weights that come with the package, a small network; a `.pt` file (a dict
        of tensors, plain or under "model") or a `.safetensors` file; or 'random': a small
        network whose weights are drawn and whose poses mean nothing.
    device, dtype : str, torch.device, torch.dtype
        See `resolve_device` and `resolve_dtype`. Encoder and aggregator compute in dtype,
        the heads always in float32.
    config : NetworkConfig, optional
        Sizes; read off the checkpoint by default.

    Returns
    -------
    Network
        In evaluation mode, without gradients; `recommended_stream` says how to run it.

    Raises
    ------
    CheckpointError
        If the file is missing, unreadable, damaged, or does not fit; says which tensors.
    ConfigError
        If device or dtype is unknown or absent.

    """
    place = resolve_device(device)
    number = resolve_dtype(dtype, place)
    if str(checkpoint) == 'random':
        logger.warning('random weights: poses mean nothing')
        return _random_network(config or TINY, place, number)
    if str(checkpoint) == 'embedded':
        logger.info('embedded weights: a small network, good for a first try and for machines '
                    'without a GPU; the released weights are far larger, see docs/checkpoints.md')
        with embedded_file() as path:
            return _load_file(path, place, number, config)
    path = Path(checkpoint)
    try:
        path = path.expanduser()
        found = bool(str(checkpoint)) and path.is_file()
    except (RuntimeError, OSError):  # no such user; a name too long for the system
        found = False
    if not found:
        raise CheckpointError(f'no checkpoint at {str(checkpoint)!r} (looked at '
                              f"{path.absolute()}); set checkpoint to 'embedded', to a .pt or "
                              ".safetensors file, or to 'random' for a network whose poses mean "
                              'nothing')
    return _load_file(path, place, number, config)


def _load_file(path: Path, device: torch.device, dtype: torch.dtype,
               config: NetworkConfig | None) -> Network:
    source: Callable[[], Iterator[tuple[str, Tensor]]]
    metadata: dict[str, str] = {}
    if path.suffix == '.safetensors':
        shapes, metadata = _safetensors_header(path)
        names = list(shapes)
        source = lambda: _stream_safetensors(path, names)  # noqa: E731
    else:
        tensors = _read_pt(path)
        shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
        source = lambda: _pop_all(tensors)  # noqa: E731
    ignored = [name for name in shapes if name.startswith(IGNORED_PREFIX)]
    if ignored:
        logger.info('%s: ignoring %d tensors of %s*', path, len(ignored), IGNORED_PREFIX)
        shapes = {name: shape for name, shape in shapes.items() if name not in set(ignored)}
    with torch.device('meta'):
        network = Network(config or _config_of(shapes))
    _check(path, shapes, network)
    if METADATA_KEY in metadata:
        recommend(network, parse_recommended(metadata[METADATA_KEY], str(path)))
    _place(network, source(), device, dtype)
    return network.eval().requires_grad_(False)


def _random_network(config: NetworkConfig, device: torch.device, dtype: torch.dtype) -> Network:
    network = Network(config)
    fill_random(network)
    network.cast(dtype)
    network.is_random = True
    return network.to(device).eval().requires_grad_(False)
