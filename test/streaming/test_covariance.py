# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
import copy

from box_room import pose
from hypothesis import given, settings
from hypothesis import strategies as st
from lingbot_ros.errors import ConfigError, ShapeError
from lingbot_ros.geometry.rotation import matrix_from_rotation_vector
from lingbot_ros.geometry.similarity import Similarity
from lingbot_ros.stream_parts import CovarianceModel
from lingbot_ros.streaming.covariance import (
    carry_covariance,
    PoseUncertainty,
    restart_covariance,
    rotate_covariance,
)
import numpy as np
import pytest

MODEL = CovarianceModel()
STEP_NS = 100_000_000


def curve(frames: int, per_frame: float = 0.1) -> list[np.ndarray]:
    """A way that bends: one unit a second, 20 degrees a unit."""
    way = per_frame * np.arange(frames)
    return [pose(np.sin(0.3 * s), 0.1 * s, s, turn=(0, 0.35 * s, 0)) for s in way]


def run(poses, depth=2.0, score=1.0, step_ns=STEP_NS, model=MODEL) -> PoseUncertainty:
    uncertainty = PoseUncertainty(model)
    for i, T in enumerate(poses):
        uncertainty.follow(T, i * step_ns, depth, score)
    return uncertainty


def last(poses, **settings_of) -> np.ndarray:
    """Covariance of the last pose: of a second look from the same place."""
    uncertainty = run(poses, **settings_of)
    score = settings_of.get('score', 1.0)
    return uncertainty.follow(poses[-1], 10**12, settings_of.get('depth', 2.0), score)


def assert_covariance(P) -> None:
    assert P.shape == (6, 6)
    assert np.isfinite(P).all()
    np.testing.assert_array_equal(P, P.T)
    assert np.linalg.eigvalsh(P).min() > 0


def deviations(P) -> tuple[float, float]:
    """Position (units) and rotation (rad)."""
    return float(np.sqrt(np.trace(P[:3, :3]))), float(np.sqrt(np.trace(P[3:, 3:])))


def test_the_first_pose_has_the_noise_of_one_pose():
    P = PoseUncertainty(MODEL).follow(pose(3, 2, 1), 0, 2.0)
    np.testing.assert_allclose(P, np.diag([0.04**2] * 3 + [0.01**2] * 3))


def test_it_grows_with_the_way_and_with_turning():
    before = (0.0, 0.0)
    for frames in (2, 5, 20, 100, 400):
        now = deviations(last(curve(frames)))
        assert now[0] > before[0]
        assert now[1] > before[1]
        before = now
    spin = [pose(turn=(0, a, 0)) for a in np.linspace(0, 2, 30)]
    P = last(spin)
    assert deviations(P)[1] > deviations(last(spin[:15]))[1]
    assert deviations(P)[0] == pytest.approx(0.04 * np.sqrt(3))  # nothing was travelled


def test_standing_still_adds_nothing_however_long():
    poses = curve(10)
    np.testing.assert_allclose(last(poses + [poses[-1]] * 1000), last(poses), rtol=1e-9)


def test_the_frame_rate_does_not_matter():
    np.testing.assert_allclose(last(curve(401, 0.025), step_ns=STEP_NS // 4), last(curve(101)),
                               rtol=0.02, atol=1e-5)


def test_the_unit_does_not_matter():
    unit = Similarity(5.0, np.eye(3), np.zeros(3))
    large = last([unit.pose(T) for T in curve(50)], depth=10.0)
    factor = np.repeat([5.0, 1.0], 3)
    np.testing.assert_allclose(large, last(curve(50)) * np.outer(factor, factor), rtol=1e-9)


def test_axes_do_not_matter():
    R = matrix_from_rotation_vector([0.3, -1.2, 0.7])
    turned = Similarity(1.0, R, [4.0, 5.0, 6.0])
    np.testing.assert_allclose(last([turned.pose(T) for T in curve(50)]),
                               rotate_covariance(last(curve(50)), R), atol=1e-12)


def test_a_wrong_heading_shows_sideways():
    straight = [pose(z=0.1 * i) for i in range(200)]
    model = CovarianceModel(position_walk=0, scale_start=0, scale_walk=0, turn_walk=0)
    P = last(straight, model=model)
    assert P[0, 0] > 20 * P[2, 2]
    # True position = position + dr x way: turned to the right (y) is further to the right (x).
    assert P[0, 4] > 0
    assert P[1, 3] < 0
    assert P[2, 4] == pytest.approx(0, abs=1e-12)


def test_a_wrong_scale_shows_along_the_way():
    straight = [pose(z=0.1 * i) for i in range(101)]
    model = CovarianceModel(position_noise=1e-4, position_walk=0, rotation_walk=0,
                            scale_start=0.1, scale_walk=0)
    P = last(straight, model=model)
    np.testing.assert_allclose(np.sqrt(np.diag(P)[:3]), [2e-4, 2e-4, 1.0], rtol=1e-3)
    # Back at the start a wrong scale does not matter.
    assert last(straight + straight[::-1], model=model)[2, 2] < 1e-7


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_its_drift_is_that_of_the_walk_it_describes(seed):
    # Errors are drawn as the model says and added to a way; their covariance must be the stated.
    rng = np.random.default_rng(seed)
    model = CovarianceModel(position_walk=0.05, rotation_walk=0.02, turn_walk=0.03,
                            scale_start=0.05, scale_walk=0.02)
    poses, depth, draws = curve(40), 2.0, 4000
    dp, dr = np.zeros((draws, 3)), np.zeros((draws, 3))
    scale = 0.05 * rng.standard_normal((draws, 1))
    for before, after in zip(poses, poses[1:], strict=False):
        step = after[:3, 3] - before[:3, 3]
        depths = np.linalg.norm(step) / depth
        turn = 0.035
        dp = (dp + np.cross(dr, step) + scale * step
              + 0.05 * depth * np.sqrt(depths) * rng.standard_normal((draws, 3)))
        dr = dr + np.sqrt(0.02**2 * depths + 0.03**2 * turn) * rng.standard_normal((draws, 3))
        scale = scale + 0.02 * np.sqrt(depths) * rng.standard_normal((draws, 1))
    errors = np.concatenate([dp + 0.04 * rng.standard_normal((draws, 3)),
                             dr + 0.01 * rng.standard_normal((draws, 3))], axis=1)
    P = last(poses, model=model)
    whitened = np.linalg.solve(np.linalg.cholesky(P), errors.T)
    # 4,000 draws: the covariance of whitened errors is the identity to about 2 % an entry.
    np.testing.assert_allclose(whitened @ whitened.T / draws, np.eye(6), atol=0.1)


def test_doubt_makes_it_larger():
    sure, doubtful = last(curve(30)), last(curve(30), score=0.5)
    np.testing.assert_allclose(doubtful[3:, 3:], 4 * sure[3:, 3:], rtol=1e-9)
    # And so does a doubtful stretch, later on.
    uncertainty = run(curve(30), score=0.2)
    later = uncertainty.follow(curve(30)[-1], 10**12, 2.0, 1.0)
    assert deviations(later)[0] > deviations(sure)[0]
    assert_covariance(run(curve(30), score=0.0).follow(curve(30)[-1], 10**12, 2.0, 0.0))


def test_lost_it_grows_with_time_and_found_again_it_is_as_before():
    uncertainty = run(curve(30))
    before = deviations(uncertainty.lost(29 * STEP_NS))
    grown = [deviations(uncertainty.lost(29 * STEP_NS + int(s * 1e9))) for s in (0.5, 1, 10, 1e6)]
    assert sorted(grown) == grown
    assert grown[0][0] > before[0]
    # One unit and a bit a second, in each axis.
    assert grown[2][0] == pytest.approx(np.sqrt(3) * 10 * 1.05, rel=0.1)
    assert grown[3][0] < 200
    again = uncertainty.follow(curve(31)[-1], 10**12, 2.0)
    np.testing.assert_allclose(again, run(curve(30)).follow(curve(31)[-1], 10**12, 2.0))


def test_a_restart_keeps_what_was_lost():
    uncertainty = run(curve(30))
    never = copy.deepcopy(uncertainty).follow(curve(30)[-1], 10**12, 2.0)
    lost = uncertainty.lost(29 * STEP_NS + 2 * 10**9)
    uncertainty.restarted()
    after = uncertainty.follow(curve(30)[-1], 10**12, 2.0)
    assert deviations(after)[0] > deviations(lost)[0] > deviations(never)[0]
    assert deviations(after)[1] > deviations(lost)[1] > deviations(never)[1]
    # The unit is unknown from now on: the way that follows is uncertain along itself.
    further = [uncertainty.follow(curve(30 + i)[-1], 10**12 + i, 2.0) for i in range(1, 40)]
    assert further[-1][2, 2] > after[2, 2] + (0.4 * 3.0)**2


def test_joins_add_their_residuals():
    uncertainty = run(curve(30))
    before = copy.deepcopy(uncertainty).follow(curve(30)[-1], 10**12, 2.0)
    uncertainty.joined(rotation_rad=0.02, translation=0.1, log_scale=0.05)
    after = uncertainty.follow(curve(30)[-1], 10**12, 2.0)
    np.testing.assert_allclose(np.diag(after - before), [0.01] * 3 + [0.0004] * 3)


def test_a_world_that_begins_at_an_uncertain_place_is_as_one_way_in_two_parts():
    # Without a wrong scale the drift of a way is that of its first part, carried on, and of its
    # second part.
    model = CovarianceModel(position_noise=1e-4, rotation_noise=1e-4, scale_start=0, scale_walk=0)
    way = curve(60)
    first, second = last(way[:31], model=model), last(way[30:], model=model)
    step = way[59][:3, 3] - way[30][:3, 3]
    np.testing.assert_allclose(carry_covariance(first, step, second), last(way, model=model),
                               atol=1e-6)


def test_another_world_begins_less_surely():
    before = last(curve(30))
    base = restart_covariance(before, MODEL)
    np.testing.assert_allclose(base - before, np.diag([0.09] * 3 + [0.04] * 3))
    for _ in range(10_000):  # a short recording that loops for days
        base = carry_covariance(restart_covariance(base, MODEL), [5.0, -3, 1], before)
    assert_covariance(base)
    assert np.diag(base).max() < 1.1e4


def test_depths_that_say_nothing_leave_the_last_one():
    expected = last(curve(30))
    uncertainty = PoseUncertainty(MODEL)
    for i, T in enumerate(curve(30)):
        uncertainty.follow(T, i * STEP_NS, 2.0 if i == 0 else (np.nan, 0.0, -1.0, np.inf)[i % 4])
    np.testing.assert_allclose(uncertainty.follow(curve(30)[-1], 10**12, np.nan), expected)


def test_it_stays_within_what_means_something_for_ever():
    uncertainty = PoseUncertainty(CovarianceModel(rotation_walk=0.5, scale_walk=0.5))
    for i in range(5_000):
        P = uncertainty.follow(pose(10 * np.sin(0.01 * i), 0, 2.0 * i), i * STEP_NS, 1.0)
        if i % 500 == 0:
            assert_covariance(P)
    assert_covariance(P)
    assert np.diag(P).max() < 1.1e4


events = st.lists(st.tuples(st.sampled_from(['follow', 'follow', 'lost', 'joined', 'restarted']),
                            st.tuples(*[st.floats(-5, 5)] * 3), st.floats(0.01, 50),
                            st.floats(0, 1), st.integers(-10**9, 10**10)), max_size=30)


@settings(deadline=None, max_examples=60)
@given(events)
def test_whatever_happens_it_is_a_covariance(happened):
    uncertainty = PoseUncertainty(MODEL)
    stamp_ns = 0
    for kind, vector, depth, score, gap_ns in happened:
        stamp_ns += gap_ns
        if kind == 'joined':
            uncertainty.joined(abs(vector[0]), abs(vector[1]), abs(vector[2]))
        elif kind == 'restarted':
            uncertainty.restarted()
        elif kind == 'lost':
            assert_covariance(uncertainty.lost(stamp_ns))
        else:
            T = pose(*vector, turn=vector)
            other = PoseUncertainty(MODEL)
            other.restore(**copy.deepcopy(uncertainty.state()))
            P = uncertainty.follow(T, stamp_ns, depth, score)
            assert_covariance(P)
            np.testing.assert_array_equal(other.follow(T, stamp_ns, depth, score), P)


def test_wrong_values_are_refused():
    with pytest.raises(ShapeError, match='expected a pose'):
        PoseUncertainty(MODEL).follow(np.eye(3), 0, 1.0)
    for name, value in (('position_walk', -0.1), ('turn_walk', np.nan), ('scale_walk', 11),
                        ('position_noise', 0), ('rotation_noise', 0), ('restart_scale', '1')):
        with pytest.raises(ConfigError, match=f'covariance {name}'):
            CovarianceModel(**{name: value})
