# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Everything that is measured of one pair of tracks, in one record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
import math
from typing import Any

from lingbot_ros.checks import require, require_at_least
from lingbot_ros.evaluation.alignment import align, ALIGNMENTS
from lingbot_ros.evaluation.association import Matched
from lingbot_ros.evaluation.baselines import BASELINES
from lingbot_ros.evaluation.engine import absolute_errors, relative_errors
from lingbot_ros.evaluation.motion import direction_errors, rotation_errors
from lingbot_ros.evaluation.poses import checked_pair
from lingbot_ros.evaluation.relative import (
    Delta,
    find_pairs,
    KITTI_LENGTHS,
    KITTI_STEP,
    segment_drift,
)
from lingbot_ros.evaluation.score import root_mean_square, Score, score_trajectory
import numpy as np
from numpy.typing import NDArray

DELTAS = (Delta(1, 'frames'), Delta(8, 'frames'), Delta(10, 'metres'), Delta(1, 'seconds'))


@dataclass(frozen=True)
class Settings:
    """
    What is measured.

    Attributes
    ----------
    alignment : str
        For relative errors, drift and plots: 'sim3', 'se3', 'scale' or 'none'.
    deltas : tuple of Delta
        Over which relative pose errors are computed.
    all_pairs : bool
        Relative errors from every pose; else from where the last pair ended.
    pairs_from : str
        Whose path counts the metres of pairs: 'truth' or 'estimate' (as evo does by default).
    segments : tuple of float
        Lengths over which drift is computed, truth's unit.
    segment_step : int
        Frames between the beginnings of segments.
    lag : int
        Frames over which rotation and direction are compared, beside the 8 of the score.
    baselines : bool
        Whether paths that saw no image are scored too.

    """

    alignment: str = 'sim3'
    deltas: tuple[Delta, ...] = DELTAS
    all_pairs: bool = True
    pairs_from: str = 'truth'
    segments: tuple[float, ...] = KITTI_LENGTHS
    segment_step: int = KITTI_STEP
    lag: int = 8
    baselines: bool = False

    def __post_init__(self) -> None:
        """Check every field."""
        require(self.alignment in ALIGNMENTS, f'alignment must be one of {", ".join(ALIGNMENTS)}'
                f', got {self.alignment!r}')
        require(self.pairs_from in ('truth', 'estimate'),
                f"pairs_from must be 'truth' or 'estimate', got {self.pairs_from!r}")
        require(all(0 < length < math.inf for length in self.segments),
                f'segment lengths must be above 0, got {self.segments}')
        require_at_least('segment_step', self.segment_step, 1)
        require_at_least('lag', self.lag, 1)


@dataclass(frozen=True)
class Statistics:
    """Of errors: how many, and the usual moments, in the errors' unit."""

    count: int
    rmse: float
    mean: float
    median: float
    std: float
    min: float
    max: float


def statistics(errors: NDArray[np.float64]) -> Statistics | None:
    """Return the statistics of errors, None where there are none."""
    if not len(errors):
        return None
    return Statistics(len(errors), root_mean_square(errors), float(errors.mean()),
                      float(np.median(errors)), float(errors.std()), float(errors.min()),
                      float(errors.max()))


@dataclass(frozen=True)
class RelativeError:
    """Relative pose errors over one delta: None where no two poses lie that far apart."""

    delta: Delta
    translation: Statistics | None
    rotation_deg: Statistics | None


@dataclass(frozen=True)
class Drift:
    """Mean drift over segments: percent of their length, and degrees per 100 units of it."""

    segments: int
    translation_percent: float
    rotation_deg_per_100: float


@dataclass(frozen=True, eq=False)
class Evaluation:
    """
    The record.

    Attributes
    ----------
    settings : Settings
    matched : Matched
        The poses that were compared.
    score : Score
        The figures of the model card.
    ate : dict
        Statistics of the distance after each of the fits 'sim3', 'se3' and the chosen one.
    rotation_deg : Statistics or None
        Of the rotation of each pose after the chosen fit.
    scale : float
        Of the chosen fit.
    relative : tuple of RelativeError
    drift : Drift or None
        Over all segments; None where the path is shorter than all of them.
    drift_by_length : dict of float to Drift
    lag_rotation_deg, lag_direction_deg : Statistics or None
        Over `settings.lag` frames.
    baselines : dict of str to Score
        Empty unless asked for.
    aligned : ndarray of float64, shape [N, 4, 4]
        The estimate after the chosen fit.
    distances, turns_deg : ndarray of float64, shape [N]
        Errors of each pose after the chosen fit.

    """

    settings: Settings
    matched: Matched
    score: Score
    ate: dict[str, Statistics]
    rotation_deg: Statistics | None
    scale: float
    relative: tuple[RelativeError, ...]
    drift: Drift | None
    drift_by_length: dict[float, Drift]
    lag_rotation_deg: Statistics | None
    lag_direction_deg: Statistics | None
    baselines: dict[str, Score]
    aligned: NDArray[np.float64] = field(repr=False)
    distances: NDArray[np.float64] = field(repr=False)
    turns_deg: NDArray[np.float64] = field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Return the figures for JSON: None stands where one does not exist."""
        matched = self.matched
        return _without_nan({
            'poses': {'matched': len(matched.truth), 'estimate': matched.estimates,
                      'truth': matched.truths, 'repeated': matched.repeated,
                      'largest_stamp_difference_s': matched.largest_difference_s},
            'score': asdict(self.score),
            'alignment': {'kind': self.settings.alignment, 'scale': self.scale},
            'ate': {kind: asdict(values) for kind, values in self.ate.items()},
            'ate_rotation_deg': _dict(self.rotation_deg),
            'rpe': {str(one.delta): {'translation': _dict(one.translation),
                                     'rotation_deg': _dict(one.rotation_deg)}
                    for one in self.relative},
            'rpe_pairs': {'all': self.settings.all_pairs, 'from': self.settings.pairs_from},
            'drift': None if self.drift is None else asdict(self.drift),
            'drift_by_length': {f'{length:g}': asdict(drift)
                                for length, drift in self.drift_by_length.items()},
            'motion': {'frames': self.settings.lag, 'rotation_deg': _dict(self.lag_rotation_deg),
                       'direction_deg': _dict(self.lag_direction_deg)},
            'baselines': {name: asdict(score) for name, score in self.baselines.items()},
        })


def _dict(values: Statistics | None) -> dict[str, float] | None:
    return None if values is None else asdict(values)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def evaluate(matched: Matched, settings: Settings | None = None) -> Evaluation:
    """
    Measure everything.

    Parameters
    ----------
    matched : Matched
        From `associate`.
    settings : Settings, optional
        What is measured; all defaults without.

    Raises
    ------
    EvaluationError
        The poses cannot be compared.

    """
    settings = settings or Settings()
    estimate, truth = checked_pair(matched.estimate, matched.truth)
    fits = {kind: align(estimate, truth, kind)
            for kind in dict.fromkeys(('sim3', 'se3', settings.alignment))}
    errors = {kind: absolute_errors(fit.apply(estimate), truth) for kind, fit in fits.items()}
    aligned = fits[settings.alignment].apply(estimate)
    turns = absolute_errors(aligned, truth, 'rotation')
    drift = segment_drift(aligned, truth, settings.segments, settings.segment_step,
                          matched.numbers)
    return Evaluation(
        settings=settings, matched=matched, score=score_trajectory(estimate, truth),
        ate={kind: known for kind, values in errors.items()
             if (known := statistics(values)) is not None},
        rotation_deg=statistics(turns), scale=fits[settings.alignment].scale,
        relative=tuple(_relative(aligned, truth, matched, settings)),
        drift=_mean_drift(drift),
        drift_by_length={float(length): mean for length in np.unique(drift[:, 0])
                         if (mean := _mean_drift(drift[drift[:, 0] == length])) is not None},
        lag_rotation_deg=statistics(rotation_errors(estimate, truth, settings.lag)),
        lag_direction_deg=statistics(direction_errors(estimate, truth, settings.lag)),
        baselines={name: score_trajectory(path(truth), truth)
                   for name, path in BASELINES.items() if settings.baselines},
        aligned=aligned, distances=errors[settings.alignment], turns_deg=turns)


def _relative(aligned: NDArray[np.float64], truth: NDArray[np.float64], matched: Matched,
              settings: Settings) -> Iterator[RelativeError]:
    path = truth if settings.pairs_from == 'truth' else aligned
    for delta in settings.deltas:
        pairs = find_pairs(path, delta, settings.all_pairs, matched.seconds)
        translation, rotation = relative_errors(aligned, truth, pairs)
        yield RelativeError(delta, statistics(translation), statistics(rotation))


def _mean_drift(rows: NDArray[np.float64]) -> Drift | None:
    if not len(rows):
        return None
    return Drift(len(rows), float(rows[:, 1].mean()), float(rows[:, 2].mean()))
