# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The figures of the model card, for one sequence and for many.

>>> import numpy as np
>>> truth = np.tile(np.eye(4), (20, 1, 1))
>>> angle = np.linspace(0, 1, 20)
>>> truth[:, 0, 3], truth[:, 2, 3] = np.sin(angle), np.cos(angle)
>>> estimate = truth.copy()
>>> estimate[:, :3, 3] *= 5
>>> score = score_trajectory(estimate, truth)
>>> round(score.scale, 6), round(score.ate_percent, 6), round(score.direction_8_deg, 6)
(0.2, 0.0, 0.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
import math

from lingbot_ros.errors import EvaluationError
from lingbot_ros.evaluation.alignment import align
from lingbot_ros.evaluation.engine import absolute_errors
from lingbot_ros.evaluation.motion import direction_errors, rotation_errors
from lingbot_ros.evaluation.poses import checked_pair, path_length
import numpy as np
from numpy.typing import ArrayLike, NDArray

LAG = 8
"""Frames over which rotation and direction are compared in a score."""


@dataclass(frozen=True)
class Score:
    """
    How far an estimated trajectory is from the truth.

    NaN stands where a figure does not exist: a part of a path of length 0, motion over 8 frames
    of a sequence that is shorter, the direction of a truth that stands still.

    Attributes
    ----------
    poses : int
        Poses compared.
    path_length : float
        Of the truth, in its unit.
    scale : float
        Truth's units in one of the estimate's, by the Sim(3) fit; 1 where the estimate stands
        still.
    ate_sim3, ate_se3 : float
        Root mean square distance after a Sim(3) and a rigid fit, truth's unit.
    ate_percent : float
        `ate_sim3` in percent of the path.
    end_percent : float
        Distance of the last pose after the Sim(3) fit, percent of the path.
    rotation_8_deg : float
        Median error of the rotation over 8 frames, degrees.
    direction_8_deg : float
        Median error of the direction of translation over 8 frames, degrees.

    """

    poses: int
    path_length: float
    scale: float
    ate_sim3: float
    ate_se3: float
    ate_percent: float
    end_percent: float
    rotation_8_deg: float
    direction_8_deg: float


def score_trajectory(estimate_T: ArrayLike, truth_T: ArrayLike) -> Score:
    """
    Score corresponding poses.

    Parameters
    ----------
    estimate_T, truth_T : array_like, shape [N, 4, 4]
        `T_world_camera` of the same frames in both, N >= 2; worlds and units may differ.

    Returns
    -------
    Score
        Invariant to a similarity of the estimate, except `scale` and `ate_se3`.

    Raises
    ------
    EvaluationError
        Different lengths, fewer than 2 poses, poses that are not finite or not rigid; or evo is
        not installed.

    """
    estimate, truth = checked_pair(estimate_T, truth_T)
    similarity = align(estimate, truth, 'sim3')
    distances = absolute_errors(similarity.apply(estimate), truth)
    rigid = absolute_errors(align(estimate, truth, 'se3').apply(estimate), truth)
    length = path_length(truth)
    ate = root_mean_square(distances)
    return Score(
        poses=len(truth), path_length=length, scale=similarity.scale, ate_sim3=ate,
        ate_se3=root_mean_square(rigid), ate_percent=percent_of(ate, length),
        end_percent=percent_of(float(distances[-1]), length),
        rotation_8_deg=median(rotation_errors(estimate, truth, LAG)),
        direction_8_deg=median(direction_errors(estimate, truth, LAG)))


def median_score(scores: Sequence[Score]) -> Score:
    """
    Return the median of each figure over sequences; NaNs are left out.

    Raises
    ------
    EvaluationError
        No scores.

    """
    if not scores:
        raise EvaluationError('expected scores of at least one sequence, got none')
    rows = [asdict(score) for score in scores]
    figures = {name: median(np.array([row[name] for row in rows], np.float64))
               for name in rows[0]}
    return Score(poses=round(figures.pop('poses')), **figures)


def median(values: NDArray[np.float64]) -> float:
    """Return the median of what is no NaN; NaN when nothing is."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else math.nan


def root_mean_square(values: NDArray[np.float64]) -> float:
    """Return the root of the mean of the squares."""
    return float(np.sqrt(np.mean(np.square(values))))


def percent_of(value: float, whole: float) -> float:
    """Return a value in percent of a whole; NaN when the whole is 0."""
    return 100 * value / whole if whole > 0 else math.nan
