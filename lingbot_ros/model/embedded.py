# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The weights that come with the package: where they are, and whether they are whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import hashlib
from importlib.resources import as_file, files
from pathlib import Path
import re
from typing import TYPE_CHECKING

from lingbot_ros.errors import CheckpointError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable  # in another place before Python 3.11

WEIGHTS_NAME = 'embedded.safetensors'
HASH_NAME = 'embedded.sha256'

_POINTER = b'version https://git-lfs'  # what Git LFS leaves where a file was not fetched
_ADVICE = "install lingbot_ros again, or set checkpoint to a .pt or .safetensors file's path"


def weights_folder() -> Traversable:
    """Return the folder of weights, card and hash inside the installed package."""
    return files('lingbot_ros') / 'weights'


@contextmanager
def embedded_file() -> Iterator[Path]:
    """
    Hand out the embedded weights as a file whose SHA-256 is the published one.

    Yields
    ------
    Path
        Valid inside the `with` block.

    Raises
    ------
    CheckpointError
        If weights or hash are missing or damaged; says what to do.

    """
    folder = weights_folder()
    for name in (WEIGHTS_NAME, HASH_NAME):
        if not (folder / name).is_file():
            raise CheckpointError(f'the embedded weights are not complete: no file {name} in '
                                  f'{folder}; {_ADVICE}')
    with as_file(folder / WEIGHTS_NAME) as path:
        _verify(path, (folder / HASH_NAME).read_bytes().decode(errors='replace'))
        yield path


def _verify(path: Path, line: str) -> None:
    expected = re.match(r'[0-9a-f]{64}\b', line.lower())
    if not expected:
        raise CheckpointError(f'{HASH_NAME} beside {path} must begin with 64 hexadecimal digits, '
                              f'got {line[:20]!r}; {_ADVICE}')
    digest = hashlib.sha256()
    with path.open('rb') as file:
        start = file.read(len(_POINTER))
        if start == _POINTER:
            raise CheckpointError(f'{path} is a Git LFS pointer, not the weights: run `git lfs '
                                  f'pull` in the checkout, or {_ADVICE}')
        digest.update(start)
        while block := file.read(1 << 20):
            digest.update(block)
    if digest.hexdigest() != expected[0]:
        raise CheckpointError(
            f'{path} is damaged: expected SHA-256 {expected[0]}, got {digest.hexdigest()} of '
            f'{path.stat().st_size} bytes; {_ADVICE}')
