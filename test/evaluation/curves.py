# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectories with known properties, for the tests of evaluation."""

from __future__ import annotations

from lingbot_ros.geometry.rotation import matrix_from_quat_xyzw
import numpy as np


def turns(degrees, axis):
    """Return rotation matrices about a coordinate axis, shape [..., 3, 3]."""
    half = np.radians(np.asarray(degrees, np.float64)) / 2
    quat = np.zeros((*half.shape, 4))
    quat[..., 'xyz'.index(axis)] = np.sin(half)
    quat[..., 3] = np.cos(half)
    return matrix_from_quat_xyzw(quat)


def helix(count=100, rounds=1.5):
    """Return a curve that fills all three dimensions, looking along its way."""
    angle = np.linspace(0, 2 * np.pi * rounds, count)
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, 3] = np.stack([3 * np.sin(angle), 0.4 * angle, 3 * np.cos(angle)], axis=1)
    poses[:, :3, :3] = turns(np.degrees(angle) + 90, 'y')
    return poses


def line(count=100, step=1.0):
    """Return a straight path along z, looking ahead."""
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, 2, 3] = step * np.arange(count)
    return poses


def similar(poses, scale=0.37, seed=1):
    """Return the same trajectory in another world and unit."""
    rng = np.random.default_rng(seed)
    T = np.eye(4)
    T[:3, :3] = matrix_from_quat_xyzw(rng.normal(size=4))
    T[:3, 3] = rng.normal(size=3) * 20
    moved = poses.copy()
    moved[:, :3, 3] *= scale
    return T @ moved


def turned(poses, degrees, axis='x'):
    """Return poses whose cameras are turned about an axis of theirs; one angle or one each."""
    poses = poses.copy()
    poses[:, :3, :3] = poses[:, :3, :3] @ turns(degrees, axis)
    return poses


def matched(estimate, truth, seconds=None, numbers=None):
    """Return poses as if they had been associated."""
    from lingbot_ros.evaluation.association import Matched  # needs evo, unlike the curves
    return Matched(estimate, truth, seconds, numbers, len(estimate), len(truth), 0)
