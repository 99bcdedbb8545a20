# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Procedural worlds with exact ground truth, by the seed.

`render` is the way in; it needs torch alone and runs on a CPU and on CUDA.
"""

from training.worlds.renderer import Batch, kinds, render
from training.worlds.stage import MOTIONS, SCENES

__all__ = ['Batch', 'kinds', 'MOTIONS', 'render', 'SCENES']
