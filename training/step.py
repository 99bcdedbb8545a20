# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One training step: a sample in, gradients and measures out."""

from __future__ import annotations

from dataclasses import dataclass

from lingbot_ros.model.network import Network
import torch
from torch import Tensor

from training.forward import aggregate, estimate_poses, Streaming
from training.losses import Auxiliary, depth_loss, pose_loss
from training.targets import make_targets
from training.worlds import Batch

ITERATIONS = 4


@dataclass(frozen=True)
class Weights:
    """Weights of the losses."""

    depth: float = 1.0
    match: float = 0.3
    flow: float = 0.2
    point: float = 0.5


def step_loss(network: Network, auxiliary: Auxiliary, sample: Batch, streaming: Streaming,
              weights: Weights, depth_frames: int) -> tuple[Tensor, dict[str, Tensor]]:
    """
    Run a sample and add up the losses.

    Parameters
    ----------
    network : Network
        In float32; matrices run in bfloat16 on a GPU.
    auxiliary : Auxiliary
        Heads of training.
    sample : Batch
        Sequences, from a pool.
    streaming : Streaming
        What a frame may see.
    weights : Weights
        Of the losses.
    depth_frames : int
        Frames whose depth is compared; the head works at full resolution and costs most.

    Returns
    -------
    tuple
        The loss, and measures by name.

    """
    config = network.config
    specials = config.special_tokens
    targets = make_targets(
        sample, min(streaming.anchors, sample.images.shape[1]), config.patch_px)
    images = sample.images
    size = (images.shape[3], images.shape[4])
    with torch.autocast(images.device.type, torch.bfloat16, enabled=images.is_cuda):
        tokens = aggregate(network, images, streaming)
        extra = auxiliary(tokens.inside, tokens.outside, specials, targets)
        taps = [tap.flatten(0, 1) for tap in tokens.taps]
        chosen = torch.randperm(len(taps[0]), device=images.device)[:depth_frames]
        logits = network.depth_head.logits([tap[chosen] for tap in taps], size)
    totals = estimate_poses(network, tokens.taps[-1][:, :, 0].float(), ITERATIONS,
                            streaming.anchors)
    pose, measures = pose_loss(totals, targets)
    deep, error = depth_loss(logits.float(), targets.depth.flatten(0, 1)[chosen])
    loss = pose + weights.depth * deep + sum(
        (extra[name] * value for name, value in vars(weights).items() if name != 'depth'),
        torch.zeros_like(pose))
    measures.update(extra, loss=loss, pose=pose, depth=deep, depth_error=error)
    return loss, {name: value.detach() for name, value in measures.items()}
