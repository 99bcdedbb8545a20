# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How the embedded weights are made: procedural worlds and the recipe. Not installed."""
