# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The Geometric Context Transformer and its checkpoints."""
