# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From raw outputs to the record that is handed out."""

from __future__ import annotations

from lingbot_ros.geometry.pose_encoding import decode_intrinsics
from lingbot_ros.records import PoseEstimate, Tracking
from lingbot_ros.stream_parts import CovarianceModel
from lingbot_ros.streaming.cached_stream import RawOutput
from lingbot_ros.streaming.covariance import PoseUncertainty
from lingbot_ros.streaming.published import Pose
from lingbot_ros.streaming.pushed import Pushed
import numpy as np


class Estimates:
    """
    Makes the estimates of one stream.

    Parameters
    ----------
    size : tuple of int
        Height and width of the network input, pixels.
    depth : bool
        Whether depth is handed out.
    covariance : CovarianceModel
        How wrong poses are.

    Attributes
    ----------
    K : ndarray of float64, shape [3, 3]
        Intrinsics of the last frame that was not lost.
    uncertainty : PoseUncertainty
        Of the poses handed out; follows those whose tracking is judged.

    """

    def __init__(self, size: tuple[int, int], depth: bool, covariance: CovarianceModel) -> None:
        self._size = size
        self._depth = depth
        self.K = np.array([[np.inf, 0, size[1] / 2], [0, np.inf, size[0] / 2], [0, 0, 1]])
        self.uncertainty = PoseUncertainty(covariance)

    def of(self, frame: Pushed, raw: RawOutput, row: int, published: Pose, kind: str,
           segment: int, scale: float, tracking: Tracking | None,
           typical_depth: float) -> PoseEstimate:
        """
        Make the estimate of a frame that is not lost.

        Parameters
        ----------
        frame : Pushed
            The frame.
        raw : RawOutput
            Of the network.
        row : int
            Of the frame in it.
        published : ndarray of float64, shape [4, 4]
            Its pose.
        kind : str
            'anchor', 'keyframe' or 'transient'.
        segment : int
            That answered.
        scale : float
            Its unit in published units.
        tracking : Tracking or None
            How far the pose is believed.
        typical_depth : float
            Of the scene, in the unit of the segment; NaN where it was not measured.

        Returns
        -------
        PoseEstimate

        """
        depth = raw.depth[row] if raw.depth is not None and self._depth else None
        confidence = (raw.depth_confidence[row] if raw.depth_confidence is not None
                      and self._depth else None)
        self.K = decode_intrinsics(raw.pose_encoding[row], *self._size)
        return PoseEstimate(
            frame_index=frame.index, stamp_ns=frame.stamp_ns, T_world_camera=published.copy(),
            K=self.K.copy(), image_size=self._size, is_anchor=kind == 'anchor',
            is_keyframe=kind != 'transient', pose_encoding=raw.pose_encoding[row],
            depth=depth if depth is None or scale == 1 else depth * scale,
            depth_confidence=confidence, segment=segment, tracking=tracking,
            covariance=None if tracking is None else self.uncertainty.follow(
                published, frame.stamp_ns, typical_depth * scale, tracking.score))

    def lost(self, frame: Pushed, raw: RawOutput, published: Pose, segment: int,
             tracking: Tracking | None) -> PoseEstimate:
        """
        Make the estimate of a lost frame: the last good pose and intrinsics, and no depth.

        Parameters
        ----------
        frame, raw, published, segment, tracking
            See `of`.

        Returns
        -------
        PoseEstimate

        """
        return PoseEstimate(
            frame_index=frame.index, stamp_ns=frame.stamp_ns, T_world_camera=published.copy(),
            K=self.K.copy(), image_size=self._size, is_anchor=False, is_keyframe=False,
            pose_encoding=raw.pose_encoding[0], segment=segment, tracking=tracking,
            covariance=None if tracking is None else self.uncertainty.lost(frame.stamp_ns))
