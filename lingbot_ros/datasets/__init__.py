# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Public benchmarks as they lie on disk: images in their order, and the true camera poses."""

from __future__ import annotations

from lingbot_ros.datasets.base import Layout
from lingbot_ros.datasets.euroc import EurocLayout
from lingbot_ros.datasets.folder import FolderLayout
from lingbot_ros.datasets.kitti import KittiLayout
from lingbot_ros.datasets.oxford_spires import OxfordSpiresLayout
from lingbot_ros.datasets.seven_scenes import SevenScenesLayout
from lingbot_ros.datasets.tanks import TanksLayout
from lingbot_ros.datasets.tum import TumLayout

LAYOUTS: dict[str, Layout] = {
    'tum': TumLayout(),
    'kitti': KittiLayout(),
    '7scenes': SevenScenesLayout(),
    'euroc': EurocLayout(),
    'oxford_spires': OxfordSpiresLayout(),
    'tanks': TanksLayout(),
    'folder': FolderLayout(),
}
