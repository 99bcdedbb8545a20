# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Joining a new segment to the world that is published.

Both have seen the same frames, and the network answered twice: their poses and depths say how the
new world lies in the old one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lingbot_ros.errors import AlignmentError
from lingbot_ros.geometry.joining import robust_similarity, SimilarityFit
from lingbot_ros.geometry.similarity import Similarity
import numpy as np
from numpy.typing import NDArray
import torch
from torch import Tensor

Pose = NDArray[np.float64]

# A join is bad beyond these: two good answers for the same frames differ by far less.
_WORST_ROTATION_DEG = 3.0
_WORST_TRANSLATION = 0.25  # of the motion of the shared frames
_WORST_SCALE_CHANGE = 2.0  # to the segment before, either way
_WORST_SCALE_SPREAD = 0.35
_LEAST_INLIERS = 0.5
_LEAST_SHARED = 3


@dataclass(frozen=True, eq=False)
class Sight:
    """
    One frame as one segment has seen it.

    Attributes
    ----------
    pose : ndarray of float64, shape [4, 4]
        Camera points to some world.
    depth, confidence : Tensor of float32, shape [n]
        Of some pixels, in the unit of that world, on the network's device.

    """

    pose: Pose
    depth: Tensor
    confidence: Tensor


@dataclass(frozen=True)
class JoinReport:
    """
    How well a segment was joined to what was published before.

    Attributes
    ----------
    kind : str
        'anchors' (the first anchors are complete), 'segment' (a cache was used up),
        'relocalised' (from recent keyframes) or 'restart' (nothing is shared).
    segment : int
        The new segment.
    frame_index, stamp_ns : int
        The frame at which the stream changed over.
    shared_frames : int
        Frames that both have seen.
    scale : float
        Unit of the new segment in published units.
    scale_change : float
        The same over that of the segment before.
    scale_spread : float
        Robust standard deviation of the logarithm of the depth ratios.
    rotation_deg, translation : float
        Residuals of the shared poses, root mean square: degrees, published units.
    translation_relative : float
        Residual over the motion of the shared frames.
    inlier_fraction : float
        Shared frames that agree.
    bad : str
        Why the join is not to be trusted; empty when it is.

    """

    kind: str
    segment: int
    frame_index: int
    stamp_ns: int
    shared_frames: int
    scale: float
    scale_change: float
    scale_spread: float = 0.0
    rotation_deg: float = 0.0
    translation: float = 0.0
    translation_relative: float = 0.0
    inlier_fraction: float = 1.0
    bad: str = ''

    @property
    def summary(self) -> str:
        """The report in a line."""
        return (f'{self.kind} {self.segment} at frame {self.frame_index}: {self.shared_frames} '
                f'frames shared, rotation {self.rotation_deg:.2f} deg, translation '
                f'{self.translation:.3f} ({self.translation_relative:.2f} of the motion), scale '
                f'{self.scale:.3f}{"; bad: " + self.bad if self.bad else ""}')


def restart_report(segment: int, frame_index: int, stamp_ns: int, scale: float,
                   reason: str) -> JoinReport:
    """Report a segment that shares no frame with the one before, which was lost for a reason."""
    return JoinReport(
        'restart', segment, frame_index, stamp_ns, 0, scale, 1.0, inlier_fraction=0.0,
        bad=f'nothing is shared with the segment before, which was lost: {reason}')


def sampled(depth: Tensor, confidence: Tensor, count: int = 1024) -> tuple[Tensor, Tensor]:
    """
    Pick about `count` pixels of a depth image, evenly; copies, so that the image can go.

    Parameters
    ----------
    depth, confidence : Tensor, shape [H, W]
        Alike.
    count : int
        About how many.

    Returns
    -------
    tuple of Tensor, each of shape [n]
        Depth and confidence of the same pixels for every image of this size.

    """
    step = max(1, round((depth.numel() / count) ** 0.5))
    middle = step // 2
    return tuple(image[middle::step, middle::step].flatten().clone()  # type: ignore[return-value]
                 for image in (depth, confidence))


def _ratios(old: Sequence[Sight], new: Sequence[Sight]) -> tuple[Pose, Pose, float]:
    """Depth ratios old over new with weights, and the usual depth of old; one trip to the host."""
    depth_a, depth_b, sure_a, sure_b = (
        torch.stack(rows) for rows in (
            [sight.depth for sight in old], [sight.depth for sight in new],
            [sight.confidence for sight in old], [sight.confidence for sight in new]))
    # The surer half of each frame, where both agree on what that is.
    sure = ((sure_a >= sure_a.median(dim=1, keepdim=True).values)
            & (sure_b >= sure_b.median(dim=1, keepdim=True).values))
    packed = torch.stack((depth_a / depth_b, sure.to(depth_a.dtype), depth_a)).cpu().numpy()
    ratios, weights, depths = packed.astype(np.float64)
    finite = depths[np.isfinite(depths) & (depths > 0)]
    return ratios, weights, float(np.median(finite)) if finite.size else 1.0


def fit_join(old: Sequence[Sight], new: Sequence[Sight],
             scale: float | None = None) -> SimilarityFit:
    """
    Find how the world of the new sights lies in that of the old ones.

    Parameters
    ----------
    old, new : sequence of Sight
        The same frames, at least one.
    scale : float, optional
        Unit of new in units of old where it is known; else depths tell it.

    Returns
    -------
    SimilarityFit

    Raises
    ------
    AlignmentError
        If no frame is finite in both.

    """
    ratios, weights, length = _ratios(old, new)
    return robust_similarity(
        [sight.pose for sight in old], [sight.pose for sight in new], scale=scale,
        depth_ratios=ratios, weights=weights, scene_length=length)


def judge_join(fit: SimilarityFit, kind: str, segment: int, frame_index: int, stamp_ns: int,
               shared_frames: int, scale_before: float) -> JoinReport:
    """
    Report a join, with the reason when it is not to be trusted.

    Parameters
    ----------
    fit : SimilarityFit
        From `fit_join`.
    kind, segment, frame_index, stamp_ns, shared_frames
        See `JoinReport`.
    scale_before : float
        Unit of the segment before in published units.

    Returns
    -------
    JoinReport

    """
    scale = fit.similarity.scale
    change = scale / scale_before
    faults = []
    if fit.rotation_deg > _WORST_ROTATION_DEG:
        faults.append(f'rotations differ by {fit.rotation_deg:.1f} deg')
    if fit.translation_relative > _WORST_TRANSLATION:
        faults.append(f'positions differ by {fit.translation_relative:.2f} of the motion')
    if not 1 / _WORST_SCALE_CHANGE <= change <= _WORST_SCALE_CHANGE and kind == 'segment':
        faults.append(f'the scale changes by a factor of {change:.2f}')
    if fit.scale_spread > _WORST_SCALE_SPREAD:
        faults.append(f'depth ratios spread by {fit.scale_spread:.2f}')
    if fit.inlier_fraction < _LEAST_INLIERS:
        faults.append(f'only {fit.inlier_fraction:.0%} of the shared frames agree')
    if shared_frames < _LEAST_SHARED:
        faults.append(f'only {shared_frames} shared frames')
    return JoinReport(
        kind, segment, frame_index, stamp_ns, shared_frames, scale, change, fit.scale_spread,
        fit.rotation_deg, fit.translation, fit.translation_relative, fit.inlier_fraction,
        '; '.join(faults))


def join(old: Sequence[Sight], new: Sequence[Sight], kind: str, segment: int, frame_index: int,
         stamp_ns: int, scale_before: float) -> tuple[Similarity, JoinReport]:
    """
    Fit and judge; where nothing can be fitted, carry the last frame over and say so.

    Parameters
    ----------
    old, new : sequence of Sight
        The same frames; the last one is that at which the stream changes over.
    kind, segment, frame_index, stamp_ns
        See `JoinReport`. The first anchors keep the unit of the world that they begin, and lie
        where their first frame lies in it.
    scale_before : float
        Unit of the segment before in published units.

    Returns
    -------
    similarity : Similarity
        New world to published world.
    report : JoinReport

    """
    shared = len(old)
    given = scale_before if kind == 'anchors' else None
    try:
        fit = fit_join(old, new, given)
    except AlignmentError as error:
        return (Similarity.from_poses(old[-1].pose, new[-1].pose, scale_before),
                JoinReport(kind, segment, frame_index, stamp_ns, shared, scale_before, 1.0,
                           inlier_fraction=0.0, bad=str(error)))
    report = judge_join(fit, kind, segment, frame_index, stamp_ns, shared, scale_before)
    if kind == 'anchors':
        return Similarity.from_poses(old[0].pose, new[0].pose, scale_before), report
    return fit.similarity, report
