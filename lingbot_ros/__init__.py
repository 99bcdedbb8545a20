# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Camera images to a pose stream with a streaming vision transformer."""
