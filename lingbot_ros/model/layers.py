# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Layers shared by encoder, aggregator and camera head; parameter names are the checkpoint's.

The residual stream and all normalisation stay in float32; only linear layers and attention run in
the dtype of their weights. In half precision that costs little and keeps most of the accuracy.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn, Tensor
import torch.nn.functional as F

Rotate = Callable[[Tensor], Tensor]
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


class LayerScale(nn.Module):
    """Learned scale of a residual branch, one number a feature."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """Scale x [..., width]."""
        return x * self.gamma


class Mlp(nn.Module):
    """Two linear layers with an exact GELU between them."""

    def __init__(self, width: int, hidden: int, out: int | None = None) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.fc2 = nn.Linear(hidden, width if out is None else out)

    def forward(self, x: Tensor) -> Tensor:
        """Map x [..., width] to [..., out]."""
        return self.fc2(F.gelu(self.fc1(x.to(self.fc1.weight.dtype))))


class Attention(nn.Module):
    """
    Multi-head self-attention whose keys and values may live elsewhere.

    Parameters
    ----------
    width, heads : int
        Token width and heads.
    qk_norm : bool
        LayerNorm of queries and keys over the features of a head.

    """

    def __init__(self, width: int, heads: int, qk_norm: bool) -> None:
        super().__init__()
        self.heads = heads
        self.qk_norm = qk_norm
        self.qkv = nn.Linear(width, 3 * width)
        self.q_norm = nn.LayerNorm(width // heads) if qk_norm else nn.Identity()
        self.k_norm = nn.LayerNorm(width // heads) if qk_norm else nn.Identity()
        self.proj = nn.Linear(width, width)

    def forward(self, x: Tensor, attend: Attend | None = None,
                rotate: Rotate | None = None) -> Tensor:
        """
        Attend among the tokens of each batch row, or as the caller says.

        Parameters
        ----------
        x : Tensor of float32, shape [batch, tokens, width]
            Normalised tokens.
        attend : callable, optional
            Takes q, k, v of shape [tokens, heads, head_dim] (batch 1) and returns the attended
            values in that shape; used where keys and values are cached. By default the tokens of
            a row attend to each other.
        rotate : callable, optional
            Rotary embedding, applied to q and k of shape [batch, heads, tokens, head_dim], or
            [tokens, heads, head_dim] with attend.

        Returns
        -------
        Tensor, shape [batch, tokens, width]
            Projected output, in the dtype of the weights.

        """
        batch, tokens, width = x.shape
        qkv = self.qkv(x.to(self.qkv.weight.dtype))
        q, k, v = qkv.view(batch, tokens, 3, self.heads, -1).unbind(2)
        if self.qk_norm:
            q, k = self.q_norm(q.float()), self.k_norm(k.float())
        if attend is None:
            q, k, v = (part.transpose(1, 2) for part in (q, k, v))
        else:
            q, k, v = q[0], k[0], v[0]
        if rotate is not None:
            q, k = rotate(q), rotate(k)
        q, k = q.to(v.dtype), k.to(v.dtype)
        if attend is None:
            out = F.scaled_dot_product_attention(q, k, v).transpose(1, 2)
        else:
            out = attend(q, k, v)
        return self.proj(out.reshape(batch, tokens, width))


class Block(nn.Module):
    """
    Pre-norm transformer block with LayerScale.

    Parameters
    ----------
    width, heads : int
        Token width and heads.
    qk_norm : bool
        See `Attention`.
    eps : float
        Of the two LayerNorms.

    """

    def __init__(self, width: int, heads: int, qk_norm: bool = False, eps: float = 1e-5) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=eps)
        self.attn = Attention(width, heads, qk_norm)
        self.ls1 = LayerScale(width)
        self.norm2 = nn.LayerNorm(width, eps=eps)
        self.mlp = Mlp(width, 4 * width)
        self.ls2 = LayerScale(width)

    def forward(self, x: Tensor, attend: Attend | None = None,
                rotate: Rotate | None = None) -> Tensor:
        """Map float32 tokens [batch, tokens, width] to the same; see `Attention.forward`."""
        x = x + self.ls1(self.attn(self.norm1(x), attend, rotate))
        return x + self.ls2(self.mlp(self.norm2(x)))
