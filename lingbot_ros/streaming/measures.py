# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
All numbers that a frame is decided by, measured on the device and brought over with its pose.

Their order is known here alone.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

from lingbot_ros.streaming.cached_stream import Measure, RawOutput
from lingbot_ros.streaming.judgement import Judge
from lingbot_ros.streaming.motion import apparent_motion, MotionReference
from lingbot_ros.streaming.photometric import PhotometricReference
from lingbot_ros.streaming.published import Published
from lingbot_ros.streaming.pushed import Pushed
import torch
from torch import Tensor


@dataclass(frozen=True)
class Measured:
    """
    Numbers of one frame, on the host.

    Attributes
    ----------
    motion : float
        Since the last keyframe, by pose and depth; fraction of the image width.
    apparent : float or None
        Since the image that tells rest; None where nothing is measured.
    depth : float
        Typical depth, in the unit of the segment; NaN where nothing is measured.
    numbers : list of float
        For the judge; empty without one.

    """

    motion: float
    apparent: float | None
    depth: float
    numbers: list[float]


def typical_depth(depth: Tensor) -> Tensor:
    """
    Harmonic mean of a depth image: what is near moves in the image, and the sky does not count.

    Parameters
    ----------
    depth : Tensor of float32, shape [H, W]
        Positive.

    Returns
    -------
    Tensor of float32, shape []

    """
    return 1 / (1 / depth).mean()


class FrameMeasures:
    """
    Measures frames against the last keyframe.

    Parameters
    ----------
    published : Published
        Knows the image that tells rest.
    judge : Judge or None
        Has numbers of its own.

    """

    def __init__(self, published: Published, judge: Judge | None) -> None:
        self._published = published
        self._judge = judge
        self._reference: MotionReference | None = None

    def compare_with(self, encoding: Tensor, depth: Tensor, contrast: Tensor | None) -> None:
        """
        Compare with this keyframe from now on.

        Parameters
        ----------
        encoding : Tensor of float32, shape [9]
            Its pose encoding, on the device.
        depth : Tensor of float32, shape [H, W]
            Its depth.
        contrast : Tensor of float32, shape [h, w], or None
            `local_contrast` of its image; None where nobody judges.

        """
        self._reference = MotionReference.of(encoding, depth)
        if self._judge is not None and contrast is not None:
            self._judge.compare_with(PhotometricReference(encoding.clone(), contrast))

    def of(self, frame: Pushed) -> Measure:
        """Return what is to be measured of a frame once its pose is known."""
        reference, judge, still = self._reference, self._judge, self._published.still_image
        assert reference is not None

        def measure(encodings: Tensor, depths: Tensor, confidences: Tensor) -> Tensor:
            own = torch.stack((reference.motion(encodings[0]),
                               apparent_motion(frame.thumbnail, still),
                               typical_depth(depths[0])))
            if judge is None:
                return own
            return torch.cat((own, judge.measure(frame.pixels, encodings[0], depths[0],
                                                 confidences[0])))

        return measure

    def read(self, raw: RawOutput) -> Measured:
        """Read what was measured, if anything was."""
        numbers = raw.measures.tolist()
        if not numbers:
            return Measured(0.0, None, math.nan, [])
        motion, apparent, depth, *judged = numbers
        return Measured(motion, apparent, depth, judged)

    def state(self) -> dict[str, list[Tensor]]:
        """Return all that `restore` needs."""
        reference = self._reference
        return {'reference': [reference.encoding, reference.points, reference.pixels]
                if reference else []}

    def restore(self, reference: list[Tensor]) -> None:
        """Go on from what `state` returned."""
        self._reference = MotionReference(*reference) if reference else None
