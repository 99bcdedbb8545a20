# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Whether an image looks as its pose and depth say it should.

The pixels of a frame are placed in the world by their depth and looked up in the image of a
keyframe. Right poses and depths find the same brightness there; wrong ones do not. Exposure may
change, and a part of the scene may be hidden: brightness and contrast are taken out around each
place, and no single place counts for much.
"""

from __future__ import annotations

from dataclasses import dataclass

from lingbot_ros.errors import ShapeError
from lingbot_ros.streaming.motion import rotation_of
import torch
from torch import Tensor
import torch.nn.functional as F

# Cells across the small images. A degree is about half a cell, so that a pose that is right to a
# degree or two still predicts the image.
_CELLS = 32
_SURROUNDING = 9
# Contrast that is as likely noise, 0..1 grey.
_NOISE = 0.01
_NEAR = 1e-3

CHANCE = 0.69
"""Residual of two images that have nothing in common; measured on painted rooms: 0.67 to 0.75."""

STATISTICS = 3
"""Numbers that `PhotometricReference.compare` makes."""


@dataclass(frozen=True)
class PhotometricCheck:
    """
    Numbers of one comparison, on the host.

    Attributes
    ----------
    residual : float
        Difference of the frame to what pose and depth predict: 0 is a perfect prediction, about
        0.7 one that has nothing to do with the image, 1 the most (also where nothing overlaps).
    still : float
        The same if the camera had not moved since the keyframe.
    overlap : float
        Part of the frame that the keyframe has seen, 0 to 1.

    """

    residual: float
    still: float
    overlap: float


@dataclass(frozen=True, eq=False)
class PhotometricReference:
    """
    A keyframe that later frames are compared with.

    Attributes
    ----------
    encoding : Tensor of float32, shape [9]
        Its pose encoding, on the device.
    contrast : Tensor of float32, shape [h, w]
        Its small image without brightness and contrast of the surroundings.

    """

    encoding: Tensor
    contrast: Tensor

    @staticmethod
    def of(encoding: Tensor, image: Tensor) -> PhotometricReference:
        """
        Make a reference of a keyframe.

        Parameters
        ----------
        encoding : Tensor of float32, shape [9]
            Pose encoding.
        image : Tensor of float32, shape [3, H, W]
            RGB in [0, 1], on the same device.

        Returns
        -------
        PhotometricReference

        """
        return PhotometricReference(encoding.clone(), local_contrast(image))

    def compare(self, encoding: Tensor, depth: Tensor, image: Tensor) -> Tensor:
        """
        Compare a frame with this keyframe; nothing is brought to the host.

        Parameters
        ----------
        encoding : Tensor of float32, shape [9]
            Pose encoding of the frame, in the world of the keyframe.
        depth : Tensor of float32, shape [H, W]
            Depth of the frame.
        image : Tensor of float32, shape [3, H, W]
            The frame, alike the keyframe's image.

        Returns
        -------
        Tensor of float32, shape [3]
            In the order of `PhotometricCheck`.

        Raises
        ------
        ShapeError
            If image and depth are not alike, or the keyframe's image was another size.

        """
        contrast = local_contrast(image)
        if depth.shape != image.shape[1:] or contrast.shape != self.contrast.shape:
            raise ShapeError(f'expected depth and image of one size, as the keyframe, got '
                             f'{list(depth.shape)} and {list(image.shape)}')
        height, width = contrast.shape
        steps = [(torch.arange(n, device=depth.device) + 0.5) * (2 / n) - 1
                 for n in (width, height)]
        # -1 to 1 over the image, as grid_sample has it; times tan(fov / 2) it is x / z.
        at = torch.stack(torch.meshgrid(*steps, indexing='xy'), dim=-1)
        z = F.grid_sample(depth[None, None], at[None], 'nearest', align_corners=False).view(-1, 1)
        # One field of view for both: the camera does not zoom.
        half = torch.tan(self.encoding[7:].flip(0) / 2)
        points = torch.cat((at.view(-1, 2) * half, torch.ones_like(z)), 1) * z
        points = points @ rotation_of(encoding).T + (encoding[:3] - self.encoding[:3])
        points = points @ rotation_of(self.encoding)
        ahead = points[:, 2:].clamp_min(_NEAR)
        there = points[:, :2] / ahead / half
        seen = (points[:, 2] > _NEAR) & (there.abs() < 1).all(1)
        predicted = F.grid_sample(self.contrast[None, None], there.view(1, height, width, 2),
                                  align_corners=False)[0, 0]
        seen = seen.view(height, width)
        return torch.stack((
            _difference(contrast, predicted, seen),
            _difference(contrast, self.contrast, torch.ones_like(seen)),
            seen.float().mean()))


def local_contrast(image: Tensor) -> Tensor:
    """
    Small grey image relative to the surroundings of each cell.

    Parameters
    ----------
    image : Tensor of float32, shape [3, H, W]
        RGB in [0, 1].

    Returns
    -------
    Tensor of float32, shape [h, w]
        About 32 cells wide; standard deviation about 1 where there is texture, 0 where not.

    """
    height, width = image.shape[1:]
    size = (max(2, round(_CELLS * height / width)), _CELLS)
    cells = F.adaptive_avg_pool2d(image.mean(0)[None], size)
    detail = cells - _around(cells)
    return (detail / (_around(detail.square()).sqrt() + _NOISE))[0]


def _around(cells: Tensor) -> Tensor:
    return F.avg_pool2d(cells, _SURROUNDING, 1, _SURROUNDING // 2, count_include_pad=False)


def _difference(one: Tensor, other: Tensor, where: Tensor) -> Tensor:
    """Mean absolute difference, each place counting 1 at most; 1 where nothing is to compare."""
    each = (one - other).abs().clamp_max(1)
    count = where.sum()
    mean = torch.where(where, each, torch.zeros_like(each)).sum() / count.clamp_min(1)
    return torch.where(count > 0, mean, torch.ones_like(mean))
