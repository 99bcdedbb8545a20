# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
From camera images to network input.

Width becomes `image_size`; height keeps the aspect, rounded to whole patches; what exceeds
`image_size` rows is cropped evenly. Resampling is Pillow's bicubic with antialias, which the
released networks were trained with.
"""

from __future__ import annotations

from dataclasses import dataclass

from lingbot_ros.checks import require
from lingbot_ros.errors import ImageError, ShapeError
import numpy as np
from numpy.typing import NDArray
from PIL import Image
import torch

AnyImage = NDArray[np.uint8] | torch.Tensor

# Taller images than this many squares are refused: a column of pixels would be resized to
# gigabytes before the crop.
MOST_ROWS = 8


@dataclass(frozen=True)
class CropGeometry:
    """
    How an image is resized and cropped; all in pixels.

    Attributes
    ----------
    source : tuple of int
        Height and width of the camera image.
    resized : tuple of int
        Height and width after resizing.
    top : int
        Rows cut from the top of the resized image, and about as many from the bottom.
    size : tuple of int
        Height and width of the network input.

    """

    source: tuple[int, int]
    resized: tuple[int, int]
    top: int
    size: tuple[int, int]

    def source_intrinsics(self, K: NDArray[np.float64]) -> NDArray[np.float64]:
        """
        Map intrinsics of the network input to the camera image.

        Parameters
        ----------
        K : ndarray of float64, shape [3, 3]
            Intrinsics of the network input, pixels.

        Returns
        -------
        ndarray of float64, shape [3, 3]
            Intrinsics of the camera image, pixels.

        """
        out = K.copy()
        out[1, 2] += self.top
        out[0] *= self.source[1] / self.resized[1]
        out[1] *= self.source[0] / self.resized[0]
        return out


def crop_geometry(height: int, width: int, image_size: int, patch_px: int) -> CropGeometry:
    """
    Plan the resize and crop of an image.

    Parameters
    ----------
    height, width : int
        Of the camera image, pixels.
    image_size, patch_px : int
        Width of the network input, and patch side, pixels.

    Returns
    -------
    CropGeometry
        The plan.

    Raises
    ------
    ImageError
        If the image is empty, so wide that not one row of patches is left, or so tall that most
        of it would be cropped away.

    """
    if height < 1 or width < 1:
        raise ImageError(f'expected an image with pixels, got {width} x {height}')
    rows = round(height * image_size / width / patch_px) * patch_px
    if rows == 0:
        raise ImageError(f'image of {width} x {height} is too wide: resized to width {image_size} '
                         f'it has less than half a patch ({patch_px} pixels) of height; crop it '
                         'or raise image_size')
    if rows > MOST_ROWS * image_size:
        raise ImageError(f'image of {width} x {height} is too tall: less than 1/{MOST_ROWS} of it '
                         'would be kept; crop it')
    kept = min(rows, image_size)
    return CropGeometry((height, width), (rows, image_size), (rows - kept) // 2,
                        (kept, image_size))


def preprocess(image: NDArray[np.uint8], image_size: int, patch_px: int) -> torch.Tensor:
    """
    Resize and crop one image.

    Parameters
    ----------
    image : ndarray of uint8, shape [H, W, 3]
        RGB.
    image_size, patch_px : int
        Width of the result and patch side, pixels.

    Returns
    -------
    Tensor of uint8, shape [3, h, image_size]
        Network input before division by 255, on the CPU.

    Raises
    ------
    ShapeError
        If the image is not uint8 [H, W, 3].
    ImageError
        If it is empty, too wide or too tall.

    """
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        raise ShapeError(f'expected an RGB image uint8 [H, W, 3], got {image.dtype} '
                         f'{list(image.shape)}')
    plan = crop_geometry(image.shape[0], image.shape[1], image_size, patch_px)
    if plan.resized != plan.source:
        image = np.asarray(Image.fromarray(image).resize(
            (plan.resized[1], plan.resized[0]), Image.Resampling.BICUBIC))
    cropped = image[plan.top:plan.top + plan.size[0]]
    return torch.from_numpy(np.ascontiguousarray(cropped.transpose(2, 0, 1)))


def network_input(image: AnyImage, image_size: int, patch_px: int,
                  device: torch.device) -> torch.Tensor:
    """
    Turn whatever a session takes into network input.

    Parameters
    ----------
    image : ndarray of uint8, shape [H, W, 3], or floating Tensor, shape [3, H, W]
        An RGB camera image, which is resized and cropped; or RGB in [0, 1] already sized
        (multiples of the patch side), which is taken as it is.
    image_size, patch_px : int
        Width of a resized camera image and patch side, pixels.
    device : torch.device
        Where the result lives.

    Returns
    -------
    Tensor of float32, shape [3, h, w]
        RGB in [0, 1].

    Raises
    ------
    ShapeError
        If shape or dtype are neither of the two.
    ImageError
        If a camera image is empty, too wide or too tall.

    """
    if not isinstance(image, (torch.Tensor, np.ndarray)):
        raise ShapeError('expected an RGB image as a uint8 array [H, W, 3] or a floating tensor '
                         f'[3, H, W], got {type(image).__name__}')
    if isinstance(image, np.ndarray):
        return preprocess(image, image_size, patch_px).to(device).float() / 255
    shape = list(image.shape)
    if not image.is_floating_point() or len(shape) != 3 or shape[0] != 3:
        raise ShapeError(f'expected a floating RGB tensor [3, H, W] in [0, 1], got {image.dtype} '
                         f'{shape}; camera images go in as uint8 arrays [H, W, 3]')
    if shape[1] % patch_px or shape[2] % patch_px or 0 in shape:
        raise ShapeError(f'expected height and width in multiples of {patch_px}, got {shape[1]} '
                         f'x {shape[2]}; resize it, or push a uint8 array')
    return image.to(device, torch.float32)


class Intake:
    """
    Takes the images of one stream, which are of one size.

    Parameters
    ----------
    image_size, patch_px : int
        See `network_input`.
    device : torch.device
        Where the results live.

    Attributes
    ----------
    size : tuple of int or None
        Height and width of the network input; None before the first image, and to allow another.

    Raises
    ------
    ConfigError
        If image_size is not a multiple of the patch side.

    """

    def __init__(self, image_size: int, patch_px: int, device: torch.device) -> None:
        near = round(image_size / patch_px) * patch_px or patch_px
        require(image_size % patch_px == 0, 'image_size must be a multiple of the patch side '
                f'({patch_px}), got {image_size}; {near} would do')
        self._settings = (image_size, patch_px, device)
        self.size: tuple[int, int] | None = None

    def accept(self, image: AnyImage) -> torch.Tensor:
        """
        Turn an image into network input; see `network_input`.

        Raises
        ------
        ShapeError
            If shape or dtype are wrong, or the size is another one than before.
        ImageError
            If a camera image is empty, too wide or too tall.

        """
        pixels = network_input(image, *self._settings)
        size = (pixels.shape[1], pixels.shape[2])
        if self.size is not None and size != self.size:
            raise ShapeError(f'expected frames of {self.size[0]} x {self.size[1]} (height x '
                             f'width after resizing) in this stream, got {size[0]} x {size[1]}; '
                             'call reset() to begin a new one')
        self.size = size
        return pixels
