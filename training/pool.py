# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Rendered sequences, kept on the device for a few uses each.

Rendering costs about as much as learning from a frame; a sequence is used several times, at
another stride, reversed, mirrored and in other colours, and then replaced.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch

from training.worlds import Batch, render


@dataclass(frozen=True)
class PoolConfig:
    """
    How sequences are rendered and used.

    Attributes
    ----------
    sequences : int
        Kept at once, for one image size.
    chunk : int
        Rendered at once.
    reuse : float
        Frames learnt from, for one frame rendered.
    strides : tuple of int
        Steps between the frames of a sample; drawn evenly.

    """

    sequences: int = 240
    chunk: int = 40
    reuse: float = 8.0
    strides: tuple[int, ...] = (1, 1, 2, 3)


class SeedCounter:
    """Seeds of training sequences, each used once: every `step`-th one from `start`."""

    def __init__(self, start: int, step: int) -> None:
        self._next, self._step = start, step

    @property
    def used(self) -> int:
        """Seeds up to which every process has drawn about as many."""
        return self._next // self._step

    def draw(self, count: int) -> list[int]:
        """Return the next `count` seeds."""
        seeds = [self._next + i * self._step for i in range(count)]
        self._next += count * self._step
        return seeds


class Pool:
    """
    Sequences of one image size and length.

    Parameters
    ----------
    config : PoolConfig
        How they are used.
    seeds : SeedCounter
        Where seeds come from.
    size : tuple of int
        Height and width, pixels.
    frames : int
        Rendered a sequence.
    device : torch.device
        Where they live.

    """

    def __init__(self, config: PoolConfig, seeds: SeedCounter, size: tuple[int, int],
                 frames: int, device: torch.device) -> None:
        self._config, self._seeds, self._size = config, seeds, size
        self._frames, self._device = frames, device
        self._parts: list[Batch] = []
        self._owed = 0.0

    def _render(self) -> None:
        batch = render(self._seeds.draw(self._config.chunk), self._frames, *self._size,
                       device=self._device)
        self._parts.append(replace(batch, depth=batch.depth.half()))
        most = -(-self._config.sequences // self._config.chunk)
        self._parts = self._parts[-most:]

    def sample(self, count: int, frames: int, generator: torch.Generator) -> Batch:
        """
        Draw sequences from the pool, and render what their use has earned.

        Parameters
        ----------
        count, frames : int
            Sequences, and frames of each; at most the `sequences` of the config are given.
        generator : torch.Generator
            On the CPU.

        Returns
        -------
        Batch
            Images are float32 in [0, 1], everything else as rendered.

        """
        count = min(count, self._config.sequences)
        self._owed += count * frames / self._config.reuse
        cost = self._config.chunk * self._frames
        while sum(len(part.images) for part in self._parts) < count or self._owed >= cost:
            self._render()
            self._owed -= cost
        # One stride a batch part keeps the gather simple; parts differ.
        picked, left = [], count
        for place, index in enumerate(
                torch.randperm(len(self._parts), generator=generator).tolist()):
            share = -(-left // (len(self._parts) - place))
            if share:
                picked.append(self._draw(self._parts[index], share, frames, generator))
                left -= share
        return Batch(*(torch.cat([vars(part)[field.name] for part in picked])
                       for field in fields(Batch)))

    def _draw(self, part: Batch, count: int, frames: int, generator: torch.Generator) -> Batch:
        rows = torch.randperm(part.images.shape[0], generator=generator)[:count]
        fitting = [s for s in self._config.strides if (frames - 1) * s < self._frames]
        stride = fitting[int(torch.randint(len(fitting), (), generator=generator))]
        starts = torch.randint(self._frames - (frames - 1) * stride, (len(rows), 1),
                               generator=generator)
        steps = torch.arange(frames) * stride
        backwards = torch.rand(len(rows), 1, generator=generator) < 0.5
        order = starts + torch.where(backwards, steps.flip(0), steps)
        rows, order = rows.to(self._device)[:, None], order.to(self._device)
        mirror = bool(torch.rand((), generator=generator) < 0.5)
        channels = torch.randperm(3, generator=generator).tolist()
        images = part.images[rows, order][:, :, channels].float() / 255
        depth, moving = part.depth[rows, order].float(), part.moving[rows, order]
        pose = part.T_world_camera[rows, order]
        if mirror:
            images, depth, moving = images.flip(-1), depth.flip(-1), moving.flip(-1)
            flip = torch.tensor((-1.0, 1.0, 1.0, 1.0), device=self._device)
            pose = pose * flip[:, None] * flip
        return Batch(images, depth, pose, part.fov[rows[:, 0]], moving)
