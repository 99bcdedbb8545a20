# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Calibration files in YAML, as datasets bring them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lingbot_ros.errors import SourceError
import numpy as np
from numpy.typing import NDArray

# Comes with rosbags, so that no other YAML reader is needed.
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError


def read_yaml(path: Path) -> dict[str, Any]:
    """
    Read a YAML file whose top is a mapping.

    Raises
    ------
    SourceError
        It cannot be read, or holds something else.

    """
    try:
        # OpenCV's first line, %YAML:1.0, is none that YAML knows.
        text = '\n'.join(line for line in path.read_text(errors='replace').splitlines()
                         if not line.startswith('%'))
        content = YAML(typ='safe', pure=True).load(text)
    except (OSError, YAMLError) as error:
        raise SourceError(f'cannot read {path}: {" ".join(str(error).split())[:200]}') from error
    if not isinstance(content, dict):
        raise SourceError(f'{path}: expected names with values, got {type(content).__name__}')
    return content


def numbers(value: Any, count: int, what: str) -> NDArray[np.float64]:
    """
    Return numbers, given as a list, as rows, or under `data`.

    Raises
    ------
    SourceError
        They are missing, of another count, or no numbers.

    """
    if isinstance(value, dict):
        value = value.get('data')
    try:
        found = np.array(value, np.float64).ravel()
    except (TypeError, ValueError):
        found = np.empty(0)
    if len(found) != count or not np.isfinite(found).all():
        raise SourceError(f'{what}: expected {count} numbers, got {str(value)[:60]}')
    return found


def matrix_4x4(value: Any, what: str) -> NDArray[np.float64]:
    """Return a rigid transform [4, 4], or say what stands in its place."""
    matrix = numbers(value, 16, what).reshape(4, 4)
    rotation = matrix[:3, :3]
    if (np.abs(rotation @ rotation.T - np.eye(3)).max() > 1e-3 or np.linalg.det(rotation) < 0
            or np.abs(matrix[3] - (0, 0, 0, 1)).max() > 1e-9):
        raise SourceError(f'{what}: expected a rigid transform, row by row, got {matrix.tolist()}')
    return matrix
