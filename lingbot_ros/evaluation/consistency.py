# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Whether stated covariances fit the errors that were made, and coefficients that make them fit.

The normalised estimation error squared (NEES) of a pose is e^T P^-1 e. Over honest covariances its
mean is 6, the numbers a pose has; larger says that poses are worse than stated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lingbot_ros.errors import ShapeError
from lingbot_ros.geometry.joining import robust_similarity
from lingbot_ros.geometry.rotation import rotation_vector
from lingbot_ros.stream_parts import CovarianceModel
from lingbot_ros.streaming.covariance import PoseUncertainty
import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

NEES_BOUND = 12.592
"""95 % of honest errors have a NEES below this (chi-square of 6 degrees of freedom)."""

FITTED = ('position_noise', 'rotation_noise', 'position_walk', 'rotation_walk', 'turn_walk',
          'scale_start', 'scale_walk')
"""Coefficients that errors can tell."""

# So small that no bound of the model is reached: then covariances are linear in the squares.
_UNIT = 1e-3
_ITERATIONS = 300
_CONVERGED = 1e-4
# Coefficients below this explain nothing.
_LEAST = 1e-4


@dataclass(frozen=True, eq=False)
class PoseRun:
    """
    One sequence of estimates with its errors.

    Attributes
    ----------
    poses : ndarray of float64, shape [N, 4, 4]
        Estimated, in the order they came.
    stamps_ns : sequence of int
        Stamps, nanoseconds.
    depths : ndarray of float64, shape [N]
        Typical depths, units of the estimates.
    scores : ndarray of float64, shape [N]
        Trust, 0 to 1.
    errors : ndarray of float64, shape [N, 6]
        From `pose_errors`.
    added : ndarray of float64, shape [N, 6, 6], or None
        What joins and restarts have added to the covariances, whatever the coefficients.

    """

    poses: Array
    stamps_ns: Sequence[int]
    depths: Array
    scores: Array
    errors: Array
    added: Array | None = None


def pose_errors(estimated: ArrayLike, true: ArrayLike) -> Array:
    """
    Errors of poses, as covariances mean them.

    Parameters
    ----------
    estimated, true : array_like, shape [N, 4, 4]
        Camera to the same world, in the same unit.

    Returns
    -------
    ndarray of float64, shape [N, 6]
        True minus estimated position, then the rotation vector that turns the estimated into the
        true rotation, both in world axes.

    Raises
    ------
    ShapeError
        If the poses are not alike.

    """
    T, T_true = np.asarray(estimated, np.float64), np.asarray(true, np.float64)
    if T.shape != T_true.shape or T.ndim != 3 or T.shape[1:] != (4, 4):
        raise ShapeError(f'expected poses [N, 4, 4] of one number, got {T.shape} and '
                         f'{T_true.shape}')
    turn = rotation_vector(T_true[:, :3, :3] @ np.swapaxes(T[:, :3, :3], 1, 2))
    return np.concatenate([T_true[:, :3, 3] - T[:, :3, 3], turn], axis=1)


def truth_from_start(estimated: ArrayLike, true: ArrayLike, scale: float | None = None,
                     frames: int = 8) -> Array:
    """
    Lay the truth over the beginning of an estimate, so that what follows is its drift.

    Parameters
    ----------
    estimated, true : array_like, shape [N, 4, 4]
        Camera poses of the same frames, each in a world and unit of its own.
    scale : float, optional
        Unit of the truth in units of the estimate, for example by depths; the ratio of all
        distances between positions where it is not given, and 1 where nothing moved.
    frames : int
        First frames whose poses fix rotation and position.

    Returns
    -------
    ndarray of float64, shape [N, 4, 4]
        The true poses in the world and unit of the estimate.

    Raises
    ------
    ShapeError, AlignmentError
        If the poses are not alike or none is finite.

    """
    T, T_true = np.asarray(estimated, np.float64), np.asarray(true, np.float64)
    if scale is None:
        scale = robust_similarity(T, T_true).baseline_scale or 1.0
    fit = robust_similarity(T[:frames], T_true[:frames], scale=scale)
    return fit.similarity.pose(T_true)


def nees(errors: ArrayLike, covariances: ArrayLike) -> Array:
    """
    Normalised estimation errors squared.

    Parameters
    ----------
    errors : array_like, shape [N, 6]
        From `pose_errors`.
    covariances : array_like, shape [N, 6, 6]
        Positive definite.

    Returns
    -------
    ndarray of float64, shape [N]

    Raises
    ------
    ShapeError
        If their shapes do not fit.

    """
    e, P = np.asarray(errors, np.float64), np.asarray(covariances, np.float64)
    if e.ndim != 2 or P.shape != (*e.shape, e.shape[1]):
        raise ShapeError(f'expected errors [N, 6] and covariances [N, 6, 6], got {e.shape} and '
                         f'{P.shape}')
    return np.asarray((e * np.linalg.solve(P, e[..., None])[..., 0]).sum(1))


def covariances_of(run: PoseRun, model: CovarianceModel) -> Array:
    """
    Covariances that a model states for a run.

    Parameters
    ----------
    run : PoseRun
        The estimates; their errors are not looked at.
    model : CovarianceModel
        The coefficients.

    Returns
    -------
    ndarray of float64, shape [N, 6, 6]

    """
    drift = _drift(run, model)
    return drift if run.added is None else drift + run.added


def added_by_joins(run: PoseRun, model: CovarianceModel, stated: Array) -> Array:
    """
    Part of stated covariances that the way does not explain.

    Parameters
    ----------
    run : PoseRun
        The estimates.
    model : CovarianceModel
        What the session ran with.
    stated : ndarray of float64, shape [N, 6, 6]
        What it stated.

    Returns
    -------
    ndarray of float64, shape [N, 6, 6]
        Positive semidefinite: rounding and bounds of the model are cut off.

    """
    values, vectors = np.linalg.eigh(stated - _drift(run, model))
    cut = vectors * values.clip(min=0.0)[:, None] @ np.swapaxes(vectors, 1, 2)
    return np.asarray((cut + np.swapaxes(cut, 1, 2)) / 2)


def _drift(run: PoseRun, model: CovarianceModel) -> Array:
    uncertainty = PoseUncertainty(model)
    return np.stack([uncertainty.follow(pose, stamp_ns, depth, score)
                     for pose, stamp_ns, depth, score
                     in zip(run.poses, run.stamps_ns, run.depths, run.scores, strict=True)])


def fit_model(runs: Sequence[PoseRun], start: CovarianceModel) -> CovarianceModel:
    """
    Find the coefficients under which the errors are most likely.

    Covariances are sums of one matrix a coefficient, and of what joins have added; the likelihood
    is climbed by multiplying each squared coefficient by a square root of what its matrix explains
    over what it claims (the MM algorithm of Zhou et al. 2019), which never makes it worse. Each
    run counts the same.

    Parameters
    ----------
    runs : sequence of PoseRun
        At least one.
    start : CovarianceModel
        Where to begin; its coefficients that are not in `FITTED` stay.

    Returns
    -------
    CovarianceModel

    Raises
    ------
    ShapeError
        If there is no run.

    """
    if not runs:
        raise ShapeError('expected at least one run, got none')
    base = [_drift(run, _only(start, '')) for run in runs]
    parts = np.stack([
        np.concatenate([(_drift(run, _only(start, name)) - none) / _UNIT**2
                        for run, none in zip(runs, base, strict=True)]) for name in FITTED])
    fixed = np.concatenate([np.zeros((len(run.errors), 6, 6)) if run.added is None else run.added
                            for run in runs])
    errors = np.concatenate([run.errors for run in runs])
    weight = np.concatenate([np.full(len(run.errors), 1 / len(run.errors)) for run in runs])
    squares = np.array([max(vars(start)[name], 1e-3)**2 for name in FITTED])
    for _ in range(_ITERATIONS):
        inverse = np.linalg.inv(fixed + np.einsum('c,cnij->nij', squares, parts))
        whitened = np.einsum('nij,nj->ni', inverse, errors)
        explained = np.einsum('ni,cnij,nj,n->c', whitened, parts, whitened, weight, optimize=True)
        claimed = np.einsum('nij,cnji,n->c', inverse, parts, weight, optimize=True)
        factor = np.sqrt(explained / np.maximum(claimed, 1e-300))
        squares = np.maximum(squares * factor, _LEAST**2)
        if np.abs(np.log(np.maximum(factor, 1e-9)))[squares > _LEAST**2].max() < _CONVERGED:
            break
    return replace(start, **{name: float(np.sqrt(square))
                             for name, square in zip(FITTED, squares, strict=True)})


def _only(start: CovarianceModel, name: str) -> CovarianceModel:
    """Return a model in which all but one coefficient are next to nothing."""
    values = dict.fromkeys(FITTED, 0.0) | {'position_noise': _LEAST, 'rotation_noise': _LEAST}
    return replace(start, **values | ({name: _UNIT} if name else {}))
