# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two-stream paged cache: page arithmetic apart from tensors."""
