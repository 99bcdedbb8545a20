# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Attention back ends over the paged cache, behind one protocol."""
