# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Means that a minority of wild values cannot move: of ratios, of rotations, of points.

Each begins where most values are (a median), and ends with the plain mean of the values near it,
so that clean data lose nothing. They hold with up to 40 % outliers.
"""

from __future__ import annotations

from dataclasses import dataclass

from lingbot_ros.errors import AlignmentError, ShapeError
from lingbot_ros.geometry.rotation import (
    matrix_from_rotation_vector,
    rotation_angle,
    rotation_vector,
)
import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# Median absolute deviation to the standard deviation of a Gaussian.
_MAD_TO_STDDEV = 1.4826
# Values further than this many standard deviations from the centre are outliers.
_CUT = 3.0
# Vectors further than this many times the median distance are: 99 % of a Gaussian in space lies
# nearer, and with 40 % of outliers the bound still is under five of its standard deviations.
_CUT_DISTANCE = 2.2
# Logarithms this close are equal.
_EQUAL = 1e-12
# The median only chooses whom to take the mean of: it need not be exact.
_ITERATIONS = 30
_CONVERGED = 1e-6


@dataclass(frozen=True)
class ScaleEstimate:
    """
    A ratio of lengths from many noisy ones.

    Attributes
    ----------
    scale : float
        The ratio, > 0.
    spread : float
        Robust standard deviation of the samples' logarithm: 0.1 is about 10 %.
    samples : int
        Valid samples it was made from.

    """

    scale: float
    spread: float
    samples: int


def weighted_median(values: ArrayLike, weights: ArrayLike) -> float:
    """
    Median of weighted values: half the weight lies on either side.

    Parameters
    ----------
    values : array_like, shape [N]
        Finite, N >= 1.
    weights : array_like, shape [N]
        >= 0, not all 0.

    Returns
    -------
    float

    """
    x = np.asarray(values, dtype=np.float64)
    order = np.argsort(x)
    half = np.cumsum(np.asarray(weights, dtype=np.float64)[order])
    half /= half[-1]
    low = int(np.searchsorted(half, 0.5 - 1e-12))
    high = int(np.searchsorted(half, 0.5 + 1e-12))
    return float((x[order[low]] + x[order[min(high, x.size - 1)]]) / 2)


def robust_scale(ratios: ArrayLike, weights: ArrayLike | None = None) -> ScaleEstimate:
    """
    Scale from ratios of lengths, for example of depths of the same pixels in two worlds.

    The weighted median of the logarithms, refined by the weighted mean of those near it. In
    logarithms, so that the inverse ratios give exactly the inverse scale.

    Parameters
    ----------
    ratios : array_like of any shape
        Length in a over length in b. What is not finite or not positive is left out.
    weights : array_like, same shape, optional
        Trust, for example confidence; what is not finite or not positive is left out.

    Returns
    -------
    ScaleEstimate
        Length of a per length of b.

    Raises
    ------
    ShapeError
        If the weights have another shape.
    AlignmentError
        If no sample is valid.

    """
    ratio = np.asarray(ratios, dtype=np.float64)
    trust = np.ones_like(ratio) if weights is None else np.asarray(weights, dtype=np.float64)
    if trust.shape != ratio.shape:
        raise ShapeError(f'expected weights of shape {list(ratio.shape)} as the ratios, got '
                         f'{list(trust.shape)}')
    valid = np.isfinite(ratio) & (ratio > 0) & np.isfinite(trust) & (trust > 0)
    if not valid.any():
        raise AlignmentError(f'expected positive finite ratios, got {ratio.size} samples of which '
                             'none is valid')
    logs, trust = np.log(ratio[valid]), trust[valid]
    centre = weighted_median(logs, trust)
    spread = _MAD_TO_STDDEV * weighted_median(np.abs(logs - centre), trust)
    near = np.abs(logs - centre) <= _CUT * spread + _EQUAL
    return ScaleEstimate(float(np.exp(np.average(logs[near], weights=trust[near]))), spread,
                         int(valid.sum()))


def inliers(distances: Array, floor: float) -> NDArray[np.bool_]:
    """
    Which distances from a robust centre are usual.

    Parameters
    ----------
    distances : ndarray of float64, shape [N]
        >= 0, N >= 1.
    floor : float
        Distances up to this are usual, however close together the others are.

    Returns
    -------
    ndarray of bool, shape [N]
        At least half of them.

    """
    return np.asarray(distances <= max(_CUT_DISTANCE * float(np.median(distances)), floor))


def mean_rotation(rotations: Array, floor_rad: float) -> tuple[Array, NDArray[np.bool_]]:
    """
    Robust mean of rotations: geodesic median (Hartley 2011), then the mean of those near it.

    Parameters
    ----------
    rotations : ndarray of float64, shape [N, 3, 3]
        N >= 1.
    floor_rad : float
        Rotations this close to the median always count, radians; > 0.

    Returns
    -------
    rotation : ndarray of float64, shape [3, 3]
    inlier : ndarray of bool, shape [N]

    """
    # Of two groups a descent could end in the wrong one; the medoid is in the larger one.
    to_each = rotation_angle(rotations[:, None] @ np.swapaxes(rotations, -1, -2)[None])
    mean = rotations[int(to_each.sum(1).argmin())]
    for _ in range(_ITERATIONS):
        offsets = rotation_vector(rotations @ mean.T)
        step = _weiszfeld(offsets, np.zeros(3))
        mean = matrix_from_rotation_vector(step) @ mean
        if float(np.linalg.norm(step)) < _CONVERGED * floor_rad:
            break
    near = inliers(rotation_angle(rotations @ mean.T), floor_rad)
    for _ in range(_ITERATIONS):
        step = rotation_vector(rotations[near] @ mean.T).mean(0)
        mean = matrix_from_rotation_vector(step) @ mean
        if float(np.linalg.norm(step)) < _EQUAL:
            break
    return mean, near


def mean_point(points: Array, floor: float) -> tuple[Array, NDArray[np.bool_]]:
    """
    Robust mean of points: geometric median, then the mean of those near it.

    Parameters
    ----------
    points : ndarray of float64, shape [N, 3]
        N >= 1.
    floor : float
        Points this close to the median always count; > 0.

    Returns
    -------
    point : ndarray of float64, shape [3]
    inlier : ndarray of bool, shape [N]

    """
    centre = np.median(points, axis=0)
    for _ in range(_ITERATIONS):
        after = _weiszfeld(points, centre)
        done = float(np.linalg.norm(after - centre)) <= _CONVERGED * floor
        centre = after
        if done:
            break
    near = inliers(np.linalg.norm(points - centre, axis=1), floor)
    return points[near].mean(0), near


def _weiszfeld(points: Array, centre: Array) -> Array:
    """One step to the geometric median; points at the centre do not pull it to infinity."""
    distance = np.linalg.norm(points - centre, axis=1)
    size = float(np.median(distance))
    weight = 1 / np.maximum(distance, 1e-6 * size + 1e-15)
    return np.average(points, axis=0, weights=weight)
