# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What is wrong with an image, before a network is asked.

It may be blank, dark, overexposed, blurred, frozen (the same image again), or of another place.

`measure` runs on the image's device and makes five numbers without waiting for the device; the
caller brings them to the host together with the pose. `ImageJudge` knows numbers only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

from lingbot_ros.errors import ShapeError
from lingbot_ros.streaming.running import RunningMedian
import torch
from torch import Tensor
from torch.nn import functional

# Cells of the small image that stands for the whole one, and of its part that is looked for in
# the other image: so far may the scene shift between two frames (20 % of either side).
_CELLS = (24, 40)
_SHIFT = (5, 8)
# Contrast of a neighbourhood of cells that sensor noise does not reach, 0..1 grey.
_TEXTURE = 0.005
# Half a grey level: an image that differs less anywhere is the same image.
_SAME = 0.5 / 255
_TEXTURED_LEAST = 0.02
_TEXTURED_PART = 0.15
_DARK, _BRIGHT = 0.15, 0.85

STATISTICS = 5
"""Numbers that `measure` makes."""


@dataclass(frozen=True)
class ImageStatistics:
    """
    Numbers of one image, on the host.

    Attributes
    ----------
    mean : float
        Grey, 0 to 1.
    textured : float
        Part of the image that shows structure, 0 to 1.
    sharpness : float
        Energy of the finest detail over that of coarse detail; only ratios mean something.
    change : float
        Largest difference of a pixel to the image before, 0 to 1.
    similarity : float
        Correlation of the small image with the reference, allowing a shift; at most 1.

    """

    mean: float
    textured: float
    sharpness: float
    change: float
    similarity: float


@dataclass(frozen=True)
class ImageVerdict:
    """
    Judgement of one image.

    Attributes
    ----------
    fault : str
        'not_finite', 'dark', 'overexposed', 'blank', 'frozen', 'cut', 'blurred', or '' for a good
        image.
    excess : float
        How far the worst measure is beyond its threshold: 1 is at the threshold, 0 is faultless.
    reason : str
        A short phrase with numbers; '' for a good image.

    """

    fault: str
    excess: float
    reason: str

    @property
    def usable(self) -> bool:
        """Whether a stream could be started anew with this image."""
        return self.fault in ('', 'cut', 'blurred')


def small_image(image: Tensor) -> Tensor:
    """
    Shrink an image to grey cells.

    Parameters
    ----------
    image : Tensor of float32, shape [3, H, W]
        RGB in [0, 1], on any device.

    Returns
    -------
    Tensor of float32, shape [24, 40]
        Mean grey of each cell.

    Raises
    ------
    ShapeError
        If it is no floating image of three channels.

    """
    if image.ndim != 3 or image.shape[0] != 3 or not image.is_floating_point():
        raise ShapeError(f'expected a floating image [3, H, W], got {image.dtype} '
                         f'{list(image.shape)}')
    return functional.adaptive_avg_pool2d(image.mean(0)[None], _CELLS)[0]


def measure(image: Tensor, before: Tensor | None, reference: Tensor | None) -> Tensor:
    """
    Measure an image; nothing is brought to the host.

    Parameters
    ----------
    image : Tensor of float32, shape [3, H, W]
        RGB in [0, 1].
    before : Tensor of float32, shape [3, H, W], or None
        The image before it.
    reference : Tensor of float32, shape [24, 40], or None
        `small_image` of the last image that was good.

    Returns
    -------
    Tensor of float32, shape [5]
        On the image's device, in the order of `ImageStatistics`. Without `before` its change is
        1, without a reference its similarity is 1.

    Raises
    ------
    ShapeError
        If the images are not alike.

    """
    if before is not None and before.shape != image.shape:
        raise ShapeError(f'expected an image before of {list(image.shape)}, got '
                         f'{list(before.shape)}')
    cells = small_image(image)
    grey = image.mean(0)
    one = torch.ones((), device=image.device)
    return torch.stack([
        grey.mean(),
        (_spread(cells, 5) > _TEXTURE).float().mean(),
        _detail(grey),
        # An image before that was not finite is none to compare with.
        one if before is None else (image - before).abs().amax().nan_to_num(1.0, 1.0),
        one if reference is None else _similarity(cells, reference),
    ])


def _spread(cells: Tensor, side: int) -> Tensor:
    """Return the standard deviation around each cell."""
    mean = _local_mean(cells, side)
    return (_local_mean(cells.square(), side) - mean.square()).clamp_min(0).sqrt()


def _local_mean(cells: Tensor, side: int) -> Tensor:
    return functional.avg_pool2d(cells[None], side, 1, side // 2, count_include_pad=False)[0]


def _detail(grey: Tensor) -> Tensor:
    """Return the energy of second differences of pixels over first ones of 4 x 4 means."""
    inner = grey[1:-1, 1:-1]
    second = 4 * inner - grey[:-2, 1:-1] - grey[2:, 1:-1] - grey[1:-1, :-2] - grey[1:-1, 2:]
    coarse = functional.avg_pool2d(grey[None], 4)[0]
    first = coarse.diff(dim=0).square().mean() + coarse.diff(dim=1).square().mean()
    return second.square().mean() / (first + 1e-6)


def _similarity(cells: Tensor, reference: Tensor) -> Tensor:
    """Return the best normalised correlation of the middle of one with any place in the other."""
    rows, columns = _SHIFT
    middle = _local_contrast(cells)[rows:-rows, columns:-columns]
    places = functional.unfold(_local_contrast(reference)[None, None], tuple(middle.shape))[0]
    places = places - places.mean(0)
    wanted = (middle - middle.mean()).reshape(-1)
    # The constant keeps images without structure from correlating by their noise.
    correlation = wanted @ places / (wanted.norm() * places.norm(dim=0) + 1e-2)
    return correlation.amax()


def _local_contrast(cells: Tensor) -> Tensor:
    """Remove brightness and contrast that vary slowly: exposure, vignetting, sky over ground."""
    detail = cells - _local_mean(cells, 5)
    return detail / (_local_mean(detail.square(), 9).sqrt() + 0.02)


class ImageJudge:
    """
    Judges the images of one stream by their numbers.

    Parameters
    ----------
    sharpness : float
        Below this part of the usual sharpness an image is blurred.
    similarity : float
        Below this similarity the reference shows another place.
    frozen_frames : int
        Equal images in a row, the first one not counted, that mean a frozen camera; 0 allows any
        number.
    memory_frames : int
        What is usual is the median of so many frames.

    """

    def __init__(self, sharpness: float, similarity: float, frozen_frames: int,
                 memory_frames: int) -> None:
        self._sharpness_part = sharpness
        self._similarity = similarity
        self._frozen_frames = frozen_frames
        self._sharpness = RunningMedian(memory_frames)
        self._textured = RunningMedian(memory_frames)
        self._equal = 0

    def judge(self, statistics: ImageStatistics) -> ImageVerdict:
        """
        Judge the next image.

        Parameters
        ----------
        statistics : ImageStatistics
            Its numbers.

        Returns
        -------
        ImageVerdict
            The gravest fault.

        """
        s = statistics
        if not all(map(math.isfinite, vars(s).values())):
            return ImageVerdict('not_finite', math.inf, 'image has values that are not finite')
        textured, sharpness = self._textured.value, self._sharpness.value
        empty = s.textured < max(_TEXTURED_LEAST, _TEXTURED_PART * (textured or 0.0))
        self._equal = self._equal + 1 if s.change < _SAME else 0
        # What persists becomes usual: fog, dusk or a white wall are no fault for ever. Noise has
        # no sharpness, and a frozen image says nothing new.
        if not self._equal:
            self._textured.add(s.textured)
            if not empty:
                self._sharpness.add(s.sharpness)
        if empty:
            return self._empty(s)
        if self._frozen_frames and self._equal >= self._frozen_frames:
            return ImageVerdict('frozen', self._equal / self._frozen_frames,
                                f'image frozen for {self._equal} frames')
        different = self._similarity / max(s.similarity, 1e-3)
        if different > 1:
            return ImageVerdict('cut', different, 'image of another place: similarity '
                                f'{s.similarity:.2f}, at least {self._similarity:.2f}')
        blur = 0.0
        if sharpness:
            part = s.sharpness / sharpness
            blur = self._sharpness_part / max(part, 1e-3)
            if blur > 1:
                return ImageVerdict('blurred', blur, f'image blurred: sharpness {part:.2f} of the '
                                    f'usual, at least {self._sharpness_part:.2f}')
        return ImageVerdict('', max(different, blur), '')

    def restart(self) -> None:
        """Forget what is usual."""
        self._sharpness.clear()
        self._textured.clear()
        self._equal = 0

    def state(self) -> dict[str, object]:
        """Return all that `restore` needs, of JSON types."""
        return {'sharpness': self._sharpness.values, 'textured': self._textured.values,
                'equal': self._equal}

    def restore(self, sharpness: Sequence[float], textured: Sequence[float], equal: int) -> None:
        """Go on from what `state` returned."""
        self._sharpness.restore(sharpness)
        self._textured.restore(textured)
        self._equal = equal

    def _empty(self, s: ImageStatistics) -> ImageVerdict:
        part = f'structure in {100 * s.textured:.1f} % of it, mean grey {s.mean:.2f}'
        kind = 'dark' if s.mean < _DARK else 'overexposed' if s.mean > _BRIGHT else 'blank'
        return ImageVerdict(kind, math.inf, f'image {kind}: {part}')
