# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Half precision and FlashInfer against fp32: full-size network, weights drawn by name.

    python benchmarks/accuracy.py --frames 100 --output accuracy.json

Every variant streams the same frames (a camera panning over a drawn texture, 378 x 518) from the
same weights. Differences are to fp32 with the sdpa back end in the same run. Rotation and
translation are the worst over all frames; depth is |depth / reference - 1|, its median over the
pixels of a frame, then median and worst over the frames. Latency is the median of a frame after
the anchors, image on the host to pose on the host and depth on the device; the first frames after
the anchors warm up.
"""

from __future__ import annotations

import argparse
import copy
import json
from pathlib import Path
import platform
import time

from lingbot_ros import load_network, Network, NetworkConfig, StreamConfig, StreamSession
from lingbot_ros.errors import BackendError
import numpy as np
import torch

WARM = 8
VARIANTS = (('fp32', 'sdpa'), ('bf16', 'sdpa'), ('bf16', 'flashinfer_fa2'),
            ('bf16', 'flashinfer_fa3'))


def panning_frames(count: int, height: int, width: int) -> np.ndarray:
    """Draw a smooth colour texture and pan over it; uint8 [count, H, W, 3]."""
    rng = np.random.default_rng(0)
    span = (height + 2 * count, width + 4 * count)
    texture = np.zeros((*span, 3), np.float32)
    for cells in (8, 32, 128):
        coarse = torch.from_numpy(rng.random((1, 3, cells, cells), dtype=np.float32))
        fine = torch.nn.functional.interpolate(coarse, span, mode='bicubic')
        texture += fine[0].permute(1, 2, 0).numpy() / 3
    texture = (255 * texture.clip(0, 1)).astype(np.uint8)
    return np.stack([texture[i:i + height, 3 * i:3 * i + width] for i in range(count)])


def rotation_degrees(a: np.ndarray, b: np.ndarray) -> float:
    """Angle between two rotation matrices, from the chord so that small ones stay exact."""
    chord = np.linalg.norm(a - b) / np.sqrt(8)
    return float(np.degrees(2 * np.arcsin(min(1.0, chord))))


def run(network: Network, backend: str, frames: np.ndarray, config: StreamConfig) -> dict:
    """Stream all frames; poses, depths, latency and memory."""
    session = StreamSession(network, config, backend)
    poses, depths, seconds = [], [], []
    cuda = network.device.type == 'cuda'
    if cuda:
        torch.cuda.reset_peak_memory_stats()
    for index, frame in enumerate(frames):
        session.wait_for_device()
        start = time.perf_counter()
        estimates = session.push(frame, index)
        session.wait_for_device()
        if index >= config.anchor_frames + WARM:
            seconds.append(time.perf_counter() - start)
        poses += [e.T_world_camera for e in estimates]
        depths += [e.depth.cpu() for e in estimates]
    return {
        'backend': session.backend_name, 'poses': np.stack(poses), 'depths': torch.stack(depths),
        'latency_ms': 1e3 * float(np.median(seconds)),
        'latency_p95_ms': 1e3 * float(np.percentile(seconds, 95)),
        'cache_gb': session.cache_bytes / 1e9,
        'peak_gb': torch.cuda.max_memory_allocated() / 1e9 if cuda else 0.0,
    }


def compare(result: dict, reference: dict) -> dict:
    """Differences of one run to the reference run."""
    rotations = [rotation_degrees(a[:3, :3], b[:3, :3])
                 for a, b in zip(result['poses'], reference['poses'], strict=True)]
    shifts = np.linalg.norm(result['poses'][:, :3, 3] - reference['poses'][:, :3, 3], axis=1)
    depth = (result['depths'] / reference['depths'] - 1).abs().flatten(1).median(1).values
    return {'rotation_worst_deg': max(rotations), 'translation_worst': float(shifts.max()),
            'depth_median': float(depth.median()), 'depth_worst_frame': float(depth.max())}


def main() -> None:
    """Run all variants and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('--frames', type=int, default=100)
    parser.add_argument('--height', type=int, default=378)
    parser.add_argument('--width', type=int, default=518)
    parser.add_argument('--device', default='auto')
    parser.add_argument('--tiny', action='store_true', help='the tiny network, to try the script')
    parser.add_argument('--output', type=Path, help='JSON file for the figures')
    arguments = parser.parse_args()

    frames = panning_frames(arguments.frames, arguments.height, arguments.width)
    config = StreamConfig(image_size=arguments.width, max_keyframes=max(64, arguments.frames))
    reference_network = load_network('random', arguments.device, 'fp32',
                                     None if arguments.tiny else NetworkConfig())
    device = reference_network.device
    name = torch.cuda.get_device_name() if device.type == 'cuda' else platform.processor()
    print(f'{name}, torch {torch.__version__}, {len(frames)} frames of {arguments.height} x '
          f'{arguments.width}, anchors {config.anchor_frames}, window {config.window}')
    rows, reference = [], None
    half = None
    for dtype, backend in VARIANTS:
        if dtype == 'bf16' and half is None:
            half = copy.deepcopy(reference_network)
            half.cast(torch.bfloat16)
        try:
            result = run(half if dtype == 'bf16' else reference_network, backend, frames, config)
        except BackendError as error:
            print(f'{dtype} {backend}: {error}')
            continue
        reference = reference or result
        row = {'dtype': dtype, 'backend': result['backend'], **compare(result, reference),
               **{key: result[key] for key in ('latency_ms', 'latency_p95_ms', 'cache_gb',
                                               'peak_gb')}}
        rows.append(row)
        print(json.dumps(row), flush=True)
    scale = float(np.median(np.linalg.norm(reference['poses'][:, :3, 3], axis=1)))
    print(f'\nmedian |translation| of the reference: {scale:.3f}\n')
    print('| dtype | back end | rotation, worst (deg) | translation, worst | depth, median | '
          'depth, worst frame | latency (ms) | caches (GB) |')
    print('|---|---|---|---|---|---|---|---|')
    for row in rows:
        print(f"| {row['dtype']} | {row['backend']} | {row['rotation_worst_deg']:.3f} | "
              f"{row['translation_worst']:.4f} | {row['depth_median']:.2e} | "
              f"{row['depth_worst_frame']:.2e} | {row['latency_ms']:.1f} | "
              f"{row['cache_gb']:.2f} |")
    if arguments.output:
        arguments.output.write_text(json.dumps(
            {'device': name, 'torch': torch.__version__, 'frames': len(frames),
             'median_translation': scale, 'rows': rows}, indent=1))


if __name__ == '__main__':
    main()
