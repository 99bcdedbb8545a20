# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which pose belongs to which: stamps, offsets, frame numbers, and refusals."""

from __future__ import annotations

from dataclasses import replace

from curves import helix, line
from lingbot_ros.errors import EvaluationError
from lingbot_ros.evaluation.association import associate
from lingbot_ros.evaluation.track import make_track
import numpy as np
import pytest

START = 1_700_000_000_000_000_000


def track(poses, stamps_s, name='truth'):
    return make_track(name, poses, START + np.round(np.asarray(stamps_s) * 1e9).astype(np.int64))


def test_nearest_stamps_match():
    truth = track(helix(200), 0.005 * np.arange(200))
    estimate = track(helix(200)[::7], 0.005 * np.arange(200)[::7] + 0.002, 'estimate')
    matched = associate(estimate, truth)
    np.testing.assert_array_equal(matched.estimate, matched.truth)
    assert len(matched.truth) == 29 and matched.estimates == 29 and matched.truths == 200
    assert matched.largest_difference_s == pytest.approx(0.002, abs=1e-9)
    np.testing.assert_allclose(matched.seconds, 0.035 * np.arange(29), atol=1e-9)


def test_the_longer_track_may_be_the_estimate():
    truth = track(helix(200)[::7], 0.005 * np.arange(200)[::7])
    estimate = track(helix(200), 0.005 * np.arange(200) + 0.002, 'estimate')
    matched = associate(estimate, truth)
    np.testing.assert_array_equal(matched.estimate, matched.truth)
    assert len(matched.truth) == 29
    np.testing.assert_allclose(matched.seconds, 0.035 * np.arange(29), atol=1e-9)


@pytest.mark.parametrize('estimate_longer', [False, True])
def test_an_offset_is_added_to_the_estimate(estimate_longer):
    few, many = slice(0, 200, 4), slice(0, 200)
    ours, theirs = (many, few) if estimate_longer else (few, many)
    stamps = 0.005 * np.arange(200)
    estimate = track(helix(200)[ours], stamps[ours] - 3.0, 'estimate')
    truth = track(helix(200)[theirs], stamps[theirs])
    matched = associate(estimate, truth, offset_s=3.0)
    np.testing.assert_array_equal(matched.estimate, matched.truth)
    with pytest.raises(EvaluationError, match=r'got 0: .* nearest two are .*--max-difference.*'
                                              r'--offset \(3\.000000 lets'):
        associate(estimate, truth)


def test_interpolation_hits_between_two_poses():
    truth = track(line(11), 0.1 * np.arange(11))
    poses = line(11)[:10].copy()
    poses[:, 2, 3] += 0.25
    estimate = track(poses, 0.1 * np.arange(10) + 0.025, 'estimate')
    matched = associate(estimate, truth, 0.05, interpolate=True)
    np.testing.assert_allclose(matched.truth, poses, atol=1e-9)
    np.testing.assert_allclose(matched.seconds, 0.1 * np.arange(10), atol=1e-9)
    nearest = associate(estimate, truth, 0.05)
    np.testing.assert_allclose(nearest.truth[:, 2, 3] - poses[:, 2, 3], -0.25, atol=1e-9)


def test_stamps_keep_their_nanoseconds():
    stamps = START + 1000 * np.arange(50)  # a microsecond apart; a double of 1.7e9 s keeps 0.2
    matched = associate(make_track('estimate', helix(50), stamps + 400),
                        make_track('truth', helix(50), stamps), 5e-7)
    assert len(matched.truth) == 50
    np.testing.assert_array_equal(matched.estimate, matched.truth)


def test_too_few_matches():
    truth = track(helix(10), 0.1 * np.arange(10))
    estimate = track(helix(5), 0.85 + 0.1 * np.arange(5), 'estimate')
    with pytest.raises(EvaluationError, match=r'within 0\.01 s of each other, got 0: '
                                              r'1700000000\.85.* in estimate, .* 0\.05'):
        associate(estimate, truth)
    estimate = track(helix(5), 0.9 + 0.1 * np.arange(5), 'estimate')
    with pytest.raises(EvaluationError, match='got 1: '):
        associate(estimate, truth)


def test_frame_numbers_match():
    truth = make_track('truth', helix(50), numbers=np.arange(50))
    estimate = make_track('estimate', helix(50)[5::2], numbers=np.arange(5, 50, 2))
    matched = associate(estimate, truth)
    np.testing.assert_array_equal(matched.estimate, matched.truth)
    np.testing.assert_array_equal(matched.numbers, np.arange(5, 50, 2))
    assert matched.seconds is None
    other = make_track('estimate', helix(50), numbers=np.arange(100, 150))
    with pytest.raises(EvaluationError, match='frame numbers that both files have, got 100 to'):
        associate(other, truth)


def test_rows_of_different_lengths_are_refused():
    truth = make_track('truth', helix(50), numbers=np.arange(50))
    estimate = make_track('estimate', helix(49), numbers=np.arange(49))
    with pytest.raises(EvaluationError, match='as many poses in both KITTI files, got 49 in '
                                              'estimate and 50 in truth; put the frame number'):
        associate(replace(estimate, by_row=True), truth)
    assert len(associate(estimate, truth).truth) == 49  # numbered by the file itself


def test_stamps_and_numbers_do_not_mix():
    numbered = make_track('00.txt', helix(50), numbers=np.arange(50))
    stamped = track(helix(50), 0.1 * np.arange(50), 'estimate')
    with pytest.raises(EvaluationError, match=r'00\.txt is a KITTI file, .* --times'):
        associate(stamped, numbered)
    stamps = START + np.arange(50) * 100_000_000
    assert len(associate(stamped, numbered.stamped(stamps)).truth) == 50
    with pytest.raises(EvaluationError, match='a stamp for each of 50 frames, got 49'):
        numbered.stamped(stamps[:49])
    with pytest.raises(EvaluationError, match='has stamps of its own'):
        stamped.stamped(stamps)


def test_tracks_are_checked():
    with pytest.raises(EvaluationError, match=r'got 0\.000000001 s \(1 ns\) after .* \(pose 2'):
        make_track('t', helix(4), [1, 2, 1, 3])
    with pytest.raises(EvaluationError, match='expected 4 stamps, got shape'):
        make_track('t', helix(4), [1, 2, 3])
    repeated = make_track('t', helix(4), [1, 2, 2, 3])
    assert len(repeated) == 3 and repeated.repeated == 1
    np.testing.assert_array_equal(repeated.poses, helix(4)[[0, 1, 3]])
    np.testing.assert_array_equal(repeated.take([2, 0]).stamps_ns, [3, 1])
