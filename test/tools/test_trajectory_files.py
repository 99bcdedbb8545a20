# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectory files: exact stamps, round trips, refusals, and what evo reads."""

from __future__ import annotations

from lingbot_ros.errors import ShapeError, SourceError
from lingbot_ros.geometry.rotation import matrix_from_quat_xyzw
from lingbot_ros.streaming.trajectory import (
    format_stamp,
    kitti_line,
    read_kitti,
    read_tum,
    Trajectory,
    tum_line,
    write_kitti,
    write_tum,
)
import numpy as np
import pytest


def sample(count=20):
    rng = np.random.default_rng(3)
    trajectory = Trajectory()
    for i in range(count):
        pose = np.eye(4)
        pose[:3, :3] = matrix_from_quat_xyzw(rng.normal(size=4))
        pose[:3, 3] = rng.normal(size=3) * 10
        trajectory.append(1_700_000_000_123_456_789 + i * 33_333_333, pose)
    return trajectory


@pytest.mark.parametrize('stamp_ns, text', [
    (0, '0.000000000'), (1, '0.000000001'), (1_700_000_000_123_456_789, '1700000000.123456789'),
    (-1, '-0.000000001'), (-1_500_000_000, '-1.500000000'), (2**63 - 1, '9223372036.854775807')])
def test_stamps_are_exact(stamp_ns, text):
    assert format_stamp(stamp_ns) == text


def test_lines():
    assert tum_line(5, np.eye(4)) == (
        '0.000000005 0.000000000 0.000000000 0.000000000 '
        '0.000000000 0.000000000 0.000000000 1.000000000')
    turn = np.eye(4)
    turn[:3, :3] = [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]  # 90 degrees about y
    turn[:3, 3] = [1, -2, -1e-12]
    half = '0.707106781'
    assert tum_line(0, turn).split()[1:] == [
        '1.000000000', '-2.000000000', '0.000000000', '0.000000000', half, '0.000000000', half]
    assert [float(v) for v in kitti_line(turn).split()] == list(turn[:3].ravel())


def test_tum_round_trip(tmp_path):
    trajectory = sample()
    write_tum(tmp_path / 't.tum', trajectory)
    back = read_tum(tmp_path / 't.tum')
    np.testing.assert_array_equal(back.stamps_ns, trajectory.stamps_ns)
    np.testing.assert_allclose(back.poses, trajectory.poses, atol=1e-8)


def test_kitti_round_trip(tmp_path):
    trajectory = sample()
    write_kitti(tmp_path / 't.txt', trajectory)
    np.testing.assert_allclose(read_kitti(tmp_path / 't.txt'), trajectory.poses, atol=1e-8)


def test_evo_reads_both(tmp_path):
    file_interface = pytest.importorskip('evo.tools.file_interface')
    trajectory = sample()
    write_tum(tmp_path / 't.tum', trajectory)
    write_kitti(tmp_path / 't.txt', trajectory)
    tum = file_interface.read_tum_trajectory_file(tmp_path / 't.tum')
    kitti = file_interface.read_kitti_poses_file(tmp_path / 't.txt')
    np.testing.assert_allclose(tum.poses_se3, trajectory.poses, atol=1e-7)
    np.testing.assert_allclose(kitti.poses_se3, trajectory.poses, atol=1e-7)
    assert trajectory.path_length == pytest.approx(tum.path_length, abs=1e-6)


def test_trajectory_copies_and_measures():
    trajectory = Trajectory()
    assert len(trajectory) == 0 and trajectory.path_length == 0.0
    assert trajectory.poses.shape == (0, 4, 4) and trajectory.positions.shape == (0, 3)
    pose = np.eye(4)
    for x in (0.0, 3.0, 1.0):
        pose[0, 3] = x
        trajectory.append(0, pose)
    assert trajectory.path_length == 5.0
    assert trajectory.positions[:, 0].tolist() == [0.0, 3.0, 1.0]
    with pytest.raises(ShapeError, match=r'expected a pose \[4, 4\], got shape \(3, 4\)'):
        trajectory.append(0, np.eye(4)[:3])
    assert len(trajectory) == 3


def test_foreign_forms_are_read_and_broken_ones_quoted(tmp_path):
    path = tmp_path / 't.tum'
    path.write_text('# c\n\n1.5e9,1,2,3,0,0,0,2 # more\n1403715273.262142976 1 2 3 0 0 0 1\n')
    assert read_tum(path).stamps_ns.tolist() == [
        1_500_000_000_000_000_000, 1_403_715_273_262_142_976]
    for text in ('1 2 3', '1 2 3 4 5 6 7 x', 'a 2 3 4 5 6 7 8'):
        path.write_text(f'0 0 0 0 0 0 0 1\n{text}\n')
        with pytest.raises(SourceError, match=rf'line 2: expected 8 numbers .*{text}'):
            read_tum(path)
