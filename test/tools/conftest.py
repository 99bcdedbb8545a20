# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Make the bag writer of test/sources importable here."""

from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).parents[1] / 'sources'))
