# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Settings of the network and of a stream, as frozen dataclasses checked at construction.

The defaults are the sizes of the released LingBot-Map network and its published streaming
settings. Small networks of the same family use the same classes with other numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from lingbot_ros.checks import require, require_at_least
from lingbot_ros.stream_parts import (
    AnchorConfig,
    CovarianceModel,
    KeyframeConfig,
    SegmentConfig,
    TrackingConfig,
)


@dataclass(frozen=True)
class EncoderConfig:
    """
    Image encoder: patches to tokens.

    Attributes
    ----------
    kind : str
        'vit' (DINOv2 with registers), 'conv' (one strided convolution) or 'stem' (stages that
        halve the image, for small networks that are trained from scratch).
    blocks, heads : int
        Transformer blocks and attention heads; used by 'vit' alone.
    registers : int
        Register tokens; used by 'vit' alone.
    grid : int
        Side of the square position table, in patches; used by 'vit' and 'stem'.
    channels : tuple of int
        Channels after each stage but the last, which has the network's width; used by 'stem'
        alone, whose patch side is 2 to the number of stages.

    """

    kind: str = 'vit'
    blocks: int = 24
    heads: int = 16
    registers: int = 4
    grid: int = 37
    channels: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Check every field."""
        require(self.kind in ('vit', 'conv', 'stem'),
                f"encoder kind must be 'vit', 'conv' or 'stem', got {self.kind!r}")
        for name in ('blocks', 'heads', 'grid'):
            require_at_least(f'encoder {name}', vars(self)[name], 1)
        require_at_least('encoder registers', self.registers, 0)
        for value in self.channels:
            require_at_least('encoder channels', value, 1)


@dataclass(frozen=True)
class CameraHeadConfig:
    """
    Camera head: one special token a frame to a pose.

    Attributes
    ----------
    blocks, heads : int
        Trunk blocks, and attention heads over twice the network width.

    """

    blocks: int = 4
    heads: int = 16

    def __post_init__(self) -> None:
        """Check every field."""
        require_at_least('camera head blocks', self.blocks, 1)
        require_at_least('camera head heads', self.heads, 1)


@dataclass(frozen=True)
class DepthHeadConfig:
    """
    Depth head (DPT): tapped tokens to depth and confidence.

    Attributes
    ----------
    channels : tuple of int
        Channels after the projection of each of the four taps.
    features : int
        Channels of the fusion; a multiple of 8.

    """

    channels: tuple[int, int, int, int] = (256, 512, 1024, 1024)
    features: int = 256

    def __post_init__(self) -> None:
        """Check every field."""
        require(len(self.channels) == 4,
                f'depth head channels must be 4 integers, got {self.channels!r}')
        for value in self.channels:
            require_at_least('depth head channels', value, 4)
            require(value % 4 == 0, f'depth head channels must be multiples of 4, got {value}')
        require(self.features >= 8 and self.features % 8 == 0,
                f'depth head features must be a multiple of 8, got {self.features!r}')


@dataclass(frozen=True)
class NetworkConfig:
    """
    Sizes of a Geometric Context Transformer.

    Attributes
    ----------
    width : int
        Token width; the heads read taps of twice this width.
    blocks, heads : int
        Aggregator depth (each a frame block and a global block) and attention heads.
    taps : tuple of int
        Four block indices (0-based, ascending) whose outputs feed the depth head; the last one
        also feeds the camera head.
    patch_px : int
        Side of a patch, pixels.
    encoder, camera, depth
        The parts.

    """

    width: int = 1024
    blocks: int = 24
    heads: int = 16
    taps: tuple[int, int, int, int] = (4, 11, 17, 23)
    patch_px: int = 14
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    camera: CameraHeadConfig = field(default_factory=CameraHeadConfig)
    depth: DepthHeadConfig = field(default_factory=DepthHeadConfig)

    def __post_init__(self) -> None:
        """Check every field against the others."""
        for name in ('width', 'blocks', 'heads', 'patch_px'):
            require_at_least(name, vars(self)[name], 1)
        require(self.width % self.heads == 0,
                f'width must be a multiple of heads, got {self.width} and {self.heads}')
        require(self.width // self.heads >= 16 and self.width // self.heads % 4 == 0,
                'width / heads must be a multiple of 4 and at least 16 (rotary embedding), '
                f'got {self.width} / {self.heads}')
        require(2 * self.width % self.camera.heads == 0,
                f'twice the width ({2 * self.width}) must be a multiple of the camera heads, '
                f'got {self.camera.heads}')
        require(self.encoder.kind != 'vit' or self.width % self.encoder.heads == 0,
                f'width must be a multiple of the encoder heads, got {self.width} and '
                f'{self.encoder.heads}')
        stages = len(self.encoder.channels) + 1
        require(self.encoder.kind != 'stem' or self.patch_px == 2**stages,
                f'patch_px must be 2 to the number of stem stages ({2**stages}), '
                f'got {self.patch_px}')
        taps = self.taps
        require(len(taps) == 4 and list(taps) == sorted(set(taps)) and taps[0] >= 0,
                f'taps must be four ascending block indices, got {taps!r}')
        require(taps[-1] == self.blocks - 1,
                f'the last tap must be the last block ({self.blocks - 1}), got {taps[-1]}')

    @property
    def special_tokens(self) -> int:
        """Tokens a frame before its patches: camera 1, register 4, scale 1."""
        return 6

    @property
    def head_dim(self) -> int:
        """Features of one aggregator attention head."""
        return self.width // self.heads


@dataclass(frozen=True)
class StreamConfig:
    """
    How a stream is run.

    Attributes
    ----------
    anchor_frames : int
        Frames that go through together first and fix origin and scale (A).
    window : int
        Keyframes after the anchors whose patch pages are kept (W); may change while running.
    keyframe_interval : int
        Frame i after the anchors is a keyframe when i is a multiple of this; others are
        transient.
    camera_iterations : int
        Refinement iterations of the camera head.
    image_size : int
        Processed image width, pixels; a multiple of the network's patch side.
    max_keyframes : int
        Kept frames (anchors included) for which special tokens and camera keys have room; with
        segments their `keyframes` count instead.
    depth : bool
        Hand out depth. The depth head runs also where a part below needs it.
    anchors, keyframes
        How anchors and keyframes are chosen; the defaults are the reference's.
    segments : SegmentConfig or None
        How the stream goes on when the room for kept frames is used up; None: it does not.
    tracking : TrackingConfig or None
        When a pose is no longer believed; None: it always is.
    covariance : CovarianceModel
        How wrong poses are; stated where tracking is judged.

    """

    anchor_frames: int = 8
    window: int = 64
    keyframe_interval: int = 1
    camera_iterations: int = 4
    image_size: int = 518
    max_keyframes: int = 2048
    depth: bool = True
    anchors: AnchorConfig = field(default_factory=AnchorConfig)
    keyframes: KeyframeConfig = field(default_factory=KeyframeConfig)
    segments: SegmentConfig | None = None
    tracking: TrackingConfig | None = None
    covariance: CovarianceModel = field(default_factory=CovarianceModel)

    def __post_init__(self) -> None:
        """Check every field."""
        for name in ('anchor_frames', 'window', 'keyframe_interval', 'camera_iterations',
                     'image_size', 'max_keyframes'):
            require_at_least(name, vars(self)[name], 1)
        require(isinstance(self.depth, bool), f'depth must be true or false, got {self.depth!r}')
        room = self.kept_frames
        require(room >= self.anchor_frames,
                f'{"max_keyframes" if self.segments is None else "segment_keyframes"} must be at '
                f'least anchor_frames ({self.anchor_frames}), got {room}')
        require(self.segments is None or room >= 2 * self.segments.overlap,
                'segment_keyframes must be at least twice overlap_keyframes, got '
                f'{self.segments}')

    @classmethod
    def endless(cls, **changes: Any) -> StreamConfig:
        """
        Return the settings of a stream without an end; every one can be changed by name.

        Returns
        -------
        StreamConfig
            Anchors and keyframes by motion, segments that join, tracking judged.

        """
        return cls(**changes).without_end()

    def without_end(self) -> StreamConfig:
        """Return these settings with what they lack of a stream without an end."""
        parts: dict[str, Any] = {}
        if self.anchors.policy == 'first':
            parts['anchors'] = replace(self.anchors, policy='motion')
        if self.keyframes.policy == 'interval':
            parts['keyframes'] = replace(self.keyframes, policy='auto')
        if self.segments is None:
            parts['segments'] = SegmentConfig()
        if self.tracking is None:
            parts['tracking'] = TrackingConfig()
        return replace(self, **parts)

    @property
    def kept_frames(self) -> int:
        """Frames of one cache that can be kept, anchors included."""
        return self.segments.keyframes if self.segments else self.max_keyframes

    @property
    def hands_over(self) -> bool:
        """Whether a cache is followed by another one, prepared beside it."""
        return self.segments is not None or self.anchors.policy == 'motion'

    @property
    def most_anchors(self) -> int:
        """Most anchors of a segment, the first one's or those that overlap."""
        return max(self.anchor_frames, self.segments.overlap if self.segments else 0)

    @property
    def measures_motion(self) -> bool:
        """Whether a part needs the motion between frames, and so depth, at every frame."""
        return (self.anchors.policy == 'motion' or self.keyframes.policy != 'interval'
                or self.tracking is not None)

    @property
    def needs_depth(self) -> bool:
        """Whether the depth head runs."""
        return self.depth or self.measures_motion or self.segments is not None
