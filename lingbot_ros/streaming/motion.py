# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
How far a camera has moved, in the image: by pose and depth, and by the images alone.

All of it runs on the device of its tensors and waits for nothing; the numbers travel to the host
together with the pose of the frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor
import torch.nn.functional as F

# Cells across the small images that are compared; noise of single pixels averages out in them.
_CELLS = 32
_TINY = 1e-6


def rotation_of(encoding: Tensor) -> Tensor:
    """
    Rotation matrix, camera to world, of a pose encoding.

    Parameters
    ----------
    encoding : Tensor, shape [9]
        Translation, quaternion xyzw (not normalised), field of view.

    Returns
    -------
    Tensor, shape [3, 3]

    """
    q = F.normalize(encoding[3:7], dim=0)
    # Every element of the matrix is linear in the products of two elements of the quaternion.
    return (_from_products(q.device, q.dtype) @ torch.outer(q, q).flatten()).view(3, 3)


@cache
def _from_products(device: torch.device, dtype: torch.dtype) -> Tensor:
    """Matrix [9, 16] from the products of xyzw with xyzw to a rotation matrix, row by row."""
    x, y, z, w = range(4)
    plus_minus = {
        (0, 0): {(x, x): 1, (w, w): 1, (y, y): -1, (z, z): -1},
        (1, 1): {(y, y): 1, (w, w): 1, (x, x): -1, (z, z): -1},
        (2, 2): {(z, z): 1, (w, w): 1, (x, x): -1, (y, y): -1},
        (0, 1): {(x, y): 2, (z, w): -2}, (1, 0): {(x, y): 2, (z, w): 2},
        (0, 2): {(x, z): 2, (y, w): 2}, (2, 0): {(x, z): 2, (y, w): -2},
        (1, 2): {(y, z): 2, (x, w): -2}, (2, 1): {(y, z): 2, (x, w): 2}}
    table = torch.zeros(9, 16, dtype=dtype)
    for (row, column), products in plus_minus.items():
        for (one, other), factor in products.items():
            table[3 * row + column, 4 * one + other] = factor
    return table.to(device)


@dataclass(frozen=True, eq=False)
class MotionReference:
    """
    A frame that later ones are compared with.

    Attributes
    ----------
    encoding : Tensor of float32, shape [9]
        Its pose encoding, on the device.
    points : Tensor of float32, shape [n, 3]
        Points of its depth image in its camera's axes.
    pixels : Tensor of float32, shape [n, 2]
        Where they are seen, x and y over the focal lengths: the same for points without motion.

    """

    encoding: Tensor
    points: Tensor
    pixels: Tensor

    @staticmethod
    def of(encoding: Tensor, depth: Tensor) -> MotionReference:
        """
        Make a reference of a frame.

        Parameters
        ----------
        encoding : Tensor of float32, shape [9]
            Pose encoding.
        depth : Tensor of float32, shape [H, W]
            On the same device.

        Returns
        -------
        MotionReference

        """
        height, width = depth.shape
        step = max(1, round((height * width / 512) ** 0.5))
        rows = torch.arange(step // 2, height, step, device=depth.device)
        columns = torch.arange(step // 2, width, step, device=depth.device)
        half = torch.tan(encoding[7:] / 2)
        y = ((rows + 0.5) * (2 / height) - 1) * half[0]
        x = ((columns + 0.5) * (2 / width) - 1) * half[1]
        pixels = torch.stack(torch.meshgrid(x, y, indexing='xy'), dim=-1).view(-1, 2)
        z = depth[rows][:, columns].reshape(-1, 1)
        return MotionReference(encoding.clone(), torch.cat((pixels, torch.ones_like(z)), 1) * z,
                               pixels)

    def motion(self, encoding: Tensor) -> Tensor:
        """
        Mean distance that the points travel in the image until another frame.

        Parameters
        ----------
        encoding : Tensor of float32, shape [9]
            Pose encoding of that frame, in the same world.

        Returns
        -------
        Tensor of float32, shape []
            Fraction of the image width, 1 at most for each point; a point that is behind the
            camera counts as 1.

        """
        there = self.points @ rotation_of(self.encoding).T + (self.encoding[:3] - encoding[:3])
        seen = there @ rotation_of(encoding)
        ahead = seen[:, 2] > _TINY
        pixels = seen[:, :2] / seen[:, 2:].clamp_min(_TINY)
        # One field of view for both: a change of it is no motion.
        width = 2 * torch.tan(self.encoding[8] / 2).clamp_min(_TINY)
        distance = (pixels - self.pixels).norm(dim=1) / width
        return torch.where(ahead, distance.clamp_max(1), torch.ones_like(distance)).mean()


def thumbnail(image: Tensor) -> Tensor:
    """
    Small grey image without its mean brightness.

    Parameters
    ----------
    image : Tensor of float32, shape [3, H, W]
        RGB in [0, 1].

    Returns
    -------
    Tensor of float32, shape [h, w]
        About 32 cells wide, each the mean of its pixels.

    """
    cell = max(1, image.shape[2] // _CELLS)
    grey = F.avg_pool2d(image.mean(0)[None], cell)[0]
    return grey - grey.mean()


def apparent_motion(image: Tensor, reference: Tensor) -> Tensor:
    """
    Motion that explains how two images differ, as if they differed by a small shift alone.

    Parameters
    ----------
    image, reference : Tensor of float32, shape [h, w]
        From `thumbnail`.

    Returns
    -------
    Tensor of float32, shape []
        Fraction of the image width. Large where a scene has no texture: then nothing is known.

    """
    texture = (reference.diff(dim=0).abs().mean() + reference.diff(dim=1).abs().mean()) / 2
    return (image - reference).abs().mean() / (texture + _TINY) / image.shape[1]
