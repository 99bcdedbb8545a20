# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is drawn at which moment of a run: lengths grow, sizes and windows vary."""

from __future__ import annotations

from dataclasses import dataclass
import random

from training.forward import Streaming


@dataclass(frozen=True)
class Stage:
    """
    Sequences of one length.

    Attributes
    ----------
    begin : float
        Progress of the run, 0 to 1, from which they are drawn.
    frames : int
        Frames a sample.
    rendered : int
        Frames rendered a sequence; more than `frames`, so that strides fit.

    """

    begin: float
    frames: int
    rendered: int


STAGES = (Stage(0.0, 8, 24), Stage(0.35, 16, 36), Stage(0.58, 32, 64), Stage(0.84, 64, 96))
#: Share of samples of an earlier stage once a later one has begun.
EARLIER = 0.25
#: Height, width and share: 4:3, 16:9, square, and the wide images of a car.
SIZES = (((160, 224), 0.6), ((128, 224), 0.12), ((224, 224), 0.14), ((64, 224), 0.14))


@dataclass(frozen=True)
class Lesson:
    """What one step learns from."""

    stage: Stage
    size: tuple[int, int]
    streaming: Streaming


def draw_lesson(progress: float, rng: random.Random) -> Lesson:
    """
    Draw what a step learns from.

    Parameters
    ----------
    progress : float
        Share of the whole training that is over, 0 to 1.
    rng : Random
        Seeded.

    Returns
    -------
    Lesson
        Stage, image size, anchors and window.

    """
    begun = [stage for stage in STAGES if stage.begin <= progress]
    stage = begun[-1]
    if len(begun) > 1 and rng.random() < EARLIER:
        stage = rng.choice(begun[:-1])
    size = rng.choices([size for size, _ in SIZES], [share for _, share in SIZES])[0]
    anchors = rng.choice((1, 2, 3, 4, 4, 4, 6, 8))
    window = rng.choice((6, 8, 8, 12, 16))
    return Lesson(stage, size, Streaming(anchors, window))
