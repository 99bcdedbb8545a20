# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The similarity between two worlds from the cameras both have seen, and how well it fits.

Scale comes from depth ratios: they are known even where the camera did not move. Distances
between camera centres give a second scale that is only compared with the first, unless there
are no depths.
"""

from __future__ import annotations

from dataclasses import dataclass

from lingbot_ros.errors import AlignmentError, ShapeError
from lingbot_ros.geometry.robust import mean_point, mean_rotation, robust_scale, ScaleEstimate
from lingbot_ros.geometry.rotation import rotation_angle
from lingbot_ros.geometry.similarity import as_poses, nearest_rotation, Similarity
import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# Rotations within this of the mean agree, whatever the others do; half of what a good network
# errs between two runs over the same images.
_AGREE_RAD = np.radians(0.05)
# Centres within this part of the scene's length agree.
_AGREE_LENGTH = 1e-3
# Baselines shorter than this part of the scene's length are noise.
_SHORTEST_BASELINE = 0.02


@dataclass(frozen=True, eq=False)
class SimilarityFit:
    """
    A similarity with its residuals, which are root mean squares over the inliers.

    Attributes
    ----------
    similarity : Similarity
        ``S_a_b``.
    scale_source : str
        'depth', 'baseline', 'given', or 'none' when nothing could tell it and 1 was taken.
    scale_spread : float
        Robust standard deviation of the logarithm of the scale samples; 0 if given or none.
    baseline_scale : float or None
        Scale by distances of camera centres; None when the camera hardly moved.
    rotation_deg : float
        Residual rotation, degrees.
    translation : float
        Residual distance of the centres, units of a.
    extent : float
        Largest distance between centres in a: the motion of the shared frames, units of a.
    translation_relative : float
        Residual distance over the extent, or over 2 % of the scene's length where the camera
        moved less.
    inlier_fraction : float
        Frames that agree in rotation and centre, over all frames (those with values that are not
        finite included).

    """

    similarity: Similarity
    scale_source: str
    scale_spread: float
    baseline_scale: float | None
    rotation_deg: float
    translation: float
    extent: float
    translation_relative: float
    inlier_fraction: float


def robust_similarity(T_a_camera: ArrayLike, T_b_camera: ArrayLike, *,
                      scale: float | None = None, depth_ratios: ArrayLike | None = None,
                      weights: ArrayLike | None = None,
                      scene_length: float = 1.0) -> SimilarityFit:
    """
    Fit ``S_a_b`` to the poses of the same frames in two worlds, against up to 40 % outliers.

    Rotation is the robust mean of ``R_a R_b^T`` of all frames, translation that of the offsets of
    all centres. With one frame, or all frames at one place, the fit is exact or a mean there; the
    scale then needs depths.

    Parameters
    ----------
    T_a_camera, T_b_camera : array_like, shape [N, 4, 4]
        Rigid camera poses, N >= 1; frames with a value that is not finite are left out, and
        count as outliers.
    scale : float, optional
        Length of a per length of b, if known.
    depth_ratios : array_like of any shape, optional
        Depth in a over depth in b of confident pixels of the shared frames; used unless `scale`
        is given.
    weights : array_like, shape of depth_ratios, optional
        Trust in the ratios.
    scene_length : float
        Typical depth in a; says what a short distance is.

    Returns
    -------
    SimilarityFit

    Raises
    ------
    ShapeError
        If the poses are not two times the same number.
    AlignmentError
        If no frame is finite in both worlds, or scale or scene_length are not positive.

    """
    T_a, T_b = as_poses(T_a_camera), as_poses(T_b_camera)
    if T_a.shape != T_b.shape:
        raise ShapeError(f'expected as many poses in both worlds, got {len(T_a)} and {len(T_b)}')
    if not (np.isfinite(scene_length) and scene_length > 0):
        raise AlignmentError(f'expected a positive scene_length, got {scene_length!r}')
    finite = np.isfinite(T_a).all((1, 2)) & np.isfinite(T_b).all((1, 2))
    if not finite.any():
        raise AlignmentError(f'expected a frame with finite poses in both worlds, got {len(T_a)} '
                             'frames of which none is')
    frames = len(T_a)
    T_a, T_b = T_a[finite], T_b[finite]
    centres_a, centres_b = T_a[:, :3, 3], T_b[:, :3, 3]

    rotations = T_a[:, :3, :3] @ np.swapaxes(T_b[:, :3, :3], 1, 2)
    R, agree = mean_rotation(rotations, _AGREE_RAD)
    baseline = _baseline_scale(centres_a[agree], centres_b[agree], scene_length)
    found, source = _choose_scale(scale, depth_ratios, weights, baseline)
    offsets = centres_a - found.scale * centres_b @ R.T
    t, close = mean_point(offsets, _AGREE_LENGTH * scene_length)

    used = agree & close
    # Two minorities that do not overlap leave nobody who agrees in both; each mean still holds.
    shown = used if used.any() else close
    extent = float(_distances(centres_a[shown]).max())
    residual = float(np.sqrt(np.square(offsets[shown] - t).sum(1).mean()))
    turn = rotation_angle(rotations[agree] @ R.T)
    return SimilarityFit(
        similarity=Similarity(found.scale, nearest_rotation(R), t),
        scale_source=source, scale_spread=found.spread,
        baseline_scale=None if baseline is None else baseline.scale,
        rotation_deg=float(np.degrees(np.sqrt(np.square(turn).mean()))),
        translation=residual, extent=extent,
        translation_relative=residual / max(extent, _SHORTEST_BASELINE * scene_length),
        inlier_fraction=float(used.sum()) / frames)


def _choose_scale(scale: float | None, depth_ratios: ArrayLike | None, weights: ArrayLike | None,
                  baseline: ScaleEstimate | None) -> tuple[ScaleEstimate, str]:
    if scale is not None:
        return ScaleEstimate(float(scale), 0.0, 0), 'given'
    if depth_ratios is not None and _any_valid(depth_ratios, weights):
        return robust_scale(depth_ratios, weights), 'depth'
    if baseline is not None:
        return baseline, 'baseline'
    return ScaleEstimate(1.0, 0.0, 0), 'none'


def _any_valid(ratios: ArrayLike, weights: ArrayLike | None) -> bool:
    ratio = np.asarray(ratios, dtype=np.float64)
    valid = np.isfinite(ratio) & (ratio > 0)
    if weights is not None:
        trust = np.asarray(weights, dtype=np.float64)
        valid &= np.isfinite(trust) & (trust > 0)
    return bool(valid.any())


def _baseline_scale(centres_a: Array, centres_b: Array,
                    scene_length: float) -> ScaleEstimate | None:
    """
    Scale by distances between centres: the repeated median (Siegel 1982).

    With 40 % of wrong frames most pairs are wrong; but most pairs of a right frame are right.
    Longer distances do not count more, for wrong centres tend to be far away.
    """
    in_a, in_b = _distances(centres_a), _distances(centres_b)
    long = (in_a > _SHORTEST_BASELINE * scene_length) & (in_b > 0)
    medians = [robust_scale(in_a[i, use] / in_b[i, use]).scale
               for i, use in enumerate(long) if use.any()]
    return robust_scale(medians) if medians else None


def _distances(centres: Array) -> Array:
    return np.asarray(np.linalg.norm(centres[:, None] - centres[None], axis=-1))
