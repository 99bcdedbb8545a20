# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The two conventions of axes, both right-handed, and the rotation between them.

Optical: x right, y down, z forward. REP 103: x forward, y left, z up.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

T_ODOM_OPTICAL: NDArray[np.float64] = np.array([
    [0.0, 0.0, 1.0, 0.0],   # forward is the optical z
    [-1.0, 0.0, 0.0, 0.0],  # left is minus the optical x
    [0.0, -1.0, 0.0, 0.0],  # up is minus the optical y
    [0.0, 0.0, 0.0, 1.0],
])
"""Optical axes to odom axes with a common origin, shape [4, 4]."""
