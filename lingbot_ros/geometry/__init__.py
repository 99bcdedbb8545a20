# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rigid geometry: pose encoding, intrinsics and rotations; no tensors on a device."""
