# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Keyframes: which frames are kept, and what is remembered of the last ones outside the caches.

A policy decides before the network runs ('interval'), or after, when the frame's own pose says how
far the camera has come ('motion', 'auto'). It knows numbers only.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

from lingbot_ros.cache.spec import FrameKind
from lingbot_ros.config import StreamConfig
from lingbot_ros.streaming.stitching import Sight
from torch import Tensor

# With 'auto' the gap counts only when the camera has come this part of the way.
_STIRRED = 0.25


@dataclass(frozen=True, eq=False)
class KeyView:
    """
    A keyframe, as far as a new segment needs it.

    Attributes
    ----------
    patches : Tensor, shape [patches, width]
        Patch tokens from the encoder.
    sight : Sight
        Its pose and depth in the published world and unit.
    contrast : Tensor of float32, shape [h, w], or None
        `local_contrast` of its image, where poses are judged.

    """

    patches: Tensor
    sight: Sight
    contrast: Tensor | None


class KeyframePolicy:
    """
    Decides which frames are kept.

    Parameters
    ----------
    config : StreamConfig
        Policy, thresholds and room.

    Attributes
    ----------
    gap : int
        Frames since the last one that was kept.

    """

    def __init__(self, config: StreamConfig) -> None:
        self._config = config
        self.gap = 0

    def before(self, later_frames: int) -> FrameKind:
        """
        Decide before the network has run.

        Parameters
        ----------
        later_frames : int
            Frames since the first anchors.

        Returns
        -------
        {'keyframe', 'transient'}
            A transient may still be kept by `after`.

        """
        if self._config.keyframes.policy != 'interval':
            return 'transient'
        return 'keyframe' if later_frames % self._config.keyframe_interval == 0 else 'transient'

    def after(self, motion: float, kept: int) -> bool:
        """
        Decide about a transient from its motion.

        Parameters
        ----------
        motion : float
            Since the last keyframe, fraction of the image width; what is not finite is far.
        kept : int
            Frames the segment holds.

        Returns
        -------
        bool
            Whether to keep it.

        """
        settings, room = self._config.keyframes, self._config.kept_frames
        if settings.policy == 'interval' or kept >= room:
            return False
        far = motion if math.isfinite(motion) else 1.0
        threshold = settings.motion
        waited = self.gap + 1 >= settings.max_gap
        if settings.policy == 'auto':
            waited = waited and far >= _STIRRED * threshold
            if self._config.segments is None:
                # No other cache will follow: the last places are for those who travel far.
                threshold *= room / (room - kept)
        return far >= threshold or waited

    def count(self, kept: bool) -> None:
        """Count a frame that was kept or not."""
        self.gap = 0 if kept else self.gap + 1
