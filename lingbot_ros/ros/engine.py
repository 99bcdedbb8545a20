# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Network and session as the node needs them; no ROS import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lingbot_ros.config import StreamConfig
from lingbot_ros.ros.parameters import describe, stream_config
from lingbot_ros.ros.tracker import Session
from lingbot_ros.ros.transforms import Matrix


@dataclass(frozen=True)
class Engine:
    """
    A session that is ready, and what to say about it.

    Attributes
    ----------
    session : Session
        Fresh.
    is_random : bool
        Whether the weights mean nothing.
    trained : StreamConfig
        Settings the weights were trained for.
    settings : str
        What the automatic parameters came to, and who decided.
    device, dtype, backend : str
        What was chosen, and why.
    original_K : callable
        Maps intrinsics of the processed image, and the original image's height and width, to
        intrinsics of the original image; raises ImageError for a size the network cannot take.

    """

    session: Session
    is_random: bool
    trained: StreamConfig
    settings: str
    device: str
    dtype: str
    backend: str
    original_K: Callable[[Matrix, tuple[int, int]], Matrix]


def open_engine(values: Mapping[str, object]) -> Engine:
    """
    Load the network and open a session.

    Parameters
    ----------
    values : mapping of str to object
        Checked parameter values by name.

    Returns
    -------
    Engine

    Raises
    ------
    CheckpointError, ConfigError, BackendError
        One line that says what to change.

    """
    # Imported here, in the worker thread: torch takes seconds, and the node answers meanwhile.
    from lingbot_ros import load_network, StreamSession
    from lingbot_ros.model.recommended import believable, recommended_stream
    from lingbot_ros.streaming.preprocess import crop_geometry

    network = load_network(
        str(values['checkpoint']), str(values['device']), str(values['dtype']))
    trained = recommended_stream(network)
    config = believable(network, stream_config(values, trained))
    session = StreamSession(network, config, str(values['backend']))
    patch_px = network.config.patch_px

    def original_K(K: Matrix, size: tuple[int, int]) -> Matrix:
        return crop_geometry(*size, config.image_size, patch_px).source_intrinsics(K)

    cuda = 'sees one' if network.device.type == 'cuda' else 'sees none'
    return Engine(
        session, network.is_random, trained, describe(values, config),
        _chosen(str(network.device), values['device'], f'CUDA where PyTorch sees one; it {cuda}'),
        _chosen(str(network.dtype).removeprefix('torch.'), values['dtype'],
                f'for {network.device.type}'),
        f'{session.backend_name} ({session.backend_reason})', original_K)


def _chosen(what: str, asked: object, why: str) -> str:
    return f'{what} (auto: {why})' if asked == 'auto' else f'{what} (chosen by name)'
