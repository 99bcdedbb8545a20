# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Held-out sequences are those that their rules name, and none that training draws."""

from __future__ import annotations

from training import heldout
from training.worlds import kinds

STILL = ('rest', 'rotation')


def test_ranges_do_not_meet() -> None:
    edges = [0, heldout.TRAINING_SEEDS]
    for seeds in (heldout.SHORT_RANGE, heldout.LONG_RANGE, heldout.DEMO_RANGE):
        assert seeds.start >= edges[-1]
        edges += [seeds.start, seeds.stop]
    # The renderer takes them.
    assert edges[-1] <= 1 << 62


def test_lists_lie_in_their_ranges() -> None:
    assert len(set(heldout.SHORT)) == 64 and set(heldout.SHORT) <= set(heldout.SHORT_RANGE[:1000])
    assert len(set(heldout.LONG)) == 8 and set(heldout.LONG) <= set(heldout.LONG_RANGE[:1000])
    assert set(heldout.GATE) <= set(heldout.SHORT) and len(set(heldout.GATE)) == 4
    assert not set(heldout.STILL) & set(heldout.SHORT)


def test_lists_follow_their_rules() -> None:
    start = heldout.SHORT_RANGE.start
    found = list(zip(range(start, start + 120), kinds(range(start, start + 120)), strict=True))
    moving = [seed for seed, kind in found if kind[1] not in STILL]
    assert heldout.SHORT == tuple(moving[:64])
    assert heldout.STILL == tuple(seed for seed, kind in found if kind[1] in STILL)[:8]
    scene = dict(found)
    assert heldout.GATE == tuple(
        next(seed for seed in heldout.SHORT if scene[seed][0] == name)
        for name in heldout.GATE_SCENES)


def test_long_sequences_fill_their_quota() -> None:
    left, chosen = dict(heldout.LONG_QUOTA), []
    seeds = range(heldout.LONG_RANGE.start, heldout.LONG_RANGE.start + 40)
    for seed, (scene, motion) in zip(seeds, kinds(seeds), strict=True):
        if motion not in STILL and left[scene]:
            left[scene] -= 1
            chosen.append(seed)
    assert not any(left.values())
    assert heldout.LONG == tuple(chosen)
