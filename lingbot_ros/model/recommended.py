# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The settings of a stream that weights were trained for, as a checkpoint carries them.

A `.safetensors` file says them in its metadata, under `lingbot_ros`: JSON whose entry `stream`
names fields of StreamConfig, those of its parts as objects. Weights that say nothing, as the
released ones, get StreamConfig's defaults.

>>> parse_recommended('{"stream": {"window": 12, "segments": {"keyframes": 96}}}', 'a file').window
12
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
import json
from typing import Any

from lingbot_ros.config import StreamConfig
from lingbot_ros.errors import CheckpointError, ConfigError
from lingbot_ros.model.network import Network
from lingbot_ros.stream_parts import (
    AnchorConfig,
    CovarianceModel,
    KeyframeConfig,
    SegmentConfig,
    TrackingConfig,
)
from torch import nn

METADATA_KEY = 'lingbot_ros'

_PARTS: dict[str, type] = {
    'anchors': AnchorConfig, 'covariance': CovarianceModel, 'keyframes': KeyframeConfig,
    'segments': SegmentConfig, 'tracking': TrackingConfig}
# What to hand out is the user's choice, whatever the weights were trained for.
_NAMES = sorted(set(vars(StreamConfig())) - {'depth'})


class _Recommended(nn.Module):
    """A child without tensors: it goes where its network goes, through moves and copies."""

    def __init__(self, stream: StreamConfig) -> None:
        super().__init__()
        self.stream = stream


def recommend(network: nn.Module, stream: StreamConfig) -> None:
    """Attach the settings that a network's weights were trained for."""
    network.add_module('recommended', _Recommended(stream))


def recommended_stream(network: nn.Module) -> StreamConfig:
    """
    Return the settings that a network's weights were trained for.

    Parameters
    ----------
    network : Network
        From `load_network`.

    Returns
    -------
    StreamConfig
        The defaults where the checkpoint says nothing. To change a few of them, use
        `dataclasses.replace`.

    """
    for child in network.children():
        if isinstance(child, _Recommended):
            return child.stream
    return StreamConfig()


def believable(network: Network, stream: StreamConfig) -> StreamConfig:
    """
    Return the settings without judgement of poses where weights are random.

    Their poses mean nothing and would all be lost, and what surrounds them could not be tried.
    """
    return replace(stream, tracking=None) if network.is_random else stream


def parse_recommended(text: str, where: str) -> StreamConfig:
    """
    Read the settings from a checkpoint's metadata.

    Parameters
    ----------
    text : str
        JSON: an object whose entry `stream`, if there is one, is an object of settings. Other
        entries describe the weights, and are left alone.
    where : str
        The file, for messages.

    Returns
    -------
    StreamConfig
        The settings over the defaults.

    Raises
    ------
    CheckpointError
        If it is no such JSON, or a setting is unknown or out of range.

    """
    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f'{where}: expected JSON under {METADATA_KEY!r} in the metadata, '
                              f'got {text[:40]!r}: {error}. Save the file again') from error
    stream = document.get('stream', {}) if isinstance(document, dict) else None
    if not isinstance(stream, dict):
        raise CheckpointError(f'{where}: expected an object with an object "stream" under '
                              f'{METADATA_KEY!r} in the metadata, got {text[:80]!r}')
    try:
        settings = {name: _part(name, value) for name, value in
                    _known('stream', stream, _NAMES).items()}
        return StreamConfig(**settings)
    except ConfigError as error:
        raise CheckpointError(f'{where}: the metadata holds stream settings that cannot be used: '
                              f'{error}. It may need a newer version of lingbot_ros') from error


def _known(what: str, values: Mapping[str, Any], names: list[str]) -> Mapping[str, Any]:
    for name in values:
        if name not in names:
            raise ConfigError(f'{what} has no setting {name!r}; it has {", ".join(names)}')
    return values


def _part(name: str, value: Any) -> Any:
    kind = _PARTS.get(name)
    if kind is None:
        return value
    if not isinstance(value, dict):
        raise ConfigError(f'{name} must be an object, got {value!r}')
    default = vars(kind())
    for key, setting in _known(name, value, sorted(default)).items():
        allowed = (int, float) if isinstance(default[key], float) else (type(default[key]),)
        if type(setting) not in allowed:
            raise ConfigError(f'{name} {key} must be of type {type(default[key]).__name__}, '
                              f'got {setting!r}')
    return kind(**value)
