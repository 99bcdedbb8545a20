# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Leave out what needs evo where it is not installed (it is an extra)."""

import importlib.util

collect_ignore = [] if importlib.util.find_spec('evo') else [
    f'test_{name}.py' for name in ('association', 'baselines', 'reference_values', 'relative',
                                   'result', 'score')]
