# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Similarities (Sim(3)) between two worlds that were made from the same images.

``S_a_b`` maps points of b to a: x_a = scale * rotation @ x_b + translation. A camera pose is
mapped so that it stays a rigid transform: its rotation is composed, its centre is mapped, and
depths seen by the camera are to be multiplied by `scale`.
"""

from __future__ import annotations

from dataclasses import dataclass

from lingbot_ros.errors import AlignmentError, ShapeError
from lingbot_ros.geometry.rotation import matrix_from_rotation_vector, rotation_vector
import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# A rotation from the network is exact to about 1e-7; what is further off is no rotation.
_ROTATION_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class Similarity:
    """
    A similarity transform ``S_a_b``.

    Attributes
    ----------
    scale : float
        Length of a per length of b, > 0.
    rotation : ndarray of float64, shape [3, 3]
        ``R_a_b``.
    translation : ndarray of float64, shape [3]
        Origin of b in a, units of a.

    Raises
    ------
    ShapeError
        If rotation or translation have another shape.
    AlignmentError
        If a number is not finite, the scale is not positive or the rotation is none.

    """

    scale: float
    rotation: Array
    translation: Array

    def __post_init__(self) -> None:
        """Check every field; arrays become read-only copies."""
        R = np.array(self.rotation, dtype=np.float64)
        t = np.array(self.translation, dtype=np.float64)
        if R.shape != (3, 3) or t.shape != (3,):
            raise ShapeError('expected a rotation [3, 3] and a translation [3], got '
                             f'{list(R.shape)} and {list(t.shape)}')
        if not (np.isfinite(self.scale) and self.scale > 0 and np.isfinite(t).all()):
            raise AlignmentError('expected a positive scale and a finite translation, got '
                                 f'{self.scale!r} and {t.tolist()}')
        if not (np.abs(R @ R.T - np.eye(3)).max() < _ROTATION_TOLERANCE
                and np.linalg.det(R) > 0):
            raise AlignmentError(f'expected a rotation matrix, got {R.tolist()}')
        R.flags.writeable = t.flags.writeable = False
        object.__setattr__(self, 'scale', float(self.scale))
        object.__setattr__(self, 'rotation', R)
        object.__setattr__(self, 'translation', t)

    @staticmethod
    def identity() -> Similarity:
        """Return the similarity that changes nothing."""
        return Similarity(1.0, np.eye(3), np.zeros(3))

    @staticmethod
    def from_poses(T_a_camera: ArrayLike, T_b_camera: ArrayLike, scale: float) -> Similarity:
        """
        Find the similarity that carries one camera pose exactly onto another.

        Parameters
        ----------
        T_a_camera, T_b_camera : array_like, shape [4, 4]
            One camera in both worlds.
        scale : float
            Length of a per length of b.

        Returns
        -------
        Similarity
            ``S_a_b``.

        """
        T_a, T_b = as_poses(T_a_camera)[0], as_poses(T_b_camera)[0]
        R = T_a[:3, :3] @ T_b[:3, :3].T
        return Similarity(scale, R, T_a[:3, 3] - scale * R @ T_b[:3, 3])

    @property
    def inverse(self) -> Similarity:
        """The similarity ``S_b_a``."""
        R = self.rotation.T
        return Similarity(1 / self.scale, R, -(R @ self.translation) / self.scale)

    def __matmul__(self, other: Similarity) -> Similarity:
        """Compose: ``S_a_b @ S_b_c`` is ``S_a_c``."""
        return Similarity(
            self.scale * other.scale, nearest_rotation(self.rotation @ other.rotation),
            self.scale * (self.rotation @ other.translation) + self.translation)

    def points(self, points: ArrayLike) -> Array:
        """
        Map points.

        Parameters
        ----------
        points : array_like, shape [..., 3]
            In b.

        Returns
        -------
        ndarray of float64, shape [..., 3]
            In a.

        """
        points_b = np.asarray(points, dtype=np.float64)
        if points_b.ndim == 0 or points_b.shape[-1] != 3:
            raise ShapeError(f'expected points [..., 3], got shape {points_b.shape}')
        return self.scale * (points_b @ self.rotation.T) + self.translation

    def pose(self, T_b_camera: ArrayLike) -> Array:
        """
        Map camera poses; they stay rigid.

        Parameters
        ----------
        T_b_camera : array_like, shape [..., 4, 4]
            Camera points to b.

        Returns
        -------
        ndarray of float64, shape [..., 4, 4]
            ``T_a_camera``.

        """
        T = np.array(T_b_camera, dtype=np.float64)
        if T.ndim < 2 or T.shape[-2:] != (4, 4):
            raise ShapeError(f'expected poses [..., 4, 4], got shape {T.shape}')
        T[..., :3, 3] = self.points(T[..., :3, 3])
        T[..., :3, :3] = self.rotation @ T[..., :3, :3]
        return T

    def towards(self, other: Similarity, fraction: float) -> Similarity:
        """
        Go part of the way to another similarity: a correction is spread over frames with it.

        Parameters
        ----------
        other : Similarity
            What is reached at 1.
        fraction : float
            0 to 1. Scale goes geometrically, rotation on the shortest arc, translation straight.

        Returns
        -------
        Similarity
            Between both.

        """
        if not 0 <= fraction <= 1:
            raise AlignmentError(f'expected a fraction from 0 to 1, got {fraction!r}')
        turn = rotation_vector(other.rotation @ self.rotation.T)
        return Similarity(
            self.scale * (other.scale / self.scale)**fraction,
            nearest_rotation(matrix_from_rotation_vector(fraction * turn) @ self.rotation),
            (1 - fraction) * self.translation + fraction * other.translation)


def nearest_rotation(matrix: ArrayLike) -> Array:
    """
    Rotation closest to a matrix (in the sense of Frobenius).

    Parameters
    ----------
    matrix : array_like, shape [3, 3]
        Finite.

    Returns
    -------
    ndarray of float64, shape [3, 3]
        Of determinant 1.

    """
    u, _, vt = np.linalg.svd(np.asarray(matrix, dtype=np.float64))
    return u @ np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt))]) @ vt


def as_poses(poses: ArrayLike) -> Array:
    """
    One or several poses as an array of several.

    Parameters
    ----------
    poses : array_like, shape [4, 4] or [N, 4, 4]
        Rigid transforms.

    Returns
    -------
    ndarray of float64, shape [N, 4, 4]

    Raises
    ------
    ShapeError
        If they have another shape.

    """
    T = np.asarray(poses, dtype=np.float64)
    if T.ndim not in (2, 3) or T.shape[-2:] != (4, 4):
        raise ShapeError(f'expected poses [N, 4, 4], got shape {T.shape}')
    return T.reshape(-1, 4, 4)
