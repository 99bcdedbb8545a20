# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A network whose poses could be those of a camera."""

import copy

from lingbot_ros import Network
import pytest
import torch


@pytest.fixture(scope='session')
def calm_network(tiny_network) -> Network:
    """Random weights, but small motions and a field of view of about a radian; never written."""
    network = copy.deepcopy(tiny_network)
    last = network.camera_head.pose_branch.fc2
    last.weight.data *= 0.02
    # Four iterations at most add up: the quaternion is normalised, the field of view is not.
    last.bias.data = torch.tensor([0, 0, 0, 0, 0, 0, 1, 0.4, 0.5])
    return network
