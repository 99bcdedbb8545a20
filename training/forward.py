# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Many sequences at once through the network, each frame seeing what it sees while streaming.

It holds no weights: the modules are the network's own, and a test holds it against the session.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from lingbot_ros.model.aggregator import FrameRole
from lingbot_ros.model.network import Network
from lingbot_ros.model.rope import rotate_halves, rotate_pairs
import torch
from torch import Tensor
import torch.nn.functional as F

Rotation = Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Streaming:
    """
    What a frame may see.

    Attributes
    ----------
    anchors : int
        Frames at the beginning that see each other.
    window : int
        Last frames, this one included, whose patches are seen.

    """

    anchors: int
    window: int


@dataclass(frozen=True, eq=False)
class Tokens:
    """
    Tokens of a batch, and what they are.

    Attributes
    ----------
    taps : list of four Tensors of float32, each of shape [batch, frames, tokens, 2 * width]
        What the heads read: frame-block and global-block output side by side.
    inside : list of Tensor of float32, each of shape [batch, frames, tokens, width]
        Output of every frame block.
    outside : list of Tensor of float32, each of shape [batch, frames, tokens, width]
        Output of every global block.

    """

    taps: list[Tensor]
    inside: list[Tensor]
    outside: list[Tensor]


@cache
def fused_rotations() -> tuple[Rotation, Rotation]:
    """Rotary functions as one kernel each: in eager mode they cost as much as the matrices."""
    return torch.compile(rotate_halves, dynamic=True), torch.compile(rotate_pairs, dynamic=True)


def streaming_attention(q: Tensor, k: Tensor, v: Tensor, specials: int,
                        streaming: Streaming) -> Tensor:
    """
    Attend frame by frame: anchors, window, and the special tokens of every frame before.

    Parameters
    ----------
    q, k, v : Tensor, shape [batch, frames, tokens, heads, head_dim]
        Of all frames.
    specials : int
        Special tokens at the beginning of each frame.
    streaming : Streaming
        What a frame may see.

    Returns
    -------
    Tensor
        Attended values, same shape.

    """
    batch, frames, tokens, heads, width = q.shape
    anchors = min(streaming.anchors, frames)
    k, v = (part.permute(0, 3, 1, 2, 4).flatten(2, 3) for part in (k, v))

    def attend(part: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        queries = part.permute(0, 3, 1, 2, 4).flatten(2, 3)
        out = F.scaled_dot_product_attention(queries, keys, values)
        return out.transpose(1, 2).unflatten(1, (-1, tokens))

    outs = [attend(q[:, :anchors], k[:, :, :anchors * tokens], v[:, :, :anchors * tokens])]
    for frame in range(anchors, frames):
        first = max(anchors, frame + 1 - streaming.window)
        end = (frame + 1) * tokens

        def seen(part: Tensor, first: int = first, end: int = end) -> Tensor:
            if first == anchors:
                return part[:, :, :end]
            lost = part[:, :, anchors * tokens:first * tokens]
            kept = lost.unflatten(2, (-1, tokens))[:, :, :, :specials].flatten(2, 3)
            return torch.cat(
                (part[:, :, :anchors * tokens], kept, part[:, :, first * tokens:end]), dim=2)

        outs.append(attend(q[:, frame:frame + 1], seen(k), seen(v)))
    return torch.cat(outs, dim=1)


def aggregate(network: Network, images: Tensor, streaming: Streaming) -> Tokens:
    """
    Encode and run all blocks.

    Parameters
    ----------
    network : Network
        In training or not.
    images : Tensor of float32, shape [batch, frames, 3, H, W]
        RGB in [0, 1].
    streaming : Streaming
        What a frame may see.

    Returns
    -------
    Tokens
        After every block.

    """
    batch, frames = images.shape[:2]
    aggregator = network.aggregator
    specials = network.config.special_tokens
    roles = [FrameRole(i, i == 0, i < streaming.anchors) for i in range(frames)]
    patches = aggregator.encode(images.flatten(0, 1))
    special = aggregator.special_tokens(roles).float()
    x = torch.cat((special.repeat(batch, 1, 1), patches), dim=1)
    tokens, width = x.shape[1:]
    frame_table, global_table = aggregator.rotary_tables(
        network.grid((images.shape[3], images.shape[4])), roles, x.device)
    halves, pairs = fused_rotations() if x.is_cuda else (rotate_halves, rotate_pairs)

    def rotate(part: Tensor) -> Tensor:
        return pairs(part.unflatten(0, (batch, -1)), *global_table).flatten(0, 1)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = (part.unflatten(0, (batch, frames, tokens)) for part in (q, k, v))
        return streaming_attention(q, k, v, specials, streaming).flatten(0, 2)

    inside, outside = [], []
    for frame_block, global_block in zip(
            aggregator.frame_blocks, aggregator.global_blocks, strict=True):
        x = frame_block(x, rotate=lambda part: halves(part, *frame_table))
        inside.append(x.view(batch, frames, tokens, width))
        x = global_block(x.view(1, -1, width), attend=attend, rotate=rotate).view_as(x)
        outside.append(x.view(batch, frames, tokens, width))
    taps = [torch.cat((inside[layer], outside[layer]), dim=-1) for layer in network.config.taps]
    return Tokens(taps, inside, outside)


def estimate_poses(network: Network, tokens: Tensor, iterations: int,
                   anchors: int) -> list[Tensor]:
    """
    Run the camera head and keep what every refinement iteration says.

    Parameters
    ----------
    network : Network
        Whose camera head runs.
    tokens : Tensor of float32, shape [batch, frames, 2 * width]
        Camera token of the last tap.
    iterations : int
        Refinement iterations.
    anchors : int
        Frames at the beginning that see each other.

    Returns
    -------
    list of Tensor of float32, each of shape [batch, frames, 9]
        Raw sums of the head; the field of view is not rectified yet.

    """
    batch, frames = tokens.shape[:2]
    order = torch.arange(frames, device=tokens.device)
    # A frame sees the frames before it; an anchor sees all anchors.
    mask = order[None, :] <= order[:, None].clamp(min=anchors - 1)

    def attend(_: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = (part.unflatten(0, (batch, frames)).transpose(1, 2) for part in (q, k, v))
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return out.transpose(1, 2).flatten(0, 1)

    return [total.unflatten(0, (batch, frames)) for total in
            network.camera_head.refine(tokens.flatten(0, 1), iterations, attend)]
