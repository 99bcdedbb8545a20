# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The bank of textures: periodic patterns of one channel, each at several blurs.

All patterns of all blurs lie in one volume, so that pattern, place and blur of a pixel are one
trilinear lookup. The bank is made once a process from fixed numbers and is the same on every
device; what a surface does with it (colours, size, place) is drawn from the seed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
import torch

Array = NDArray[np.float64]

SIDE = 256
LEVELS = 8
_FINE = 2 * SIDE


def _grid(side: int = _FINE) -> tuple[Array, Array]:
    axis = (np.arange(side) + 0.5) / side
    u, v = np.meshgrid(axis, axis)
    return u, v


def _fractal(rng: np.random.Generator, cells: int, keep: float, stretch: int = 1) -> Array:
    """Return noise of waves of `cells` a side and finer, each octave weaker by `keep`."""
    spectrum = np.fft.rfft2(rng.random((_FINE, _FINE), dtype=np.float32) - 0.5)
    rows = np.fft.fftfreq(_FINE)[:, None] * _FINE / stretch
    columns = np.fft.rfftfreq(_FINE)[None, :] * _FINE
    waves = np.maximum(np.hypot(rows, columns), 1e-3)
    # A plane has the more waves the finer they are: 1 / waves gives octaves of one strength.
    loud = (waves / cells) ** (np.log2(keep) - 1) * np.exp(-(0.7 * cells / waves) ** 4)
    total = np.fft.irfft2(spectrum * loud, s=(_FINE, _FINE))
    return (total - total.mean()) / total.std()


def _noise(rng: np.random.Generator) -> Array:
    return _fractal(rng, int(3 + 8 * rng.random()), 0.5 + 0.4 * rng.random())


def _blotches(rng: np.random.Generator) -> Array:
    base = _fractal(rng, int(3 + 5 * rng.random()), 0.55)
    return np.tanh(3.5 * base) + 0.25 * _fractal(rng, 16, 0.8)


def _marble(rng: np.random.Generator) -> Array:
    u, v = _grid()
    warp = _fractal(rng, 4, 0.6)
    waves = np.sin(2 * np.pi * (2 * u + 3 * v) + 2.2 * warp)
    return np.abs(waves) ** 0.5 + 0.15 * _fractal(rng, 16, 0.8)


def _stripes(rng: np.random.Generator) -> Array:
    """Bars of random widths and shades."""
    count = int(10 + 24 * rng.random())
    edges = np.sort(rng.random(count))
    shades = rng.random(count)
    u, _ = _grid()
    return shades[np.searchsorted(edges, u[0]) % count][None, :] + 0.06 * _fractal(rng, 16, 0.8)


def _even_stripes(rng: np.random.Generator) -> Array:
    u, _ = _grid()
    count = int(5 + 9 * rng.random())
    return (np.mod(u * count, 1) < 0.5) * 1.0 + 0.15 * _fractal(rng, 8, 0.7)


def _checker(rng: np.random.Generator) -> Array:
    u, v = _grid()
    count = 2 * int(2 + 4 * rng.random())
    columns, rows = np.floor(u * count).astype(int), np.floor(v * count).astype(int)
    shade = rng.random((count, count))
    return ((columns + rows) % 2) * 1.0 + 0.5 * shade[rows, columns] + 0.1 * _fractal(rng, 8, 0.7)


def _bricks(rng: np.random.Generator, rows: int | None = None) -> Array:
    """Bricks or tiles with shades of their own and light or dark joints."""
    u, v = _grid()
    rows = 2 * int(3 + 5 * rng.random()) if rows is None else rows
    columns = max(2, int(rows * (0.3 + 0.5 * rng.random())))
    offset = 0.5 if rng.random() < 0.7 else 0.0
    row = np.floor(v * rows).astype(int)
    place = np.mod(u * columns + offset * (row % 2), columns)
    column = np.floor(place).astype(int) % columns
    shade = rng.random((rows, columns))[row, column]
    joint = 0.05 + 0.05 * rng.random()
    across = np.minimum(np.mod(place, 1), 1 - np.mod(place, 1)) * rows / columns
    upright = np.minimum(np.mod(v * rows, 1), 1 - np.mod(v * rows, 1))
    inside = np.minimum(across, upright) > joint
    mortar = 1.4 if rng.random() < 0.5 else -0.5
    return np.where(inside, shade, mortar) + 0.12 * _fractal(rng, 16, 0.8)


def _planks(rng: np.random.Generator) -> Array:
    u, v = _grid()
    count = int(4 + 5 * rng.random())
    row = np.floor(v * count).astype(int)
    shade, start = rng.random(count)[row], rng.random(count)[row]
    cut = np.mod(u + start, 1)
    edge = np.minimum(np.mod(v * count, 1), 1 - np.mod(v * count, 1)) < 0.03
    edge |= np.minimum(cut, 1 - cut) < 0.004
    grain = _fractal(rng, 2, 0.75, stretch=16)
    return np.where(edge, -0.6, shade) + 0.16 * grain


def _windows(rng: np.random.Generator) -> Array:
    """Draw the front of a house: windows with frames and bars in a plastered wall."""
    u, v = _grid()
    columns, rows = int(3 + 3 * rng.random()), int(2 + 3 * rng.random())
    column, row = np.floor(u * columns).astype(int), np.floor(v * rows).astype(int)
    x, y = np.mod(u * columns, 1) - 0.5, np.mod(v * rows, 1) - 0.5
    wide, tall = 0.2 + 0.18 * rng.random(), 0.24 + 0.14 * rng.random()
    glass = rng.random((rows, columns))[row, column] * 0.6 - 0.9
    glass = glass + 0.5 * (y > 0.2 * rng.random())
    wall = 0.9 + 0.1 * _fractal(rng, 12, 0.8)
    pane = (np.abs(x) < wide) & (np.abs(y) < tall)
    frame = (np.abs(x) < wide + 0.05) & (np.abs(y) < tall + 0.04) & ~pane
    bars = pane & ((np.abs(x) < 0.015) | (np.abs(y - 0.08) < 0.015))
    return np.where(frame | bars, 1.5, np.where(pane, glass, wall))


def _writing(rng: np.random.Generator) -> Array:
    """Lines of strokes like letters and words on a page."""
    ink = np.zeros((_FINE, _FINE))
    rows = int(7 + 7 * rng.random())
    pitch = _FINE // rows
    for row in range(rows):
        bold = 2 if rng.random() < 0.2 else 1
        at = int(8 + 20 * rng.random())
        end = _FINE - int(10 + 160 * rng.random())
        while at < end:
            if rng.random() < 0.18:
                at += pitch // 3
                continue
            width = max(4, int(pitch * (0.25 + 0.3 * rng.random())))
            top, high = row * pitch + pitch // 5, max(6, pitch * 3 // 5)
            for _ in range(2 + int(2.5 * rng.random())):
                a, b = rng.random(2), rng.random(2)
                if rng.random() < 0.65:
                    b[0 if rng.random() < 0.5 else 1] = a[0 if rng.random() < 0.5 else 1]
                for step in np.linspace(0, 1, 2 * high):
                    x = int(at + (a[0] + (b[0] - a[0]) * step) * width)
                    y = int(top + (a[1] + (b[1] - a[1]) * step) * high)
                    ink[y:y + 1 + bold, x:x + 1 + bold] = 1
            at += width + 3
    return 1 - 1.6 * ink + 0.08 * _fractal(rng, 6, 0.6)


def _art(rng: np.random.Generator) -> Array:
    """Discs, rings, bars and boxes over each other."""
    canvas = np.full((_FINE, _FINE), rng.random())
    for _ in range(28):
        x, y = rng.random(), rng.random()
        size, shade = 0.03 + 0.2 * rng.random() ** 2, rng.random()
        turn, kind, flat = rng.random() * np.pi, rng.random(), 0.1 + rng.random()
        reach = int(1.55 * size * _FINE) + 12
        offsets = np.arange(-reach, reach + 1)
        dx, dy = offsets[None, :] / _FINE, offsets[:, None] / _FINE
        a = np.cos(turn) * dx + np.sin(turn) * dy
        b = np.cos(turn) * dy - np.sin(turn) * dx
        if kind < 0.4:
            inside = a * a + b * b < size * size
        elif kind < 0.6:
            inside = np.abs(np.sqrt(a * a + b * b) - size) < 0.02
        else:
            inside = (np.abs(a) < size) & (np.abs(b) < size * flat)
        rows, columns = np.nonzero(inside)
        canvas[(int(y * _FINE) + offsets[rows]) % _FINE,
               (int(x * _FINE) + offsets[columns]) % _FINE] = shade
    return canvas + 0.05 * _fractal(rng, 8, 0.8)


def _cells(rng: np.random.Generator) -> Array:
    """Stones: cells of random points, with joints."""
    count = int(20 + 90 * rng.random())
    points, shade = rng.random((count, 2)), rng.random(count)
    u, v = _grid(SIDE)
    first, second = np.full((SIDE, SIDE), 9.0), np.full((SIDE, SIDE), 9.0)
    which = np.zeros((SIDE, SIDE), int)
    for number, (x, y) in enumerate(points):
        far = np.hypot(u[:1] - x - np.round(u[:1] - x), v[:, :1] - y - np.round(v[:, :1] - y))
        nearer = far < first
        second = np.where(nearer, first, np.minimum(second, far))
        first, which = np.where(nearer, far, first), np.where(nearer, number, which)
    joint = second - first < 0.012
    value = np.where(joint, -0.5 if rng.random() < 0.6 else 1.5, shade[which])
    return np.kron(value, np.ones((2, 2))) + 0.15 * _fractal(rng, 16, 0.8)


def _specks(rng: np.random.Generator) -> Array:
    """Gravel, terrazzo, leaves: many dots of many shades."""
    side = SIDE
    value = np.full((side, side), 0.5)
    rows, columns = np.mgrid[-6:7, -6:7]
    for _ in range(int(250 + 900 * rng.random())):
        x, y = int(rng.random() * side), int(rng.random() * side)
        size, shade, flat = 0.8 + 4.5 * rng.random() ** 3, rng.random(), 0.5 + rng.random()
        inside = np.hypot(rows * flat, columns) < size
        value[(y + rows[inside]) % side, (x + columns[inside]) % side] = shade
    return np.kron(value, np.ones((2, 2))) + 0.04 * _fractal(rng, 8, 0.8)


def _marks(rng: np.random.Generator) -> Array:
    """Draw a nearly plain ground with scratches and stains."""
    value = 0.3 * _fractal(rng, 4, 0.6)
    u, v = _grid()
    for _ in range(18):
        turn, place = 2 * np.pi * rng.random(), rng.random(2)
        dx, dy = np.mod(u - place[0] + 0.5, 1) - 0.5, np.mod(v - place[1] + 0.5, 1) - 0.5
        a = np.cos(turn) * dx + np.sin(turn) * dy
        b = np.cos(turn) * dy - np.sin(turn) * dx + 0.6 * a * a
        long = 0.05 + 0.2 * rng.random()
        value = value + np.where((np.abs(a) < long) & (np.abs(b) < 0.004), 3 * rng.random(), 0)
    return value


_KINDS: tuple[tuple[str, Callable[[np.random.Generator], Array], int], ...] = (
    ('noise', _noise, 8), ('blotches', _blotches, 3), ('marble', _marble, 2),
    ('stripes', _stripes, 3), ('even', _even_stripes, 2), ('checker', _checker, 3),
    ('bricks', _bricks, 5), ('planks', _planks, 3), ('windows', _windows, 5),
    ('writing', _writing, 4), ('art', _art, 5), ('cells', _cells, 3), ('specks', _specks, 4),
    ('marks', _marks, 2))
COUNT = sum(count for _, _, count in _KINDS)


def indices(*names: str) -> tuple[int, ...]:
    """Return the places in the bank of all textures of some kinds."""
    found: list[int] = []
    place = 0
    for name, _, count in _KINDS:
        if name in names:
            found += range(place, place + count)
        place += count
    return tuple(found)


def _normalised(pattern: Array) -> Array:
    low, high = np.quantile(pattern, (0.01, 0.99))
    halved = np.clip((pattern - low) / (high - low), 0, 1)
    return halved.reshape(SIDE, 2, SIDE, 2).mean((1, 3))


@lru_cache(maxsize=4)
def bank(device: torch.device) -> torch.Tensor:
    """
    Return the volume of textures.

    Parameters
    ----------
    device : torch.device
        Where it shall lie; kept there.

    Returns
    -------
    Tensor
        float32 in [0, 1], [1, 1, COUNT * LEVELS, SIDE + 1, SIDE + 1]: blur `l` of texture `k` is
        slice `k * LEVELS + l`, blurred by a Gaussian of half of 2**l texels. The last row and
        column repeat the first.

    """
    patterns = []
    for kind, (_, make, count) in enumerate(_KINDS):
        for number in range(count):
            rng = np.random.Generator(np.random.PCG64(1000 * kind + number))
            patterns.append(_normalised(make(rng)))
    spectrum = np.fft.rfft2(np.stack(patterns))
    square = np.fft.fftfreq(SIDE)[:, None] ** 2 + np.fft.rfftfreq(SIDE)[None, :] ** 2
    volume = np.empty((COUNT, LEVELS, SIDE + 1, SIDE + 1), np.float32)
    for level in range(LEVELS):
        sigma = 0.5 * 2 ** level if level else 0.0
        low_pass = np.exp(-2 * (np.pi * sigma) ** 2 * square)
        if level == LEVELS - 1:
            low_pass = (square == 0).astype(float)
        blurred = np.fft.irfft2(spectrum * low_pass, s=(SIDE, SIDE))
        # Rounded, so that the last digits of a transform do not matter.
        volume[:, level, :SIDE, :SIDE] = np.round(blurred * 4096) / 4096
    volume[..., SIDE, :] = volume[..., 0, :]
    volume[..., SIDE] = volume[..., 0]
    flat = torch.from_numpy(volume).reshape(1, 1, COUNT * LEVELS, SIDE + 1, SIDE + 1)
    return flat.clamp_(0, 1).to(device)
