# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
How wrong a published pose may be: a covariance that grows with the way and never by itself.

The error of a pose is (dp, dr): true position = position + dp, true rotation = exp(dr) rotation,
both in world axes, which is the order and meaning of geometry_msgs/PoseWithCovariance in the frame
of the world. It drifts like that of an odometry with an uncertain unit: position, rotation and
scale wander with the way and with turning, and what rotation and scale are wrong by moves every
later position. On top comes what each single pose trembles by. Lengths are measured in typical
depths of the scene, so that the model does not depend on the unit or on the frame rate.
"""

from __future__ import annotations

from typing import Any

from lingbot_ros.errors import ShapeError
from lingbot_ros.geometry.rotation import rotation_angle
from lingbot_ros.stream_parts import CovarianceModel
import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# Standard deviations beyond which a value means nothing: scene units, radians, part of the scale.
# Filters misread larger ones.
_WORST = np.array([100.0] * 3 + [np.pi] * 3 + [1.0])
# A doubtful pose is this much worse at most.
_LEAST_SCORE = 0.1
_SMALLEST_DEPTH = 1e-6


class PoseUncertainty:
    """
    Covariance of the poses of one stream.

    Parameters
    ----------
    model : CovarianceModel
        The coefficients.

    """

    def __init__(self, model: CovarianceModel) -> None:
        self._model = model
        self._drift = np.zeros((7, 7))  # dp, dr and the logarithm of the scale
        self._pose: Array | None = None
        self._stamp_ns = 0
        self._depth = 1.0
        self._score = 1.0
        self._speeds = (0.0, 0.0)
        self._lost_s = 0.0

    def follow(self, pose: ArrayLike, stamp_ns: int, depth: float, score: float = 1.0) -> Array:
        """
        Take the next pose that is believed; the first one begins a world.

        Parameters
        ----------
        pose : array_like, shape [4, 4]
            Camera to the world that is published, finite.
        stamp_ns : int
            Its stamp, nanoseconds.
        depth : float
            Typical depth of what the camera sees, units of the world; the last one goes on where
            it is not finite and positive.
        score : float
            Trust in it, 0 to 1; see `Tracking`. At half the score the pose is twice as bad.

        Returns
        -------
        ndarray of float64, shape [6, 6]
            Symmetric and positive definite. Order x, y, z (squared units of the world), rotation
            about x, y, z of the world (rad squared).

        Raises
        ------
        ShapeError
            If the pose is not 4 x 4.

        """
        T = np.array(pose, dtype=np.float64)
        if T.shape != (4, 4):
            raise ShapeError(f'expected a pose [4, 4], got shape {T.shape}')
        if np.isfinite(depth) and depth > _SMALLEST_DEPTH:
            self._depth = float(depth)
        self._score = min(1.0, max(_LEAST_SCORE, float(score)))
        if self._pose is None:
            self._drift[6, 6] = self._model.scale_start**2
        else:
            seconds = (stamp_ns - self._stamp_ns) / 1e9
            self._wander(T, seconds)
        self._pose, self._stamp_ns, self._lost_s = T, stamp_ns, 0.0
        return self._published()

    def lost(self, stamp_ns: int) -> Array:
        """
        Take a frame whose pose is not believed: the camera may go on as fast as before.

        Parameters
        ----------
        stamp_ns : int
            Its stamp, nanoseconds.

        Returns
        -------
        ndarray of float64, shape [6, 6]
            Of the last pose that was believed, if the camera were still there.

        """
        if self._pose is not None:
            self._lost_s = max(self._lost_s, (stamp_ns - self._stamp_ns) / 1e9)
        return self._published()

    def joined(self, rotation_rad: float, translation: float, log_scale: float) -> None:
        """
        Add what a join from segment to segment is uncertain by.

        Parameters
        ----------
        rotation_rad, translation : float
            Residuals of the shared frames, root mean square: radians, units of the world.
        log_scale : float
            Uncertainty of the logarithm of the scale.

        """
        self._add(translation, rotation_rad, log_scale)

    def restarted(self) -> None:
        """Add what a restart is uncertain by: whatever the camera did while it was lost."""
        way, turn = self._gone()
        model = self._model
        self._add(float(np.hypot(way, model.restart_position * self._depth)),
                  float(np.hypot(turn, model.restart_rotation)), model.restart_scale)
        self._lost_s = 0.0

    def state(self) -> dict[str, Any]:
        """Return all that `restore` needs."""
        return {'drift': self._drift, 'pose': self._pose, 'stamp_ns': self._stamp_ns,
                'numbers': [self._depth, self._score, *self._speeds, self._lost_s]}

    def restore(self, drift: Array, pose: Array | None, stamp_ns: int,
                numbers: list[float]) -> None:
        """Go on from what `state` returned."""
        self._drift, self._pose, self._stamp_ns = np.array(drift), pose, stamp_ns
        self._depth, self._score = numbers[:2]
        self._speeds, self._lost_s = (numbers[2], numbers[3]), numbers[4]

    def _wander(self, T: Array, seconds: float) -> None:
        assert self._pose is not None
        model = self._model
        step = T[:3, 3] - self._pose[:3, 3]
        way = float(np.linalg.norm(step))
        turn = float(rotation_angle(T[:3, :3] @ self._pose[:3, :3].T))
        if seconds > 0:
            self._speeds = way / seconds, turn / seconds
        forward = np.eye(7)
        forward[:3, 3:6] = _lever(step)
        forward[:3, 6] = step
        self._drift = forward @ self._drift @ forward.T
        depths = way / self._depth
        doubt = self._score**-2
        variances = np.repeat([
            model.position_walk**2 * depths * self._depth**2,
            model.rotation_walk**2 * depths + model.turn_walk**2 * turn,
            model.scale_walk**2 * depths], [3, 3, 1])
        self._drift += np.diag(variances * doubt)
        self._bound()

    def _add(self, position: float, rotation: float, log_scale: float) -> None:
        self._drift += np.diag(np.repeat(np.square([position, rotation, log_scale]), [3, 3, 1]))
        self._bound()

    def _bound(self) -> None:
        self._drift = _bounded(self._drift)

    def _gone(self) -> tuple[float, float]:
        """Way and angle that the camera may have gone since the last good pose."""
        return tuple(float(min(speed * self._lost_s, worst))  # type: ignore[return-value]
                     for speed, worst in zip(self._speeds, (_WORST[0], _WORST[3]), strict=True))

    def _published(self) -> Array:
        model, (way, turn) = self._model, self._gone()
        noise = np.square([model.position_noise * self._depth, model.rotation_noise])
        noise = noise / self._score**2 + np.square([way, turn])
        drift = self._drift[:6, :6]
        # The last term outweighs rounding, so that errors of any size leave it positive.
        return drift + np.diag(np.repeat(noise, 3) + 1e-9 * np.diag(drift))


def _bounded(covariance: Array) -> Array:
    """Keep within what still means something; correlations stay."""
    stddev = np.sqrt(np.diag(covariance).clip(min=0.0))  # a way back cancels to rounding
    factor = np.minimum(1.0, _WORST[:len(stddev)] / np.maximum(stddev, 1e-300))
    bounded = covariance * factor * factor[:, None]
    return np.asarray((bounded + bounded.T) / 2)


def _lever(step: Array) -> Array:
    """Matrix that makes dr to dr x step: how a wrong rotation moves what is a step away."""
    x, y, z = step
    return np.array([[0, z, -y], [-z, 0, x], [y, -x, 0]])


def restart_covariance(before: ArrayLike, model: CovarianceModel) -> Array:
    """
    Covariance of the place where a new world begins at the last pose of an old one.

    Parameters
    ----------
    before : array_like, shape [6, 6]
        Of that pose.
    model : CovarianceModel
        Its restart coefficients count, with a typical depth of 1.

    Returns
    -------
    ndarray of float64, shape [6, 6]

    """
    more = np.square(np.repeat([model.restart_position, model.restart_rotation], 3))
    return _bounded(np.asarray(before, dtype=np.float64) + np.diag(more))


def carry_covariance(base: ArrayLike, step: ArrayLike, own: ArrayLike) -> Array:
    """
    Covariance of a pose in a world whose own place is uncertain.

    Parameters
    ----------
    base : array_like, shape [6, 6]
        Of the place where the world begins.
    step : array_like, shape [3]
        From there to the pose, in the axes of both covariances.
    own : array_like, shape [6, 6]
        Of the pose in that world.

    Returns
    -------
    ndarray of float64, shape [6, 6]

    """
    forward = np.eye(6)
    forward[:3, 3:] = _lever(np.asarray(step, dtype=np.float64))
    carried = _bounded(forward @ np.asarray(base, dtype=np.float64) @ forward.T)
    return np.asarray(carried + np.asarray(own, dtype=np.float64))


def rotate_covariance(covariance: ArrayLike, rotation: ArrayLike) -> Array:
    """
    Express a covariance in other axes.

    Parameters
    ----------
    covariance : array_like, shape [6, 6]
        Position and rotation in the axes of b.
    rotation : array_like, shape [3, 3]
        ``R_a_b``.

    Returns
    -------
    ndarray of float64, shape [6, 6]
        In the axes of a.

    """
    both = np.kron(np.eye(2), np.asarray(rotation, dtype=np.float64))
    turned = both @ np.asarray(covariance, dtype=np.float64) @ both.T
    return np.asarray((turned + turned.T) / 2)
