# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The judge of a stream: measures frames on the device, and says how far their poses are believed.

What to compare a frame with lives here: the image before, the last good one, the last keyframe.
How the numbers are weighed stands in `image_checks` and `tracking`.
"""

from __future__ import annotations

from typing import Any

from lingbot_ros.records import Tracking, TrackingState
from lingbot_ros.stream_parts import TrackingConfig
from lingbot_ros.streaming import image_checks, photometric
from lingbot_ros.streaming.image_checks import ImageJudge, ImageStatistics, ImageVerdict
from lingbot_ros.streaming.photometric import PhotometricCheck, PhotometricReference
from lingbot_ros.streaming.tracking import Observation, TrackingMonitor
import numpy as np
from numpy.typing import NDArray
import torch
from torch import Tensor

_IMAGE = image_checks.STATISTICS
_PHOTOMETRIC = photometric.STATISTICS

STATISTICS = _IMAGE + _PHOTOMETRIC + 1
"""Numbers that `Judge.measure` makes."""

# A frame that a few keyframes predict at least so well was seen from near them.
_RECOGNISED_OVERLAP = 0.3


class Judge:
    """
    Judges the frames of one stream.

    Parameters
    ----------
    config : TrackingConfig
        The limits.

    """

    def __init__(self, config: TrackingConfig) -> None:
        self._config = config
        self._images = ImageJudge(config.sharpness, config.similarity, config.frozen_frames,
                                  config.memory_frames)
        self._monitor = TrackingMonitor(config)
        self._before: Tensor | None = None
        self._good: Tensor | None = None
        self._keyframe: PhotometricReference | None = None

    @property
    def restart_due(self) -> bool:
        """Whether so many frames are lost that the stream is to start anew with the last one."""
        return self._monitor.restart_due

    def start(self, pixels: Tensor) -> ImageVerdict:
        """
        Take the first image of a stream; waits for the device.

        Parameters
        ----------
        pixels : Tensor of float32, shape [3, H, W]
            RGB in [0, 1].

        Returns
        -------
        ImageVerdict
            Of the image alone.

        """
        numbers = image_checks.measure(pixels, self._before, None).tolist()
        verdict = self._images.judge(ImageStatistics(*numbers))
        self._before = pixels
        if verdict.usable:
            self._good = image_checks.small_image(pixels)
        return verdict

    def compare_with(self, keyframe: PhotometricReference) -> None:
        """Compare poses with this keyframe from now on."""
        self._keyframe = keyframe

    def measure(self, pixels: Tensor, encoding: Tensor, depth: Tensor,
                confidence: Tensor) -> Tensor:
        """
        Measure a frame; nothing is brought to the host.

        Parameters
        ----------
        pixels : Tensor of float32, shape [3, H, W]
            RGB in [0, 1].
        encoding : Tensor of float32, shape [9]
            Its pose, in the world of the last keyframe.
        depth, confidence : Tensor of float32, shape [H, W]
            Its depth.

        Returns
        -------
        Tensor of float32, shape [9]
            For `judge`.

        """
        assert self._keyframe is not None
        return torch.cat((
            image_checks.measure(pixels, self._before, self._good),
            self._keyframe.compare(encoding, depth, pixels), confidence.mean()[None]))

    def judge(self, numbers: list[float], pixels: Tensor, stamp_ns: int,
              pose: NDArray[np.float64] | None, provisional: bool, depth: float) -> Tracking:
        """
        Judge the frame that was measured.

        Parameters
        ----------
        numbers : list of float
            From `measure`.
        pixels : Tensor
            Its image.
        stamp_ns : int
            Its stamp, nanoseconds.
        pose : ndarray of float64, shape [4, 4], or None
            As it would be published; None when the network's answer was no pose.
        provisional : bool
            Whether the stream is initialising.
        depth : float
            Typical depth of the frame, in the unit of the segment.

        Returns
        -------
        Tracking

        """
        verdict = self._images.judge(ImageStatistics(*numbers[:_IMAGE]))
        tracking = self._monitor.observe(Observation(
            stamp_ns, pose, verdict, numbers[-1], self._check(numbers), provisional,
            depth))
        self._before = pixels
        if tracking.state is not TrackingState.LOST:
            self._good = image_checks.small_image(pixels)
        return tracking

    def recognises(self, numbers: list[float]) -> bool:
        """Whether the keyframe predicts the frame that was measured."""
        check = self._check(numbers)
        return (check.residual < self._config.residual
                and check.overlap > _RECOGNISED_OVERLAP)

    def restarted(self, pixels: Tensor) -> None:
        """Begin anew with a frame: what is usual has to be learnt again."""
        self._monitor.restarted()
        self._good = image_checks.small_image(pixels)

    def state(self) -> dict[str, Any]:
        """Return all that `restore` needs."""
        key = self._keyframe
        return {'images': self._images.state(), 'monitor': self._monitor.state(),
                'before': self._before, 'good': self._good,
                'keyframe': [key.encoding, key.contrast] if key else None}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""
        self._images.restore(**state['images'])
        self._monitor.restore(state['monitor'])
        self._before, self._good = state['before'], state['good']
        key = state['keyframe']
        self._keyframe = PhotometricReference(*key) if key else None

    @staticmethod
    def _check(numbers: list[float]) -> PhotometricCheck:
        return PhotometricCheck(*numbers[_IMAGE:_IMAGE + _PHOTOMETRIC])
