# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The whole sequence at once: what streaming must equal, written from the visibility rule alone.

No pages, no table: one attention over the tokens of all frames under a mask, and camera keys in
plain lists.
"""

from __future__ import annotations

from dataclasses import dataclass

from lingbot_ros import Network
from lingbot_ros.model.aggregator import FrameRole
import torch
from torch import Tensor
import torch.nn.functional as F


@dataclass(frozen=True)
class Plan:
    """
    What each frame is, and the window when it comes.

    `late`: whether a frame is kept is decided after it was seen; it then sees what a transient
    does.
    """

    anchors: int
    kept: list[bool]
    windows: list[int]
    late: bool = False


def visible_frames(plan: Plan) -> list[tuple[set[int], set[int]]]:
    """Frames whose patches, and whose special tokens, each frame sees."""
    anchors = set(range(plan.anchors))
    seen: list[tuple[set[int], set[int]]] = [(anchors, anchors)] * plan.anchors
    recent: list[int] = []
    specials = set(anchors)
    for index in range(plan.anchors, len(plan.kept)):
        window = plan.windows[index]
        recent = recent[-window:]
        as_transient = (anchors | set(recent) | {index}, specials | {index})
        if plan.kept[index]:
            recent = [*recent, index][-window:]
            specials = specials | {index}
        seen.append((anchors | set(recent), specials) if plan.kept[index] and not plan.late
                    else as_transient)
    return seen


def attention_mask(plan: Plan, specials: int, tokens: int) -> Tensor:
    """Mask [frames * tokens, frames * tokens], true where a query sees a key."""
    frames = len(plan.kept)
    mask = torch.zeros(frames, frames, tokens, dtype=torch.bool)
    for query, (patch_frames, special_frames) in enumerate(visible_frames(plan)):
        mask[query, sorted(patch_frames), specials:] = True
        mask[query, sorted(special_frames), :specials] = True
    return mask.reshape(frames, -1).repeat_interleave(tokens, dim=0)


def run(network: Network, images: Tensor, plan: Plan, iterations: int) -> tuple[Tensor, Tensor]:
    """Pose encodings [frames, 9] and depths [frames, H, W]."""
    size = (images.shape[2], images.shape[3])
    kept_before = [sum(plan.kept[:i]) for i in range(len(images))]
    roles = [FrameRole(f, i == 0, i < plan.anchors) for i, f in enumerate(kept_before)]
    rows, columns = network.grid(size)
    mask = attention_mask(plan, 6, 6 + rows * columns)

    def attend(_layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = (part.transpose(0, 1) for part in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(0, 1)

    with torch.no_grad():
        taps = network.aggregate(network.encode(images), size, roles, attend)
        depth, _ = network.depth(taps, size)
        memory: dict[int, list[Tensor]] = {}
        poses = []
        groups = [range(plan.anchors)] + [range(i, i + 1)
                                          for i in range(plan.anchors, len(images))]
        for group in groups:
            keep = plan.kept[group[0]]

            def extend(entry: int, k: Tensor, v: Tensor, keep: bool = keep):
                old = memory.get(entry, [])
                both = [*old, torch.stack((k, v))]
                if keep:
                    memory[entry] = both
                keys, values = torch.cat(both, dim=1)
                return keys.transpose(0, 1), values.transpose(0, 1)

            poses.append(network.pose([tap[list(group)] for tap in taps], iterations, extend))
    return torch.cat(poses), depth
