# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Frames a second of the embedded network on a CPU, and what of it is matrix products.

    python benchmarks/embedded_speed.py --output speed.json

Streams frames of 640 x 480 at the size the weights were trained for, every frame a keyframe, once
the window is full: image on the host to pose. Mode `plain` runs one cache without the depth head;
`endless` is what node and replay do: depth, motion and the judgement of each pose besides. A stage
is the median of its time; what is outside all stages (resizing, decoding the pose, the cache's
books) is the rest. The floor: every matrix product, convolution and attention of one frame is
recorded, then run again alone on the same tensors; nothing of it can be left out without changing
the network. `--drawn` takes drawn weights of the same sizes: speed does not depend on the values.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass, replace
import json
import os
from pathlib import Path
import platform
import time
from typing import Any

from lingbot_ros import load_network, Network, recommended_stream, StreamConfig, StreamSession
from lingbot_ros.model.network import EMBEDDED
from lingbot_ros.stream_parts import KeyframeConfig
import numpy as np
import psutil
import torch
from torch.utils._python_dispatch import TorchDispatchMode

#: Settings for drawn weights, which name none: those of the training.
DRAWN_STREAM = StreamConfig(image_size=224, anchor_frames=4)
#: What the floor consists of.
PRODUCTS = ('addmm', 'mm', 'bmm', 'baddbmm', 'convolution', '_scaled_dot_product')


@dataclass(frozen=True)
class Row:
    """One setting and its times, milliseconds a frame."""

    mode: str
    threads: int
    window: int
    frames_per_second: float
    median_ms: float
    p95_ms: float
    stages_ms: dict[str, float]
    rest_ms: float
    floor_ms: float
    products: int


class Products(TorchDispatchMode):
    """Keeps every matrix product with its arguments, to run them again."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        """Run an operation, and keep it when it is a product."""
        if func.overloadpacket.__name__.startswith(PRODUCTS):
            self.calls.append((func, args, kwargs or {}))
        return func(*args, **(kwargs or {}))

    def seconds(self, repeats: int) -> float:
        """Return the median time of all of them, one after the other."""
        times = []
        with torch.inference_mode():
            for _ in range(repeats):
                begin = time.perf_counter()
                for func, args, kwargs in self.calls:
                    func(*args, **kwargs)
                times.append(time.perf_counter() - begin)
        return float(np.median(times))


def panning_frames(count: int) -> list[np.ndarray]:
    """Draw a texture and pan over it; uint8 [480, 640, 3] each."""
    rng = np.random.default_rng(0)
    coarse = torch.from_numpy(rng.random((1, 3, 60, 60 + count), dtype=np.float32))
    wide = torch.nn.functional.interpolate(coarse, (480, 640 + 3 * count), mode='bicubic')
    texture = (255 * wide[0].clamp(0, 1)).byte().permute(1, 2, 0).numpy()
    return [np.ascontiguousarray(texture[:, 3 * i:3 * i + 640]) for i in range(count)]


def modes_of(stream: StreamConfig) -> dict[str, StreamConfig]:
    """Return the settings of each mode; keyframes by interval keep the window full."""
    plain = StreamConfig(anchor_frames=stream.anchor_frames, image_size=stream.image_size,
                         camera_iterations=stream.camera_iterations, depth=False)
    return {'plain': plain,
            'endless': replace(plain.without_end(), keyframes=KeyframeConfig('interval'))}


def measure(network: Network, mode: str, config: StreamConfig, threads: int, count: int) -> Row:
    """Stream until the window is full, then `count` frames more."""
    torch.set_num_threads(threads)
    session = StreamSession(network, config)
    warm = config.anchor_frames + config.window + 2
    frames = panning_frames(warm + count + 1)
    seconds, stages = [], []
    for number, frame in enumerate(frames[:-1]):
        begin = time.perf_counter()
        session.push(frame, number * 100_000_000)
        if number >= warm:
            seconds.append(time.perf_counter() - begin)
            stages.append(dict(session.snapshot().stage_seconds))
    with Products() as products:
        session.push(frames[-1], len(frames) * 100_000_000)
    milliseconds = 1e3 * np.array(seconds)
    times = {name: 1e3 * float(np.median([stage[name] for stage in stages]))
             for name in stages[-1]}
    median = float(np.median(milliseconds))
    return Row(mode, threads, config.window, 1e3 / median, median,
               float(np.percentile(milliseconds, 95)), times, median - sum(times.values()),
               1e3 * products.seconds(max(5, count // 4)), len(products.calls))


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('--windows', type=int, nargs='+', default=[8, 12, 16])
    parser.add_argument('--threads', type=int, nargs='+', default=[1, 2])
    parser.add_argument('--frames', type=int, default=60, help='measured for each row')
    parser.add_argument('--dtype', default='auto')
    parser.add_argument('--drawn', action='store_true', help='drawn weights of the same sizes')
    parser.add_argument('--output', type=Path, help='JSON file for the figures')
    arguments = parser.parse_args()

    network = load_network('random' if arguments.drawn else 'embedded', 'cpu', arguments.dtype,
                           EMBEDDED if arguments.drawn else None)
    stream = DRAWN_STREAM if arguments.drawn else recommended_stream(network)
    print(f'{platform.processor() or platform.machine()}, {os.cpu_count()} cores, torch '
          f'{torch.__version__}, {network.dtype}, {stream.image_size} px wide, '
          f'{stream.anchor_frames} anchors, {stream.camera_iterations} camera iterations, load '
          f'of the machine {psutil.getloadavg()[0]:.1f}\n')
    rows = []
    for mode, settings in modes_of(stream).items():
        for threads in arguments.threads:
            for window in arguments.windows:
                rows.append(measure(network, mode, replace(settings, window=window), threads,
                                    arguments.frames))
    names = list(rows[-1].stages_ms)
    print('| mode | threads | window | frames/s | median (ms) | p95 (ms) | '
          + ' | '.join(f'{name} (ms)' for name in [*names, 'rest', 'floor']) + ' |')
    print('|' + '---|' * (8 + len(names)))
    for row in rows:
        times = [*(row.stages_ms.get(name, 0.0) for name in names), row.rest_ms, row.floor_ms]
        print(f'| {row.mode} | {row.threads} | {row.window} | {row.frames_per_second:.1f} | '
              f'{row.median_ms:.1f} | {row.p95_ms:.1f} | '
              + ' | '.join(f'{value:.1f}' for value in times) + ' |')
    print(f'\nload of the machine at the end {psutil.getloadavg()[0]:.1f}; '
          f'{rows[0].products} products a frame, {rows[-1].products} endless')
    if arguments.output:
        arguments.output.write_text(json.dumps(
            {'machine': platform.processor() or platform.machine(), 'cores': os.cpu_count(),
             'torch': torch.__version__, 'stream': asdict(stream), 'drawn': arguments.drawn,
             'rows': [asdict(row) for row in rows]}, indent=1) + '\n')


if __name__ == '__main__':
    main()
