# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Weights to begin with: every branch small, every pose the identity."""

from __future__ import annotations

import math

from lingbot_ros.model.network import Network
import torch
from torch import nn

#: Field of view that every pose begins with, radians.
FOV = 1.1


def initialise(network: Network) -> None:
    """
    Fill a network in place.

    Residual branches start at a scale that keeps the sum of all of them near one; the pose branch
    starts at a constant identity pose, and the depth head near its own constant.

    Parameters
    ----------
    network : Network
        Parameters in float32.

    """
    depth = 4 * network.config.blocks
    with torch.no_grad():
        for name, module in network.named_modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=module.in_features ** -0.5)
                nn.init.zeros_(module.bias)
                if name.endswith(('attn.proj', 'mlp.fc2')):
                    module.weight.mul_(1 / math.sqrt(depth))
        aggregator, head = network.aggregator, network.camera_head
        for token in (aggregator.camera_token, aggregator.register_token, aggregator.scale_token):
            nn.init.normal_(token, std=0.5)
        for name, parameter in aggregator.named_parameters():
            if name.endswith('pos_embed'):
                nn.init.normal_(parameter, std=0.1)
        head.poseLN_modulation[1].weight.mul_(0.1)
        head.pose_branch.fc2.weight.mul_(0.01)
        # Four iterations add up to the identity.
        head.pose_branch.fc2.bias.copy_(torch.tensor((0, 0, 0, 0, 0, 0, 1, FOV, FOV)) / 4)
