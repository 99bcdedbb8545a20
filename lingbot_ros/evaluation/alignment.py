# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laying an estimate over the truth: rigidly, with scale, by scale alone, or not at all."""

from __future__ import annotations

from dataclasses import dataclass

from lingbot_ros.checks import require
from lingbot_ros.evaluation.engine import fit_similarity
import numpy as np
from numpy.typing import NDArray

ALIGNMENTS = ('sim3', 'se3', 'scale', 'none')


@dataclass(frozen=True, eq=False)
class Alignment:
    """
    The map truth = scale * rotation @ estimate + translation.

    Attributes
    ----------
    rotation : ndarray of float64, shape [3, 3]
    translation : ndarray of float64, shape [3]
        In the truth's unit.
    scale : float
        Truth's units in one of the estimate's.

    """

    rotation: NDArray[np.float64]
    translation: NDArray[np.float64]
    scale: float

    def apply(self, poses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return poses [N, 4, 4] in the truth's world and unit; rotations stay rotations."""
        moved = poses.copy()
        moved[:, :3, :3] = self.rotation @ poses[:, :3, :3]
        moved[:, :3, 3] = self.scale * poses[:, :3, 3] @ self.rotation.T + self.translation
        return moved


def align(estimate: NDArray[np.float64], truth: NDArray[np.float64], kind: str) -> Alignment:
    """
    Fit the positions of an estimate to those of the truth by least squares.

    Parameters
    ----------
    estimate, truth : ndarray of float64, shape [N, 4, 4]
        Corresponding poses.
    kind : str
        'sim3' (rotation, translation, scale), 'se3' (without scale), 'scale' (the scale of
        'sim3' alone), 'none'.

    Returns
    -------
    Alignment
        Where many rotations are equally good (a straight path, a point), one of them. A point
        has no scale; it stays 1.

    Raises
    ------
    ConfigError
        Another kind.

    """
    require(kind in ALIGNMENTS,
            f'alignment must be one of {", ".join(ALIGNMENTS)}, got {kind!r}')
    if kind == 'none':
        return Alignment(np.eye(3), np.zeros(3), 1.0)
    rotation, translation, scale = fit_similarity(
        estimate[:, :3, 3], truth[:, :3, 3], kind != 'se3')
    if kind == 'scale':
        return Alignment(np.eye(3), np.zeros(3), scale)
    return Alignment(rotation, translation, scale)
