# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What training runs is what streams: the batched forward pass against the session."""

from __future__ import annotations

from lingbot_ros import StreamConfig, StreamSession
from lingbot_ros.model.network import Network
from lingbot_ros.model.random_weights import fill_random
import pytest
from small_network import SMALL
import torch

from training.forward import aggregate, estimate_poses, Streaming


@pytest.mark.parametrize(('anchors', 'window'), [(1, 1), (3, 2), (3, 20), (9, 4)])
def test_equals_the_session(anchors, window):
    network = Network(SMALL)
    fill_random(network)
    network.eval()
    images = torch.rand(2, 9, 3, 32, 48, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        tokens = aggregate(network, images, Streaming(anchors, window))
        poses = estimate_poses(network, tokens.taps[-1][:, :, 0], 4, anchors)[-1]
        poses = torch.cat((poses[..., :7], poses[..., 7:].relu()), dim=-1)
        depth, _ = network.depth([tap.flatten(0, 1) for tap in tokens.taps], (32, 48))
    for row in range(2):
        session = StreamSession(network, StreamConfig(
            anchor_frames=anchors, window=window, image_size=48, max_keyframes=16), 'sdpa')
        estimates = list(session.stream((image, i) for i, image in enumerate(images[row])))
        assert len(estimates) == 9
        streamed = torch.stack([torch.from_numpy(e.pose_encoding) for e in estimates])
        torch.testing.assert_close(poses[row], streamed, atol=2e-5, rtol=1e-4)
        torch.testing.assert_close(
            depth.unflatten(0, (2, 9))[row], torch.stack([e.depth for e in estimates]),
            atol=1e-5, rtol=1e-4)
