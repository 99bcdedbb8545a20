# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`python -m lingbot_ros` is the console script `lingbot_ros`."""

import sys

from lingbot_ros.cli import main

sys.exit(main())
