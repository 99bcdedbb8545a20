# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How the network is run in a stream: without gradients, and in fp32 with a CPU's numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lingbot_ros.model.network import Network
import torch


@contextmanager
def inference(network: Network) -> Iterator[None]:
    """
    Run what is inside without gradients.

    In fp32 a stream promises the numbers of a CPU; TF32 convolutions would break that.

    Parameters
    ----------
    network : Network
        Whose device and dtype decide.

    Yields
    ------
    None

    """
    with torch.no_grad():
        if network.device.type != 'cuda':
            yield
            return
        with torch.backends.cudnn.flags(
                enabled=True, allow_tf32=network.dtype != torch.float32):
            yield
