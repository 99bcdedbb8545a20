# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Memory and latency of a long stream.

    python benchmarks/soak.py --frames 100000 --output soak_cpu
    python benchmarks/soak.py --checkpoint full-random --frames 20000 --output soak_gpu

Everything of a stream without an end is on: anchors and keyframes by motion, segments, tracking.
A camera pans to and fro over a drawn texture; every 5,000 frames it goes dark for 30 frames, so
that the stream is lost and recovers. Weights are drawn, with small poses and a field of view of a
radian, so what is measured is time and memory alone.

Written are OUTPUT.csv (frame, milliseconds of the wall and of this thread's processor, resident
and device megabytes, segment, pages), OUTPUT.png and OUTPUT.json. On a shared machine only the
processor's time tells whether frames become slower. Slopes are least squares over everything after
the second segment; the first frames and segments allocate what the stream will hold.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path
import platform
import time

from lingbot_ros import (
    AnchorConfig,
    CameraHeadConfig,
    DepthHeadConfig,
    EncoderConfig,
    KeyframeConfig,
    load_network,
    Network,
    NetworkConfig,
    SegmentConfig,
    StreamConfig,
    StreamSession,
    TrackingConfig,
)
import matplotlib
import numpy as np
import psutil
import torch

matplotlib.use('Agg')
import matplotlib.pyplot as plt

SMALLEST = NetworkConfig(
    width=32, blocks=4, heads=2, taps=(0, 1, 2, 3), encoder=EncoderConfig(kind='conv'),
    camera=CameraHeadConfig(blocks=1, heads=1),
    depth=DepthHeadConfig(channels=(4, 4, 4, 4), features=8))
FRAME_NS = 33_333_333
SAMPLE_EVERY = 50
DARK_EVERY, DARK_FRAMES = 5000, 30


class PanningCamera:
    """A window that wanders over a texture, for ever."""

    def __init__(self, height: int, width: int) -> None:
        rng = np.random.default_rng(0)
        self._size = (height, width)
        span = (2 * height, 4 * width)
        texture = np.zeros((*span, 3), np.float32)
        for cells in (8, 32, 128):
            coarse = torch.from_numpy(rng.random((1, 3, cells, cells), dtype=np.float32))
            fine = torch.nn.functional.interpolate(coarse, span, mode='bicubic')
            texture += fine[0].permute(1, 2, 0).numpy() / 3
        self._texture = (255 * texture.clip(0, 1)).astype(np.uint8)

    def image(self, frame: int) -> np.ndarray:
        """Return what the camera sees, uint8 [H, W, 3]."""
        height, width = self._size
        if frame % DARK_EVERY >= DARK_EVERY - DARK_FRAMES:
            return np.zeros((height, width, 3), np.uint8)
        x = round(1.5 * width * (1 + np.sin(frame / 90)))
        y = round(0.5 * height * (1 + np.sin(frame / 140)))
        return self._texture[y:y + height, x:x + width]


def make_network(name: str, device: str, dtype: str) -> Network:
    """Make the smallest network, the full one with drawn weights, or load a checkpoint."""
    if name not in ('smallest', 'full-random'):
        return load_network(name, device, dtype)
    network = load_network('random', device, dtype,
                           SMALLEST if name == 'smallest' else NetworkConfig())
    with torch.no_grad():
        last = network.camera_head.pose_branch.fc2
        last.weight *= 0.005
        last.bias.copy_(torch.tensor([0, 0, 0, 0, 0, 0, 1, 0.4, 0.5]))
    return network


def slope(x: np.ndarray, y: np.ndarray) -> float:
    """Least-squares slope."""
    x = x - x.mean()
    return float((x * (y - y.mean())).sum() / (x * x).sum())


def tenths(milliseconds: np.ndarray, settled: int) -> dict:
    """Median of the first and of the last tenth after the first segments."""
    tenth = (len(milliseconds) - settled) // 10
    first, last = (float(np.median(part)) for part in (
        milliseconds[settled:settled + tenth], milliseconds[-tenth:]))
    return {'median': float(np.median(milliseconds)), 'first_tenth': first, 'last_tenth': last,
            'last_over_first': last / first,
            'p99_over_median': float(np.percentile(milliseconds, 99) / np.median(milliseconds)),
            'largest_over_median': float(milliseconds[settled:].max() / np.median(milliseconds))}


def summarise(rows: np.ndarray, wall: np.ndarray, cpu: np.ndarray, settled: int) -> dict:
    """Slopes after the first segments, and latencies."""
    late = rows[rows[:, 0] >= settled]
    if len(late) < 20:
        raise SystemExit(f'{len(wall)} frames end before the third segment does; use more')
    return {
        'settled_after_frames': settled,
        'resident_kb_a_frame': slope(late[:, 0], late[:, 3]) * 1000,
        'device_kb_a_frame': slope(late[:, 0], late[:, 4]) * 1000,
        'resident_mb_first_last': [float(late[0, 3]), float(late[-1, 3])],
        'resident_mb_largest': float(late[:, 3].max()),
        'wall_ms': tenths(wall, settled), 'cpu_ms': tenths(cpu, settled)}


def plot(path: Path, rows: np.ndarray, title: str) -> None:
    """Latency and memory over the frames."""
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(10, 6), sharex=True)
    upper.plot(rows[:, 0], rows[:, 1], lw=0.4, label='wall')
    upper.plot(rows[:, 0], rows[:, 2], lw=0.4, label='processor')
    upper.set_ylabel(f'median of {SAMPLE_EVERY} frames (ms)')
    upper.set_ylim(0, 3 * np.median(rows[:, 1]))
    upper.legend()
    upper.set_title(title)
    lower.plot(rows[:, 0], rows[:, 3], label='resident')
    if rows[:, 4].any():
        lower.plot(rows[:, 0], rows[:, 4], label='device')
    lower.set_ylim(bottom=0)
    lower.set_ylabel('memory (MB)')
    lower.set_xlabel('frame')
    lower.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Run the stream and write what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('--checkpoint', default='smallest',
                        help="'smallest', 'full-random', 'embedded' or a path")
    parser.add_argument('--frames', type=int, default=100_000)
    parser.add_argument('--device', default='auto')
    parser.add_argument('--dtype', default='auto')
    parser.add_argument('--image-size', type=int, help='pixels (28 for the smallest, else 518)')
    parser.add_argument('--height', type=int, help='pixels (square, or 378 for 518)')
    parser.add_argument('--segment-keyframes', type=int, default=64)
    parser.add_argument('--output', type=Path, default=Path('soak'))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    network = make_network(arguments.checkpoint, arguments.device, arguments.dtype)
    width = arguments.image_size or (28 if arguments.checkpoint == 'smallest' else 518)
    height = arguments.height or (378 if width == 518 else width)
    config = StreamConfig.endless(
        image_size=width, camera_iterations=1 if width < 518 else 4,
        window=16 if width < 518 else 64, depth=False,
        # Drawn weights hardly move: any motion makes an anchor, and five frames a keyframe.
        anchors=AnchorConfig('motion', 1e-5, wait_s=2.0),
        keyframes=KeyframeConfig('motion', 0.05, max_gap=5),
        segments=SegmentConfig(arguments.segment_keyframes, 8),
        # Drawn weights predict no image: only blank images count.
        tracking=TrackingConfig(residual=1.0, similarity=0.0, frozen_frames=0))
    session = StreamSession(network, config)
    camera = PanningCamera(height, width)
    process, cuda = psutil.Process(), network.device.type == 'cuda'
    wall, cpu = np.zeros((2, arguments.frames), np.float32)
    rows, settled, lost = [], 0, 0
    began = time.time()
    for frame in range(arguments.frames):
        image = camera.image(frame)
        start, cpu_start = time.perf_counter(), time.thread_time()
        estimates = session.push(image, frame * FRAME_NS)
        wall[frame] = 1e3 * (time.perf_counter() - start)
        cpu[frame] = 1e3 * (time.thread_time() - cpu_start)
        lost += sum(str(estimate.tracking.state) == 'lost' for estimate in estimates)
        if frame % SAMPLE_EVERY == SAMPLE_EVERY - 1:
            snapshot = session.snapshot()
            if snapshot.segment <= 2:
                settled = frame + 1
            recent = slice(frame + 1 - SAMPLE_EVERY, frame + 1)
            rows.append([frame, float(np.median(wall[recent])), float(np.median(cpu[recent])),
                         process.memory_info().rss / 1e6,
                         torch.cuda.memory_allocated() / 1e6 if cuda else 0.0,
                         snapshot.segment, snapshot.pages_used])
        if frame % 10_000 == 9_999:
            print(f'{frame + 1} frames, {time.time() - began:.0f} s, {rows[-1]}', flush=True)
    table = np.array(rows)
    with arguments.output.with_suffix('.csv').open('w', newline='') as file:
        writer = csv.writer(file)
        writer.writerow(['frame', 'wall_ms', 'cpu_ms', 'resident_mb', 'device_mb', 'segment',
                         'pages_used'])
        writer.writerows([[f'{value:.3f}'.rstrip('0').rstrip('.') for value in row]
                          for row in rows])
    machine = torch.cuda.get_device_name() if cuda else platform.processor() or 'CPU'
    result = {
        'machine': machine, 'torch': torch.__version__, 'checkpoint': arguments.checkpoint,
        'dtype': str(network.dtype), 'backend': session.backend_name, 'image': [height, width],
        'frames': arguments.frames, 'lost': lost, **summarise(table, wall, cpu, settled),
        'session': session.snapshot().to_json()}
    arguments.output.with_suffix('.json').write_text(json.dumps(result, indent=2) + '\n')
    plot(arguments.output.with_suffix('.png'), table,
         f'{arguments.frames} frames, {arguments.checkpoint}, {width} x {height}, {machine}')
    print(json.dumps(result, indent=2))


if __name__ == '__main__':
    main()
