# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rigid transforms as 4 x 4 matrices, float64; ``T_a_b`` maps points of b to a."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def make_transform(rotation: ArrayLike, translation: ArrayLike) -> NDArray[np.float64]:
    """
    Build a transform from its rotation and translation.

    Parameters
    ----------
    rotation : array_like, shape [3, 3]
        Rotation matrix.
    translation : array_like, shape [3]
        Translation, in the unit of the caller.

    Returns
    -------
    ndarray of float64, shape [4, 4]
        The transform.

    """
    transform = np.eye(4)
    transform[:3, :3] = rotation
    transform[:3, 3] = translation
    return transform


def invert_transform(transform: ArrayLike) -> NDArray[np.float64]:
    """
    Invert a rigid transform exactly, by transposing its rotation.

    Parameters
    ----------
    transform : array_like, shape [4, 4]
        ``T_a_b``.

    Returns
    -------
    ndarray of float64, shape [4, 4]
        ``T_b_a``.

    """
    matrix = np.asarray(transform, dtype=np.float64)
    rotation = matrix[:3, :3].T
    return make_transform(rotation, -rotation @ matrix[:3, 3])
