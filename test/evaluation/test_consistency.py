# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

from lingbot_ros.errors import ShapeError
from lingbot_ros.evaluation.consistency import (
    added_by_joins,
    covariances_of,
    fit_model,
    FITTED,
    nees,
    NEES_BOUND,
    pose_errors,
    PoseRun,
    truth_from_start,
)
from lingbot_ros.geometry.rigid import make_transform
from lingbot_ros.geometry.rotation import matrix_from_rotation_vector
from lingbot_ros.geometry.similarity import Similarity
from lingbot_ros.stream_parts import CovarianceModel
import numpy as np
import pytest

TRUE = CovarianceModel(position_noise=0.02, rotation_noise=0.008, position_walk=0.06,
                       rotation_walk=0.012, turn_walk=0.03, scale_start=0.08, scale_walk=0.02)


def drawn(rng, model: CovarianceModel, frames: int = 60) -> PoseRun:
    """A way with errors of which each frame's are drawn from what the model states for it."""
    poses = np.stack([make_transform(matrix_from_rotation_vector(turn), centre)
                      for turn, centre in zip(
                          np.cumsum(0.1 * rng.standard_normal((frames, 3)), 0),
                          np.cumsum(0.2 * rng.standard_normal(3)
                                    + 0.1 * rng.standard_normal((frames, 3)), 0), strict=True)])
    run = PoseRun(poses, [int(1e8) * i for i in range(frames)], rng.uniform(1, 3, frames),
                  rng.uniform(0.5, 1, frames), np.zeros((frames, 6)))
    roots = np.linalg.cholesky(covariances_of(run, model))
    errors = np.einsum('nij,nj->ni', roots, rng.standard_normal((frames, 6)))
    return PoseRun(run.poses, run.stamps_ns, run.depths, run.scores, errors)


@pytest.fixture(scope='module')
def runs() -> list[PoseRun]:
    rng = np.random.default_rng(0)
    return [drawn(rng, TRUE) for _ in range(30)]


@pytest.fixture(scope='module')
def fitted(runs) -> CovarianceModel:
    return fit_model(runs, CovarianceModel(restart_scale=0.7))


def values(runs, model) -> np.ndarray:
    return np.concatenate([nees(run.errors, covariances_of(run, model)) for run in runs])


def test_errors_of_a_pose_in_world_axes():
    T = make_transform(matrix_from_rotation_vector([0, 0, np.pi / 2]), [1, 2, 3])
    true = make_transform(matrix_from_rotation_vector([0.1, 0, 0]) @ T[:3, :3], [1.5, 2, 2])
    np.testing.assert_allclose(pose_errors([T], [true]), [[0.5, 0, -1, 0.1, 0, 0]], atol=1e-12)


def test_truth_is_laid_over_the_beginning(runs):
    estimated = runs[0].poses
    world = Similarity(3.0, matrix_from_rotation_vector([0.4, -1, 0.2]), [5, 6, 7])
    true = world.inverse.pose(estimated)
    for scale in (None, 3.0):
        np.testing.assert_allclose(truth_from_start(estimated, true, scale), estimated, atol=1e-9)
    # Later frames that drifted change nothing at the beginning.
    drifted = true.copy()
    drifted[30:, :3, 3] += 1
    placed = truth_from_start(estimated, drifted, 3.0)
    np.testing.assert_allclose(placed[:30], estimated[:30], atol=1e-9)
    assert np.linalg.norm(placed[30:, :3, 3] - estimated[30:, :3, 3], axis=1).min() > 3
    still = np.repeat(np.eye(4)[None], 9, 0)
    np.testing.assert_allclose(truth_from_start(still, still), still)


def test_nees_of_known_errors():
    P = np.diag([1.0, 4, 9, 1, 1, 1])
    np.testing.assert_allclose(nees([[1.0, 2, 3, 0, 0, 0], [0.0] * 6], [P, P]), [3, 0])


def test_honest_covariances_have_a_nees_of_six(runs):
    honest = values(runs, TRUE)
    assert honest.mean() == pytest.approx(6, rel=0.05)
    assert np.mean(honest < NEES_BOUND) == pytest.approx(0.95, abs=0.01)


def test_a_fit_finds_what_the_errors_were_drawn_from(runs, fitted):
    found = fitted
    assert values(runs, found).mean() == pytest.approx(6, rel=0.02)
    for name in ('position_noise', 'rotation_noise', 'position_walk', 'rotation_walk',
                 'turn_walk', 'scale_start'):
        assert vars(found)[name] == pytest.approx(vars(TRUE)[name], rel=0.3), name
    assert found.restart_scale == 0.7


def test_a_fit_holds_on_other_runs(fitted):
    other = [drawn(np.random.default_rng(i + 100), TRUE) for i in range(30)]
    assert values(other, fitted).mean() == pytest.approx(6, rel=0.1)


def test_a_fit_is_at_least_as_likely_as_the_truth(runs, fitted):
    def loss(model):
        total = 0.0
        for run in runs:
            P = covariances_of(run, model)
            total += nees(run.errors, P).mean() + np.linalg.slogdet(P)[1].mean()
        return total

    assert loss(fitted) <= loss(TRUE)
    assert loss(fitted) < loss(CovarianceModel(position_walk=0.01))


def test_what_joins_have_added_is_not_explained_twice(runs):
    rng = np.random.default_rng(8)
    joined = []
    for run in runs:
        added = np.zeros((len(run.errors), 6, 6))
        added[20:] = np.diag([0.5] * 3 + [0.1] * 3)
        errors = run.errors + np.sqrt(np.diagonal(added, axis1=1, axis2=2)) * rng.standard_normal(
            run.errors.shape)
        joined.append(replace(run, errors=errors, added=added))
    found = fit_model(joined, CovarianceModel())
    assert values(joined, found).mean() == pytest.approx(6, rel=0.02)
    for name in ('position_walk', 'rotation_noise', 'turn_walk'):
        assert vars(found)[name] == pytest.approx(vars(TRUE)[name], rel=0.4), name
    # Without being told of the joins it takes their errors for drift.
    ignorant = fit_model([replace(run, added=None) for run in joined], CovarianceModel())
    assert ignorant.position_walk > 2 * TRUE.position_walk
    stated = covariances_of(joined[0], TRUE)
    np.testing.assert_allclose(added_by_joins(joined[0], TRUE, stated), joined[0].added,
                               atol=1e-9)


def test_what_explains_nothing_fades():
    rng = np.random.default_rng(5)
    flat = CovarianceModel(position_walk=0, rotation_walk=0, turn_walk=0, scale_start=0,
                           scale_walk=0)
    found = fit_model([drawn(rng, flat) for _ in range(10)], CovarianceModel())
    assert max(vars(found)[name] for name in FITTED[2:]) < 0.004
    assert found.position_noise == pytest.approx(0.02, rel=0.1)


def test_wrong_shapes_are_refused():
    with pytest.raises(ShapeError, match='at least one run'):
        fit_model([], CovarianceModel())
    with pytest.raises(ShapeError, match='expected poses'):
        pose_errors(np.zeros((2, 4, 4)), np.zeros((3, 4, 4)))
    with pytest.raises(ShapeError, match=r'errors \[N, 6\]'):
        nees(np.zeros((2, 6)), np.zeros((2, 5, 5)))
