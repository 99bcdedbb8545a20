# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Errors of the package.

Every message says what was expected, what was got, and what to change. After a refusal the state
of the object that raised is unchanged.
"""


class LingbotError(Exception):
    """Base class of every error this package raises on purpose."""


class ConfigError(LingbotError, ValueError):
    """A setting is outside its range, or two settings contradict each other."""


class ShapeError(LingbotError, ValueError):
    """An array has the wrong shape, dtype or device."""


class CacheError(LingbotError, RuntimeError):
    """The cache was called in the wrong order (for example commit without begin)."""


class CacheFullError(CacheError):
    """A page pool or a dense cache is exhausted; says need, have, and which setting to change."""


class BackendError(LingbotError, RuntimeError):
    """An attention back end is unknown, not installed, or cannot serve the request."""


class CheckpointError(LingbotError):
    """A checkpoint is missing, unreadable, or does not fit the network."""


class NonFinitePoseError(LingbotError, ArithmeticError):
    """The network returned NaN, infinity or a zero quaternion; the frame was discarded."""


class AlignmentError(LingbotError, ArithmeticError):
    """Two worlds cannot be aligned: nothing finite is shared, or a transform is none."""


class ImageError(LingbotError, ValueError):
    """An image message or file cannot be decoded: encoding, buffer length or content."""


class SourceError(LingbotError):
    """A bag, folder or video cannot be read, or holds no images."""


class EvaluationError(LingbotError, ValueError):
    """Trajectories cannot be compared: broken, too few poses, no common stamps, or no evo."""


class StateError(LingbotError):
    """A saved session is missing, damaged, of another version, or of another model."""
