# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectory files of three formats: round trips, guesses that are certain, and refusals."""

from __future__ import annotations

from curves import helix
from lingbot_ros.errors import EvaluationError
from lingbot_ros.evaluation.files import read_times, read_track
from lingbot_ros.geometry.rotation import quat_xyzw_from_matrix
from lingbot_ros.streaming.trajectory import Trajectory, write_kitti, write_tum
import numpy as np
import pytest

START = 1_700_000_000_123_456_789
STAMPS = START + 33_333_333 * np.arange(20)


def trajectory():
    result = Trajectory()
    for stamp_ns, pose in zip(STAMPS, helix(20), strict=True):
        result.append(stamp_ns, pose)
    return result


def euroc_lines(velocity=False):
    lines = ['#timestamp [ns],p_RS_R_x [m],p_RS_R_y [m],p_RS_R_z [m],q_RS_w [],q_RS_x [],'
             'q_RS_y [],q_RS_z []']
    for stamp_ns, pose in zip(STAMPS, helix(20), strict=True):
        x, y, z, w = quat_xyzw_from_matrix(pose[:3, :3])
        values = [*pose[:3, 3], w, x, y, z, *([0.5] * 9 if velocity else [])]
        lines.append(','.join([str(stamp_ns), *(f'{value:.9f}' for value in values)]))
    return '\n'.join(lines) + '\n'


@pytest.mark.parametrize('kind', ['auto', 'tum'])
def test_tum(tmp_path, kind):
    write_tum(tmp_path / 'a.txt', trajectory())
    track = read_track(tmp_path / 'a.txt', kind)
    np.testing.assert_array_equal(track.stamps_ns, STAMPS)
    np.testing.assert_allclose(track.poses, helix(20), atol=1e-8)
    assert track.numbers is None


@pytest.mark.parametrize('kind', ['auto', 'kitti'])
def test_kitti(tmp_path, kind):
    write_kitti(tmp_path / 'a.txt', trajectory())
    track = read_track(tmp_path / 'a.txt', kind)
    np.testing.assert_allclose(track.poses, helix(20), atol=1e-8)
    np.testing.assert_array_equal(track.numbers, np.arange(20))
    assert track.by_row and track.stamps_ns is None


def test_kitti_with_frame_numbers(tmp_path):
    write_kitti(tmp_path / 'a.txt', trajectory())
    lines = (tmp_path / 'a.txt').read_text().splitlines()
    (tmp_path / 'a.txt').write_text('\n'.join(f'{4 + 2 * i} {line}'
                                              for i, line in enumerate(lines)))
    track = read_track(tmp_path / 'a.txt')
    np.testing.assert_array_equal(track.numbers, 4 + 2 * np.arange(20))
    np.testing.assert_allclose(track.poses, helix(20), atol=1e-8)
    assert not track.by_row


@pytest.mark.parametrize('kind', ['auto', 'euroc'])
@pytest.mark.parametrize('velocity', [False, True])
def test_euroc(tmp_path, kind, velocity):
    (tmp_path / 'data.csv').write_text(euroc_lines(velocity))
    track = read_track(tmp_path / 'data.csv', kind)
    np.testing.assert_array_equal(track.stamps_ns, STAMPS)
    np.testing.assert_allclose(track.poses, helix(20), atol=1e-8)


def test_a_byte_order_mark_and_comments_do_no_harm(tmp_path):
    write_tum(tmp_path / 'a.txt', trajectory())
    text = (tmp_path / 'a.txt').read_text()
    (tmp_path / 'a.txt').write_bytes(b'\xef\xbb\xbf' + text.replace('\n', ' # x\r\n').encode())
    assert len(read_track(tmp_path / 'a.txt')) == 20


@pytest.mark.parametrize('text, message', [
    ('', 'a file without poses'),
    ('# only a comment\n\n', 'a file without poses'),
    ('1 2 3\n', r'by spaces, 8 a line \(TUM\), 12 or 13 \(KITTI\).*got 3 separated .* line 1'),
    ('# c\n1, 2, 3, 4, 5, 6, 7, 8\n', 'got 8 separated by commas in line 2; separate them so, or '
     'name the format with --format'),
    ('0 0 0 0 0 0 0 1\n1 0 0 0 0 0 0\n', 'line 2: expected 8 numbers .* got 7 words'),
    ('0 0 0 0 0 0 0 1\n1 0 0 x 0 0 0 1\n', "line 2: expected numbers, got '1 0 0 x"),
    ('0 0 0 0 0 0 0 1\n1 0 0 nan 0 0 0 1\n', r'line 2: expected finite numbers .* \(1 such'),
    ('0 0 0 0 0 0 0 1\n1 0 0 inf 0 0 0 1\n', 'line 2: expected finite numbers'),
    ('0 0 0 0 0 0 0 0\n', 'a quaternion that is not zero'),
    ('0 0 0 0 1e200 0 0 1\n', r'numbers up to 1e\+12'),
    ('0 0 0 0 0 0 0 1\n1 0 0 -1e200 0 0 0 1\n', r'line 2: expected finite numbers up to 1e\+12'),
    ('1 0 0 1e200 0 1 0 0 0 0 1 0\n', r'1 of 1 positions are beyond 1e\+12, first number 0'),
    ('nan 0 0 0 0 0 0 1\n', "line 1: expected a stamp, got 'nan', which is not finite"),
    ('inf 0 0 0 0 0 0 1\n', "line 1: expected a stamp, got 'inf', which is not finite"),
    ('1e400 0 0 0 0 0 0 1\n', r'line 1: expected a stamp of at most \d+ s, got .1e400'),
    ('0 0 0 0 0 0 0 1\n1e10 0 0 0 0 0 0 1\n', r'line 2: expected a stamp of at most \d+ s'),
    ('0 0 0 0 0 0 0 1\n1e300 0 0 0 0 0 0 1\n', r'line 2: .*got 1e300, which is too large \(1 '),
    ('1e18,0,0,0,1,0,0,0\n1e300,0,0,0,1,0,0,0\n', r'line 2: expected a stamp of at most \d+ ns'),
    ('2 0 0 0 0 0 0 1\n1.5 0 0 0 0 0 0 1\n',
     r'ascending stamps, got 1\.500000000 s \(1500000000 ns\) after 2\.000000000 s'),
    ('1403715273262142976 0 0 0 0 0 0 1\n', 'looks like nanoseconds; divide them'),
    ('1 0 0 0 0 1 0 0 0 0 1\n', 'got 11 separated by spaces in line 1'),
    ('1 0 0 0 0 1 0 0 0 0 1 0\n0 1 0 0 0 0 1 0 0 0 0 1 0\n', 'line 2: expected 12 numbers'),
    ('0.5 1 0 0 0 0 1 0 0 0 0 1 0\n', r'line 1: expected a frame number .* got 0\.5'),
    ('1e300 1 0 0 0 0 1 0 0 0 0 1 0\n', 'line 1: expected a frame number'),
    ('-1 1 0 0 0 0 1 0 0 0 0 1 0\n', 'line 1: expected a frame number'),
    ('2 1 0 0 0 0 1 0 0 0 0 1 0\n1 1 0 0 0 0 1 0 0 0 0 1 0\n', 'ascending frame numbers'),
    ('1 0 0 nan 0 1 0 0 0 0 1 0\n', 'not finite'),
    ('2 0 0 0 0 1 0 0 0 0 1 0\n', 'hold no rotation'),
])
def test_refusals(tmp_path, text, message):
    path = tmp_path / 'poses.txt'
    path.write_text(text)
    with pytest.raises(EvaluationError, match=message) as error:
        read_track(path)
    assert str(path) in str(error.value)


def test_missing_files_and_wrong_names(tmp_path):
    with pytest.raises(EvaluationError, match='cannot read .*none.txt: No such file'):
        read_track(tmp_path / 'none.txt')
    with pytest.raises(EvaluationError, match='cannot read .*: Is a directory'):
        read_track(tmp_path)
    with pytest.raises(EvaluationError, match="one of auto, tum, kitti, euroc, got 'bag'"):
        read_track(tmp_path / 'none.txt', 'bag')
    with pytest.raises(EvaluationError, match='cannot read .*none.txt: No such file'):
        read_times(tmp_path / 'none.txt')


def test_times(tmp_path):
    (tmp_path / 'times.txt').write_text('0.000000e+00\n1.037359e-01\n\n2.0\n')
    assert read_times(tmp_path / 'times.txt').tolist() == [0, 103_735_900, 2_000_000_000]
    (tmp_path / 'times.txt').write_text('0\nabc\n')
    with pytest.raises(EvaluationError, match="times.txt, line 2: expected a stamp, got 'abc'"):
        read_times(tmp_path / 'times.txt')
