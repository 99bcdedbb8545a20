# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Losses of poses and depth, and the auxiliary ones that teach the tokens to match."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn, Tensor
import torch.nn.functional as F

from training.targets import correspondences, Targets, world_points

#: Relative poses are compared over these many frames.
LAGS = (1, 2, 4, 8, 16, 32)
#: Motion below these does not make a relative error larger: scene units, radians.
LEAST_MOTION = 0.03
LEAST_TURN = 0.05
#: Weight of a refinement iteration against the next one.
ITERATION_DECAY = 0.7
#: Of the log-confidence; the larger, the surer the network dares to be.
CONFIDENCE_WEIGHT = 0.2
#: Bound of log (confidence - 1).
MOST_CONFIDENT = 4.0
#: Inverse temperature of the matching loss; descriptors have unit length, so it is a bound.
SHARPNESS = 16.0
#: Auxiliary flow is bounded to this many patches.
FLOW_BOUND = 24.0


def matrices(quaternion: Tensor) -> Tensor:
    """Rotation matrices [..., 3, 3] of quaternions xyzw [..., 4] of any length."""
    x, y, z, w = F.normalize(quaternion, dim=-1, eps=1e-4).unbind(-1)
    return torch.stack((
        1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
        2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
        2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y),
    ), dim=-1).unflatten(-1, (3, 3))


def turn(a: Tensor, b: Tensor) -> Tensor:
    """Angle between rotations [..., 3, 3], radians, by the chord (smooth at zero)."""
    return (((a - b).square().sum((-2, -1)) / 2) + 1e-6).sqrt()


def length(vector: Tensor) -> Tensor:
    """Length of vectors [..., n], smooth at zero."""
    return (vector.square().sum(-1) + 1e-6).sqrt()


def relative(rotation: Tensor, translation: Tensor, lag: int) -> tuple[Tensor, Tensor]:
    """
    Poses of frames as seen from the frame `lag` before.

    Parameters
    ----------
    rotation : Tensor, shape [..., frames, 3, 3]
        World from camera.
    translation : Tensor, shape [..., frames, 3]
        Camera centres.
    lag : int
        Frames.

    Returns
    -------
    tuple of Tensor
        Rotation [..., frames - lag, 3, 3] and translation [..., frames - lag, 3].

    """
    back = rotation[..., :-lag, :, :].mT
    step = (translation[..., lag:, :] - translation[..., :-lag, :])[..., None]
    return back @ rotation[..., lag:, :, :], (back @ step)[..., 0]


def pose_loss(totals: list[Tensor], targets: Targets) -> tuple[Tensor, dict[str, Tensor]]:
    """
    Absolute and relative pose errors of every refinement iteration.

    Parameters
    ----------
    totals : list of Tensor of float32, each of shape [batch, frames, 9]
        From `estimate_poses`.
    targets : Targets
        Truth.

    Returns
    -------
    tuple
        The loss, and measures of the last iteration: degrees and relative lengths.

    """
    stacked = torch.stack(totals)
    count, _, frames, _ = stacked.shape
    translation, quaternion, fov = stacked[..., :3], stacked[..., 3:7], stacked[..., 7:]
    rotation = matrices(quaternion)
    far = 0.3 + length(targets.translation)

    def each(error: Tensor) -> Tensor:
        return error.flatten(1).mean(1)

    parts = 2 * each(turn(rotation, targets.rotation))
    parts = parts + each(length(translation - targets.translation) / far)
    parts = parts + 2 * each((fov - targets.fov[:, None]).abs())
    parts = parts + 0.1 * each((quaternion.square().sum(-1) - 1).square().clamp(max=4))
    measures = {'fov_deg': (fov[-1] - targets.fov[:, None]).detach().abs().rad2deg().median()}
    lags = [lag for lag in LAGS if lag < frames]
    still = torch.eye(3, device=stacked.device)
    for lag in lags:
        R, t = relative(rotation, translation, lag)
        R_true, t_true = relative(targets.rotation, targets.translation, lag)
        turned, moved = turn(R_true, still), length(t_true)
        angle, error = turn(R, R_true), length(t - t_true)
        parts = parts + (each(angle / (LEAST_TURN + turned))
                         + each(error / (LEAST_MOTION + moved))) * 2 / len(lags)
        if lag in (1, 8):
            direction = F.cosine_similarity(t[-1].detach(), t_true, dim=-1).clamp(-1, 1).acos()
            shown = torch.where(moved > LEAST_MOTION, direction.rad2deg(), torch.nan)
            measures[f'rotation_{lag}_deg'] = angle[-1].detach().rad2deg().median()
            measures[f'direction_{lag}_deg'] = shown.nanmedian()
            measures[f'translation_{lag}'] = (
                error[-1].detach() / (LEAST_MOTION + moved)).median()
    powers = torch.arange(count - 1, -1, -1, device=stacked.device)
    return (parts * ITERATION_DECAY ** powers).sum(), measures


def depth_loss(logits: Tensor, truth: Tensor) -> tuple[Tensor, Tensor]:
    """
    Error of log depth weighed by the confidence, which pays for being unsure.

    Parameters
    ----------
    logits : Tensor of float32, shape [frames, 2, H, W]
        Log depth, log (confidence - 1).
    truth : Tensor of float32, shape [frames, H, W]
        Depth; 0 where there is nothing.

    Returns
    -------
    tuple of Tensor
        The loss, and the median relative error.

    """
    seen = truth > 0
    log_depth, doubt = logits.unbind(1)
    error = (log_depth - truth.clamp(min=1e-3).log()).abs()
    # Where errors vanish the best confidence is infinite, so it is bounded, and called back.
    bounded = doubt.clamp(max=MOST_CONFIDENT)
    confidence = 1 + bounded.exp()
    cost = confidence * error - CONFIDENCE_WEIGHT * confidence.log()
    cost = cost * seen + 0.01 * (doubt - bounded).square()
    return cost.sum() / seen.sum().clamp(min=1), error.detach()[seen].median()


@dataclass(frozen=True)
class AuxiliarySizes:
    """Which blocks the auxiliary heads read: descriptors, flow, points."""

    match_block: int
    flow_block: int
    point_block: int


class Auxiliary(nn.Module):
    """
    Linear heads on patch tokens, used in training alone.

    Descriptors make a frame block's output comparable between frames, flow makes a global block
    find where each patch came from, points make the last one place it in the world. What they
    output is bounded: descriptors have unit length, flow goes through a tanh, and points are
    compared with bounded targets.

    Parameters
    ----------
    width : int
        Token width.
    sizes : AuxiliarySizes
        Blocks to read.

    """

    def __init__(self, width: int, sizes: AuxiliarySizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.descriptor = nn.Linear(width, 64)
        self.flow_norm, self.point_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.flow = nn.Linear(width, 4)
        self.point = nn.Linear(width, 3)

    def forward(self, inside: list[Tensor], outside: list[Tensor], specials: int,
                targets: Targets) -> dict[str, Tensor]:
        """Losses by name: match, flow, point."""
        sizes = self.sizes
        descriptor = F.normalize(
            self.descriptor(inside[sizes.match_block][:, :, specials:]).float(), dim=-1)
        flow = self.flow(self.flow_norm(outside[sizes.flow_block][:, :, specials:])).float()
        flow = FLOW_BOUND * (flow / FLOW_BOUND).tanh()
        point = self.point(self.point_norm(outside[sizes.point_block][:, :, specials:])).float()
        frames = descriptor.shape[1]
        match, moved = [], []
        for index, lag in enumerate((1, 4)):
            if lag < frames:
                position, seen = correspondences(targets, lag)
                match.append(matching_loss(descriptor[:, lag:], descriptor[:, :-lag], position,
                                           seen, targets.cells.shape[3]))
                here = patch_positions(targets)
                error = length(flow[:, lag:, :, 2 * index:2 * index + 2] - (position - here))
                moved.append((error * seen).sum() / seen.sum().clamp(min=1))
        points, there = world_points(targets)
        error = length(point - points) / (0.3 + targets.cells.flatten(2))
        return {'match': torch.stack(match).mean(), 'flow': torch.stack(moved).mean(),
                'point': (error * there).sum() / there.sum().clamp(min=1)}


def patch_positions(targets: Targets) -> Tensor:
    """Column and row of each patch, [patches, 2]."""
    rows, columns = targets.cells.shape[2:]
    device = targets.cells.device
    x = torch.arange(columns, device=device, dtype=torch.float32).expand(rows, -1)
    y = torch.arange(rows, device=device, dtype=torch.float32)[:, None].expand(-1, columns)
    return torch.stack((x, y), dim=-1).flatten(0, 1)


def matching_loss(query: Tensor, key: Tensor, position: Tensor, seen: Tensor,
                  columns: int) -> Tensor:
    """
    Cross entropy between similarity and the four patches around the true position.

    Parameters
    ----------
    query, key : Tensor of float32, shape [batch, pairs, patches, features]
        Unit descriptors of each frame and of the earlier one.
    position : Tensor of float32, shape [batch, pairs, patches, 2]
        Column and row in the earlier frame.
    seen : Tensor of bool, shape [batch, pairs, patches]
        Where there is a match.
    columns : int
        Patches a row.

    Returns
    -------
    Tensor
        Mean over what is seen.

    """
    patches = query.shape[2]
    rows = patches // columns
    logs = (SHARPNESS * query @ key.mT).log_softmax(-1)
    column = position[..., 0].clamp(0, columns - 1)
    row = position[..., 1].clamp(0, rows - 1)
    left = column.long().clamp(max=max(columns - 2, 0))
    top = row.long().clamp(max=max(rows - 2, 0))
    right_share, bottom_share = column - left, row - top
    right, bottom = (left + 1).clamp(max=columns - 1), (top + 1).clamp(max=rows - 1)
    cost = torch.zeros_like(column)
    for x, x_share in ((left, 1 - right_share), (right, right_share)):
        for y, y_share in ((top, 1 - bottom_share), (bottom, bottom_share)):
            log = logs.gather(3, (y * columns + x)[..., None])[..., 0]
            cost = cost - x_share * y_share * log
    return (cost * seen).sum() / seen.sum().clamp(min=1)
