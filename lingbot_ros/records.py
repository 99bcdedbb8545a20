# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The records that travel between rooms: a frame in; a pose estimate and its trust out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class Frame:
    """
    One image and its stamp.

    Attributes
    ----------
    image : ndarray of uint8, shape [H, W, 3]
        RGB, row 0 at the top.
    stamp_ns : int
        Time of exposure as its source gives it, nanoseconds.
    frame_id : str
        Name of the camera's optical coordinate frame; empty when the source has none.

    """

    image: NDArray[np.uint8]
    stamp_ns: int
    frame_id: str = ''


class TrackingState(str, Enum):
    """
    How far a pose is to be believed.

    'initialising': right, but provisional: origin and scale are still being fixed. 'tracking':
    nothing speaks against it. 'degraded': something does. 'lost': the pose means nothing.
    """

    INITIALISING = 'initialising'
    TRACKING = 'tracking'
    DEGRADED = 'degraded'
    LOST = 'lost'

    def __str__(self) -> str:
        """Return the word."""
        return self.value


@dataclass(frozen=True)
class Tracking:
    """
    Trust in one pose.

    Attributes
    ----------
    state : TrackingState
        In one word.
    score : float
        0 (worthless) to 1 (nothing speaks against it).
    reason : str
        What speaks against it, a short phrase with numbers; '' when nothing does.

    """

    state: TrackingState
    score: float
    reason: str = ''


@dataclass(frozen=True, eq=False)
class PoseEstimate:
    """
    What the network says of one frame.

    Attributes
    ----------
    frame_index : int
        Frames pushed since the last reset, from 0.
    stamp_ns : int
        Stamp of the image, nanoseconds, unchanged.
    T_world_camera : ndarray of float64, shape [4, 4]
        Maps camera points to world. Both use optical axes (x right, y down, z forward); the
        world is the first anchor frame; lengths are scene units, not metres.
    K : ndarray of float64, shape [3, 3]
        Estimated intrinsics of the processed image, pixels; infinite focal lengths where the
        network saw no field of view.
    image_size : tuple of int
        Height and width of the processed image, pixels.
    is_anchor, is_keyframe : bool
        Whether the frame is an anchor, and whether its keys were kept (true for anchors).
    pose_encoding : ndarray of float32, shape [9]
        The raw head output: translation, quaternion xyzw (not normalised), vertical and
        horizontal field of view in radians.
    depth : Tensor of float32, shape [H, W], or None
        Depth along the optical axis, scene units, on the network's device; None when the stream
        runs without the depth head.
    depth_confidence : Tensor of float32, shape [H, W], or None
        At least 1; larger is surer.
    segment : int
        Which cache the pose comes from, counted from 0 since the last reset; see
        `StreamConfig.segments`.
    tracking : Tracking or None
        How far the pose is believed; None where the stream does not judge its poses. The pose of
        a lost frame is the last one that was believed.
    covariance : ndarray of float64, shape [6, 6], or None
        Of the pose's error: translation x y z in scene units, then rotation x y z in radians,
        both in world axes; None where the stream does not judge its poses.

    """

    frame_index: int
    stamp_ns: int
    T_world_camera: NDArray[np.float64]
    K: NDArray[np.float64]
    image_size: tuple[int, int]
    is_anchor: bool
    is_keyframe: bool
    pose_encoding: NDArray[np.float32]
    depth: torch.Tensor | None = None
    depth_confidence: torch.Tensor | None = None
    segment: int = 0
    tracking: Tracking | None = None
    covariance: NDArray[np.float64] | None = None
