# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Parameters of the node as one table, and their checks; no ROS import.

`config/stream.yaml` and `docs/ros_interface.md` repeat the table for people, and a test keeps the
three equal. `lingbot_ros.ros.declare` hands the table to rclpy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
import re
from typing import Any

from lingbot_ros.config import StreamConfig
from lingbot_ros.errors import ConfigError
from lingbot_ros.stream_parts import AnchorConfig, KeyframeConfig

_KINDS: dict[str, type] = {'bool': bool, 'integer': int, 'double': float, 'string': str}


@dataclass(frozen=True)
class Parameter:
    """
    One row of the table.

    Attributes
    ----------
    name, kind : str
        The ROS name, and 'bool', 'integer', 'double' or 'string'.
    default : bool, int, float or str
        Value without any setting.
    text : str
        What it does, one sentence.
    unit : str
        Unit of the value; empty when it has none.
    low, high : int or float or None
        Inclusive range of a number.
    automatic : bool
        0 is allowed besides, and is the default: the setting the weights were trained for, or
        StreamConfig's default where their checkpoint does not name one.
    choices : tuple of str
        Allowed strings; empty allows every string that matches `pattern`.
    pattern : str
        Regular expression the whole string must match; empty allows every string.
    dynamic : bool
        Takes effect at the next frame; otherwise it is read-only once the node runs.

    """

    name: str
    kind: str
    default: bool | int | float | str
    text: str
    unit: str = ''
    low: int | float | None = None
    high: int | float | None = None
    automatic: bool = False
    choices: tuple[str, ...] = ()
    pattern: str = ''
    dynamic: bool = False

    @property
    def allowed(self) -> str:
        """The range or the choices in words; empty when everything of the kind is allowed."""
        if self.choices:
            return ', '.join(self.choices)
        if self.low is not None:
            return f'{"0 (as trained) or " if self.automatic else ""}{self.low} to {self.high}'
        return _PATTERN_WORDS.get(self.pattern, '')

    def check(self, value: object) -> bool | int | float | str:
        """
        Return a value in the row's kind, or refuse it.

        Parameters
        ----------
        value : object
            What the user gave. An integer is accepted for a double, because YAML and the command
            line make `1` an integer.

        Returns
        -------
        bool, int, float or str
            The value, converted.

        Raises
        ------
        ConfigError
            If the kind, the range or the choice is wrong.

        """
        kind = _KINDS[self.kind]
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise ConfigError(f'{self.name} must be of type {self.kind}, got {value!r}')
        assert isinstance(value, (bool, int, float, str))
        if self.low is not None and self.high is not None:
            assert isinstance(value, (int, float))
            in_range = self.low <= value <= self.high  # false for NaN
            if not in_range and not (self.automatic and value == 0):
                raise ConfigError(f'{self.name} must be {self.allowed}, got {value}')
        if self.choices and value not in self.choices:
            raise ConfigError(f'{self.name} must be one of {self.allowed}, got {value!r}')
        if self.pattern and not re.fullmatch(self.pattern, str(value)):
            raise ConfigError(f'{self.name} must be {self.allowed}, got {value!r}')
        return value


_DEVICE = r'auto|cpu|cuda(:\d+)?'
# tf2 refuses names with a leading slash; blanks and slashes at the ends are always mistakes.
_FRAME = r'[^/\s](\S*[^/\s])?'
_FRAME_OR_EMPTY = rf'({_FRAME})?'
_PATTERN_WORDS = {
    _DEVICE: 'auto, cpu, cuda, cuda:N',
    _FRAME: 'a frame name without blanks or a slash at either end',
    _FRAME_OR_EMPTY: 'empty, or a frame name without blanks or a slash at either end',
}

TABLE: tuple[Parameter, ...] = (
    Parameter('checkpoint', 'string', 'embedded',
              "Weights: 'embedded' for the small network in the package, the path of a .pt or "
              ".safetensors file, or 'random' for poses that mean nothing (tests). The node exits "
              'with code 2 when it cannot load them.'),
    Parameter('device', 'string', 'auto',
              'Where the network runs; auto takes CUDA where there is one.', pattern=_DEVICE),
    Parameter('dtype', 'string', 'auto',
              'Number format of the network; auto takes what suits the device.',
              choices=('auto', 'fp32', 'bf16', 'fp16')),
    Parameter('backend', 'string', 'auto',
              'Attention implementation; auto takes FlashInfer on CUDA where it is installed, '
              'else sdpa.',
              choices=('auto', 'sdpa', 'flashinfer', 'flashinfer_fa2', 'flashinfer_fa3')),
    Parameter('image_size', 'integer', 0,
              'Width every image is resized to before the network, a multiple of its patch side; '
              'heights follow, at most this.',
              unit='px', low=56, high=1036, automatic=True),
    Parameter('anchor_frames', 'integer', 0,
              'First frames of a stream, seen together; they fix origin and scale.',
              unit='frames', low=1, high=64, automatic=True),
    Parameter('window', 'integer', 0,
              'Last keyframes whose patch tokens are kept; poses stay continuous when it changes.',
              unit='keyframes', low=1, high=4096, dynamic=True, automatic=True),
    Parameter('keyframe_interval', 'integer', 0,
              'Every n-th frame after the anchors is kept in the cache.',
              unit='frames', low=1, high=1000, automatic=True),
    Parameter('camera_iterations', 'integer', 0,
              'Refinement iterations of the camera head.', low=1, high=16, automatic=True),
    Parameter('max_keyframes', 'integer', 0,
              'Without endless, kept frames the cache has room for; when they are used up the '
              'stream resets and goes on at the last pose.',
              unit='keyframes', low=1, high=1000000, automatic=True),
    Parameter('endless', 'bool', True,
              'Run without end: anchors and keyframes by motion, segments that are joined, poses '
              'that are judged. False runs one cache as the reference does, until max_keyframes.'),
    Parameter('keyframe_policy', 'string', 'trained',
              'With endless, which frames are kept: by motion (auto), by motion or after 30 '
              'frames (motion), by keyframe_interval (interval); trained is what the weights say, '
              'or auto.', choices=('trained', 'auto', 'motion', 'interval')),
    Parameter('keyframe_motion', 'double', 0.0,
              'With endless, mean motion of the pixels between two keyframes.',
              unit='image widths', low=0.01, high=1.0, automatic=True),
    Parameter('segment_keyframes', 'integer', 0,
              'With endless, kept frames after which a new cache takes over.',
              unit='keyframes', low=16, high=100000, automatic=True),
    Parameter('overlap_keyframes', 'integer', 0,
              'With endless, last keyframes that the new cache begins with.',
              unit='keyframes', low=1, high=64, automatic=True),
    Parameter('lost_frames', 'integer', 10,
              'With endless, lost frames in a row before the stream looks for its last keyframes, '
              'or starts anew at the last pose that was believed.',
              unit='frames', low=1, high=10000),
    Parameter('frozen_frames', 'integer', 3,
              'With endless, repetitions of one and the same image after which the camera counts '
              'as frozen; 0 allows any number, for a simulated camera without noise.',
              unit='frames', low=0, high=10000),
    Parameter('odom_frame', 'string', 'odom',
              'Name of the fixed frame the poses are in.', pattern=_FRAME),
    Parameter('camera_frame', 'string', '',
              "Name of the camera's optical frame; empty takes header.frame_id of each image.",
              pattern=_FRAME_OR_EMPTY),
    Parameter('publish_tf', 'bool', True,
              'Publish the transform odom_frame -> camera frame on /tf.', dynamic=True),
    Parameter('publish_depth', 'bool', False,
              'Publish ~/depth; without endless the depth head runs for this alone.'),
    Parameter('image_transport', 'string', 'raw',
              'raw subscribes sensor_msgs/Image on image, compressed subscribes '
              'sensor_msgs/CompressedImage on image/compressed.',
              choices=('raw', 'compressed')),
    Parameter('path_max_length', 'integer', 1024,
              'Newest poses kept in ~/path.', unit='poses', low=1, high=100000, dynamic=True),
    Parameter('position_stddev', 'double', 0.05,
              'Least standard deviation of each position axis in ~/odometry.',
              unit='scene units', low=0.001, high=1000.0, dynamic=True),
    Parameter('rotation_stddev', 'double', 0.02,
              'Least standard deviation of each rotation axis in ~/odometry.',
              unit='rad', low=0.001, high=3.2, dynamic=True),
)

# Parameters that set a field of a part of StreamConfig.
_IN_PARTS = {
    'keyframe_policy': ('keyframes', 'policy'), 'keyframe_motion': ('keyframes', 'motion'),
    'segment_keyframes': ('segments', 'keyframes'), 'overlap_keyframes': ('segments', 'overlap'),
    'lost_frames': ('tracking', 'lost_frames'),
    'frozen_frames': ('tracking', 'frozen_frames')}


@dataclass(frozen=True)
class Dynamic:
    """
    Values of the dynamic parameters at one moment, as the worker uses them for one frame.

    A window of 0 stands for what the weights were trained for.
    """

    window: int
    publish_tf: bool
    path_max_length: int
    position_stddev: float
    rotation_stddev: float


def stream_config(values: Mapping[str, object], trained: StreamConfig) -> StreamConfig:
    """
    Take the settings of the stream from checked parameter values.

    Parameters
    ----------
    values : mapping of str to object
        Every parameter of the table by name; an automatic one may be 0.
    trained : StreamConfig
        What the weights were trained for.

    Returns
    -------
    StreamConfig
        `trained` with every value that is not 0, and with the parts of a stream without an end
        unless `endless` is false.

    Raises
    ------
    ConfigError
        If two values contradict each other.

    """
    numbers: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {'keyframes': {}, 'segments': {}, 'tracking': {}}
    for row in TABLE:
        if row.name in _IN_PARTS:
            part, field = _IN_PARTS[row.name]
            if values[row.name] != (0 if row.automatic else 'trained'):
                parts[part][field] = values[row.name]
        elif row.automatic and values[row.name]:
            numbers[row.name] = values[row.name]
    numbers['depth'] = bool(values['publish_depth'])
    if not values['endless']:
        return replace(trained, anchors=AnchorConfig(), keyframes=KeyframeConfig(), segments=None,
                       tracking=None, **numbers)
    config = trained.without_end()
    for part, changes in parts.items():
        numbers[part] = replace(vars(config)[part], **changes)
    return replace(config, **numbers)


def value_of(row: Parameter, config: StreamConfig) -> object:
    """
    Look up what an automatic parameter came to.

    Parameters
    ----------
    row : Parameter
        An automatic one.
    config : StreamConfig
        From `stream_config`.

    Returns
    -------
    object
        None where the part it belongs to is not used.

    """
    if row.name not in _IN_PARTS:
        return vars(config)[row.name]
    part, field = _IN_PARTS[row.name]
    holder = vars(config)[part]
    return None if holder is None else vars(holder)[field]


def describe(values: Mapping[str, object], config: StreamConfig) -> str:
    """
    Say in a line what the automatic parameters came to, and who decided.

    Parameters
    ----------
    values : mapping of str to object
        Every parameter of the table by name.
    config : StreamConfig
        From `stream_config`.

    Returns
    -------
    str
        Such as 'image_size 256 (weights), window 16 (set)'.

    """
    return ', '.join(
        f'{row.name} {value_of(row, config)} ({"set" if values[row.name] else "weights"})'
        for row in TABLE if row.automatic and value_of(row, config) is not None)
