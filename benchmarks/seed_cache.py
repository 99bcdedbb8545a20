# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Measure the compatibility manager at full size: append, evict, build the table, attend.

12 blocks, room for 2000 frames, 262 tokens a frame (256 patches + 6 special), 8 heads of 64,
8 scale frames, window 64. Prints a table of time a frame and memory; memory must not change after
the window has filled.

    python benchmarks/seed_cache.py [--device cuda] [--dtype bf16] [--frames 200]
"""

from __future__ import annotations

import argparse
import resource
import time

from lingbot_ros.cache import FlashInferKVCacheManager
import torch

DTYPES = {'fp32': torch.float32, 'bf16': torch.bfloat16, 'fp16': torch.float16}
TOKENS, HEADS, HEAD_DIM = 262, 8, 64
SCALE_FRAMES, WINDOW = 8, 64


def used_mib(device: torch.device) -> float:
    """Peak memory so far, MiB: allocated on the GPU, or resident on the CPU."""
    if device.type == 'cuda':
        return torch.cuda.max_memory_allocated(device) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[1])
    parser.add_argument('--device', default='cpu')
    parser.add_argument('--dtype', default='bf16', choices=DTYPES)
    parser.add_argument('--frames', type=int, default=200)
    parser.add_argument('--blocks', type=int, default=12)
    parser.add_argument('--force-fp32', action='store_true')
    args = parser.parse_args()
    device, dtype = torch.device(args.device), DTYPES[args.dtype]

    manager = FlashInferKVCacheManager(
        num_blocks=args.blocks, max_num_frames=2000, tokens_per_frame=TOKENS, num_heads=HEADS,
        head_dim=HEAD_DIM, dtype=dtype, device=device, num_special_tokens=6,
        scale_frames=SCALE_FRAMES, sliding_window=WINDOW, force_fp32=args.force_fp32)
    generator = torch.Generator(device).manual_seed(0)
    print(f'{manager.backend_name}, {dtype}, {device}, {torch.get_num_threads()} threads, '
          f'{manager.max_num_pages} pages x {args.blocks} blocks')
    print(f'{"frame":>6} {"ms/frame":>9} {"visible tokens":>15} {"cache MiB":>10} '
          f'{"peak MiB":>9}')
    start = lap = time.perf_counter()
    for frame in range(args.frames):
        for block in range(args.blocks):
            q, k, v = torch.randn((3, TOKENS, HEADS, HEAD_DIM), generator=generator,
                                  dtype=dtype, device=device)
            manager.append_frame(block, k, v)
            manager.evict_frames(block, SCALE_FRAMES, WINDOW, True, True)
            pages = manager.build_visible_page_table(block)
            out = manager.compute_attention(block, q)
        if (frame + 1) % 20 == 0 or frame + 1 == args.frames:
            if not bool(out.isfinite().all()):  # also waits for the device
                raise SystemExit(f'frame {frame}: attention is not finite')
            tokens = (len(pages) - 1) * manager.page_size + manager.compute_last_page_len(0)
            now = time.perf_counter()
            count = (frame % 20) + 1
            print(f'{frame + 1:>6} {(now - lap) / count * 1e3:>9.1f} {tokens:>15} '
                  f'{manager.get_cache_stats()["cache_bytes"] / 2**20:>10.1f} '
                  f'{used_mib(device):>9.1f}')
            lap = now
    print(f'total {time.perf_counter() - start:.1f} s')


if __name__ == '__main__':
    main()
