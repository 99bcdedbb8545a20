# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Put the weights of a run into the package: python -m training.export RUN."""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
import sys

from lingbot_ros.model.embedded import HASH_NAME, WEIGHTS_NAME
from lingbot_ros.model.recommended import METADATA_KEY, parse_recommended
from safetensors.torch import load_file, save_file

from training.state import is_state, PROGRESS, WEIGHTS

FOLDER = Path(__file__).resolve().parents[1] / 'lingbot_ros' / 'weights'
#: How a session without settings runs. Segments are short because so were most sequences in
#: training: on other seeds than the held-out ones, 16 keyframes gave a third of the drift of 64.
STREAM = {
    'image_size': 224, 'anchor_frames': 4, 'window': 8,
    'anchors': {'policy': 'motion', 'motion': 0.005},
    'keyframes': {'policy': 'auto', 'motion': 0.015},
    'segments': {'keyframes': 16, 'overlap': 4},
    'tracking': {},
    # Fitted to 32 worlds of their own by benchmarks/covariance.py.
    'covariance': {'position_noise': 0.046, 'rotation_noise': 0.012, 'position_walk': 1.3,
                   'rotation_walk': 0.0, 'turn_walk': 0.17, 'scale_start': 0.0, 'scale_walk': 0.0},
}


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('run', type=Path, help='folder of a run')
    parser.add_argument('--output', type=Path, default=FOLDER)
    args = parser.parse_args()
    if not is_state(args.run):
        parser.error(f'expected the folder of a run, got {args.run}')
    progress = json.loads((args.run / PROGRESS).read_text(encoding='utf-8'))
    text = json.dumps({'stream': STREAM, 'training': progress}, sort_keys=True)
    parse_recommended(text, 'the settings of this file')
    args.output.mkdir(parents=True, exist_ok=True)
    path = args.output / WEIGHTS_NAME
    save_file(load_file(args.run / WEIGHTS), path, {METADATA_KEY: text})
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    (args.output / HASH_NAME).write_text(f'{digest}  {WEIGHTS_NAME}\n', encoding='utf-8')
    print(f'{path}: {path.stat().st_size / 1e6:.1f} MB, SHA-256 {digest}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
