# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The one file that imports evo: least-squares fits, pose errors, pairs, association.

Poses are float64 arrays [N, 4, 4], `T_world_camera`; evo's own objects stay inside.
"""

from __future__ import annotations

from collections.abc import Sequence
import logging

from lingbot_ros.errors import EvaluationError
import numpy as np
from numpy.typing import NDArray

try:
    from evo import EvoException
    from evo.core import geometry, lie_algebra, metrics, sync
    from evo.core.trajectory import PosePath3D, PoseTrajectory3D
    from evo.core.units import Unit
except ModuleNotFoundError as error:
    raise EvaluationError(
        f"evaluation needs evo, and {error.name} is not installed: pip install "
        "'lingbot_ros[evaluate]', or pip install evo") from error

Poses = NDArray[np.float64]
Pairs = list[tuple[int, int]]

UNITS = {'frames': Unit.frames, 'metres': Unit.meters}
RELATIONS = {'translation': metrics.PoseRelation.translation_part,
             'rotation': metrics.PoseRelation.rotation_angle_deg}

# evo warns of unsorted stamps and the like by itself; we refuse or say it with our own words.
logging.getLogger('evo').setLevel(logging.ERROR)


def fit_similarity(points: NDArray[np.float64], targets: NDArray[np.float64],
                   with_scale: bool) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """
    Fit targets = scale * rotation @ points + translation by least squares (Umeyama 1991).

    Parameters
    ----------
    points, targets : ndarray of float64, shape [N, 3]
        Corresponding points.
    with_scale : bool
        Whether the scale is fitted; else it is 1.

    Returns
    -------
    rotation : ndarray of float64, shape [3, 3]
    translation : ndarray of float64, shape [3]
    scale : float

    """
    try:
        rotation, translation, scale = geometry.umeyama_alignment(
            points.T, targets.T, with_scale)
    except geometry.GeometryException:
        return _fit_degenerate(points, targets, with_scale)
    return rotation, translation, float(scale)


def _fit_degenerate(points: NDArray[np.float64], targets: NDArray[np.float64],
                    with_scale: bool) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    # evo refuses points on a line or in one place, because many rotations are equally good. The
    # smallest error is well defined all the same, and any of these rotations has it.
    point_mean, target_mean = points.mean(axis=0), targets.mean(axis=0)
    u, d, vt = np.linalg.svd((targets - target_mean).T @ (points - point_mean))
    signs = np.array([1.0, 1.0, np.linalg.det(u) * np.linalg.det(vt)])
    rotation = (u * signs) @ vt
    spread = float(((points - point_mean) ** 2).sum())
    scale = float(d @ signs) / spread if with_scale and spread > 0 else 1.0
    return rotation, target_mean - scale * rotation @ point_mean, scale


def absolute_errors(estimate: Poses, truth: Poses, what: str = 'translation',
                    ) -> NDArray[np.float64]:
    """
    Return how far each pose is off in a common world, shape [N].

    Parameters
    ----------
    estimate, truth : ndarray of float64, shape [N, 4, 4]
        Corresponding poses in the same world, already aligned.
    what : str
        'translation' (distance, truth's unit) or 'rotation' (degrees).

    """
    metric = metrics.APE(RELATIONS[what])
    metric.process_data((PosePath3D(poses_se3=list(truth)), PosePath3D(poses_se3=list(estimate))))
    return np.asarray(metric.error)


def relative_errors(estimate: Poses, truth: Poses, pairs: Sequence[tuple[int, int]],
                    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """
    Return translation (truth's unit) and rotation (degrees) errors of relative poses, shape [P].

    Parameters
    ----------
    estimate, truth : ndarray of float64, shape [N, 4, 4]
        Poses; the worlds may differ, the scale should not.
    pairs : sequence of (int, int)
        Indices of first and last pose.

    """
    differences = [metrics.RPE.rpe_base(truth[i], truth[j], estimate[i], estimate[j])
                   for i, j in pairs]
    return (np.array([np.linalg.norm(E[:3, 3]) for E in differences]),
            np.array([lie_algebra.so3_log_angle(E[:3, :3], degrees=True) for E in differences]))


def pairs_apart(poses: Poses, delta: float, unit: str, all_pairs: bool,
                tolerance: float = 0.1) -> Pairs:
    """
    Return index pairs that lie `delta` apart along a path; none where there are none.

    Parameters
    ----------
    poses : ndarray of float64, shape [N, 4, 4]
        The path that is measured.
    delta : float
        How far apart, above 0.
    unit : str
        'frames' or 'metres' (path length).
    all_pairs : bool
        From every pose; else one pair begins where the last one ended.
    tolerance : float
        With all pairs in metres: how much longer or shorter they may be, as a part of delta.

    """
    try:
        return list(metrics.id_pairs_from_delta(
            list(poses), delta, UNITS[unit], tolerance, all_pairs))
    except EvoException:
        return []


def match_stamps(estimate_s: NDArray[np.float64], truth_s: NDArray[np.float64],
                 max_difference_s: float) -> tuple[list[int], list[int]]:
    """
    Return indices of estimates and of the truths nearest to them, within the difference.

    Parameters
    ----------
    estimate_s, truth_s : ndarray of float64, shape [N] and [M]
        Ascending stamps, seconds, in one clock.
    max_difference_s : float
        Largest difference of a match, seconds.

    """
    first, second = sync.matching_time_indices(estimate_s, truth_s, max_difference_s)
    return list(first), list(second)


def interpolated(stamps_s: NDArray[np.float64], poses: Poses,
                 at_s: NDArray[np.float64]) -> Poses:
    """
    Return poses between poses, linear in position and slerp in rotation.

    Parameters
    ----------
    stamps_s : ndarray of float64, shape [N]
        Ascending stamps of the poses, seconds.
    poses : ndarray of float64, shape [N, 4, 4]
        N >= 2.
    at_s : ndarray of float64, shape [M]
        Where to interpolate; before the first and after the last stamp that pose is taken.

    Returns
    -------
    ndarray of float64, shape [M, 4, 4]

    """
    path = PoseTrajectory3D(poses_se3=list(poses), timestamps=stamps_s)
    return np.stack(path.interpolate(at_s).poses_se3)
