# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectories against truth; evo computes, see docs/evaluation.md."""
