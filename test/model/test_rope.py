# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
from lingbot_ros.model.rope import frame_rotary, GlobalRotary, rotate_halves, rotate_pairs
import pytest
import torch

CPU = torch.device('cpu')


def test_frame_rotary_by_its_formula():
    """Feature i of a half pairs with i + quarter and turns by position * 100^(-2i/32)."""
    x = torch.randn(1 + 6, 64, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    turned = rotate_halves(x, *frame_rotary(2, 3, 1, 64, CPU))
    for token in range(7):
        row, column = (0, 0) if token == 0 else ((token - 1) // 3 + 1, (token - 1) % 3 + 1)
        for half, position in ((0, row), (32, column)):
            for i in range(16):
                angle = torch.tensor(position * 100.0 ** (-2 * i / 32))
                a, b = x[token, half + i], x[token, half + 16 + i]
                assert turned[token, half + i] == pytest.approx(
                    a * angle.cos() - b * angle.sin(), abs=1e-5)
                assert turned[token, half + 16 + i] == pytest.approx(
                    a * angle.sin() + b * angle.cos(), abs=1e-5)


def test_global_rotary_splits_10_11_11_pairs():
    """Of a head of 64: 20 features turn with the frame, 22 with the row, 22 with the column."""
    cosine, sine = GlobalRotary(2, 3, 6, 64, CPU).table([5])
    angles = torch.atan2(sine, cosine)[:, 0].double()
    frequencies = [10000.0 ** (-torch.arange(n, dtype=torch.float64) / n) for n in (10, 11, 11)]
    positions = [(5, i, i) for i in range(6)]
    positions += [(5, 6 + y, 6 + x) for y in range(2) for x in range(3)]
    for token, position in enumerate(positions):
        expected = torch.cat([p * f for p, f in zip(position, frequencies, strict=True)])
        assert torch.allclose(torch.cos(angles[token]), torch.cos(expected), atol=1e-6)
        assert torch.allclose(torch.sin(angles[token]), torch.sin(expected), atol=1e-6)


@pytest.mark.parametrize('index', [0, 1023, 1024, 10**6])
def test_attention_depends_on_relative_frames_at_any_index(index):
    """There is no table to run out of: far frames turn as exactly as near ones."""
    q = torch.randn(12, 1, 64, generator=torch.Generator().manual_seed(1))
    rotary = GlobalRotary(2, 3, 6, 64, CPU)

    def score(f):
        a = rotate_pairs(q, *rotary.table([f]))
        b = rotate_pairs(q, *rotary.table([f + 3]))
        return torch.einsum('thd,shd->hts', a, b)
    assert torch.allclose(score(index), score(0), atol=1e-4)


@pytest.mark.parametrize('head_dim', [16, 32, 64, 128])
def test_every_head_size_keeps_lengths(head_dim):
    x = torch.randn(12, 2, head_dim, generator=torch.Generator().manual_seed(2))
    turned = rotate_pairs(x, *GlobalRotary(2, 3, 6, head_dim, CPU).table([7]))
    assert torch.allclose(turned.norm(dim=-1), x.norm(dim=-1), atol=1e-5)
    turned = rotate_halves(x.transpose(0, 1), *frame_rotary(2, 3, 6, head_dim, CPU))
    assert torch.allclose(turned.norm(dim=-1), x.transpose(0, 1).norm(dim=-1), atol=1e-5)
