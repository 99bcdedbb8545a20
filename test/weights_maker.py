# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Small weights with drawn values, in the form of those that come with the package."""

import hashlib
from pathlib import Path

from lingbot_ros.config import NetworkConfig
from lingbot_ros.model import embedded
from lingbot_ros.model.network import Network, TINY
from lingbot_ros.model.random_weights import fill_random
from safetensors.torch import save_file


def write_weights(folder: Path, config: NetworkConfig = TINY,
                  metadata: dict[str, str] | None = None) -> Network:
    """Write weights as they are shipped, drawn instead of trained, and their hash."""
    network = Network(config)
    fill_random(network)
    file = folder / embedded.WEIGHTS_NAME
    save_file({name: p.half() for name, p in network.named_parameters()}, file, metadata)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    (folder / embedded.HASH_NAME).write_text(f'{digest}  {embedded.WEIGHTS_NAME}\n')
    return network
