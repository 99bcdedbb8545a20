# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A quarter of an hour of a camera: memory is flat after the first segments.

`benchmarks/soak.py` runs longer, with real blocks, and looks at the latency as well.
"""

import gc
import sys
import time

from light_network import LightNetwork
from lingbot_ros import (
    AnchorConfig,
    KeyframeConfig,
    SegmentConfig,
    StreamConfig,
    StreamSession,
    TrackingConfig,
)
import numpy as np
import psutil
import pytest
import torch

FRAMES = 30_000
SETTLED = 4_000
DARK_EVERY = 1_500


def wandering_images():
    """Windows of a texture, and now and then a second of darkness."""
    generator = torch.Generator().manual_seed(0)
    texture = torch.nn.functional.interpolate(
        torch.rand(1, 3, 24, 24, generator=generator), (160, 160), mode='bicubic')[0].clamp(0, 1)
    dark = torch.zeros(3, 28, 28)
    for frame in range(FRAMES):
        y, x = (int(66 * (1 + np.sin(frame / period))) for period in (37, 53))
        yield dark if frame % DARK_EVERY < 15 else texture[:, y:y + 28, x:x + 28]


@pytest.mark.slow
def test_memory_of_thirty_thousand_frames_is_flat():
    session = StreamSession(LightNetwork(), StreamConfig.endless(
        anchor_frames=4, window=8, camera_iterations=1, image_size=28, depth=False,
        anchors=AnchorConfig('motion', 1e-5, wait_s=1.0),
        keyframes=KeyframeConfig('motion', 0.05, max_gap=4), segments=SegmentConfig(32, 4),
        tracking=TrackingConfig(residual=1.0, similarity=0.0, frozen_frames=0)))
    process = psutil.Process()
    frames, resident, seconds, states, objects = [], [], [], {}, 0
    bytes_before = 0
    for frame, image in enumerate(wandering_images()):
        start = time.thread_time()
        estimate, = session.push(image, frame * 33_333_333)
        seconds.append(time.thread_time() - start)
        state = str(estimate.tracking.state)
        states[state] = states.get(state, 0) + 1
        if frame == SETTLED:
            gc.collect()
            objects, bytes_before = len(gc.get_objects()), session.snapshot().cache_bytes
        if frame > SETTLED and frame % 50 == 0:
            frames.append(frame)
            resident.append(process.memory_info().rss)
    gc.collect()
    snapshot = session.snapshot()
    assert snapshot.frames == FRAMES and snapshot.segment > 50 and snapshot.joins > 50
    assert states['lost'] > 100 and states['tracking'] > FRAMES / 2, states
    assert snapshot.cache_bytes == bytes_before
    assert len(gc.get_objects()) < objects + 2000
    slope = np.polyfit(frames, resident, 1)[0]
    assert slope < 1000, f'{slope:.0f} bytes a frame'
    tenth = len(resident) // 10
    step = np.median(resident[-tenth:]) - np.median(resident[:tenth])
    assert step < 20e6, f'{step / 1e6:.1f} MB more at the end'
    early, late = (1e3 * np.median(part) for part in (
        seconds[SETTLED:SETTLED + 3000], seconds[-3000:]))
    sys.stdout.write(f'{early:.2f} ms a frame at first, {late:.2f} ms at last; {slope:.0f} bytes '
                     f'a frame; {snapshot.segment} segments, {states}\n')
    assert late < 2 * early
