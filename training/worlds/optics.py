# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a camera makes of the light: blur, vignetting, exposure, flicker, noise, 8 bits."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn import functional

from training.worlds.draws import Draws, Tensor
from training.worlds.stage import Stage

# Along the motion, and on a ring for what is out of focus.
_TAPS = ((-0.5, 0.0, 0.9), (-0.25, 0.9, -0.2), (0.0, 0.0, 0.0), (0.25, -0.9, 0.2),
         (0.5, 0.0, -0.9))


@dataclass(frozen=True, eq=False)
class Camera:
    """
    Properties of the cameras, tensors [B], and of each frame, [B, S].

    Attributes
    ----------
    gain : Tensor
        [B, S], exposure.
    adapt : Tensor
        [B], how far the exposure follows the brightness of the picture, 0 to 1.
    flicker, bands, beat : Tensor
        [B], [B], [B, S]: strength, bands a picture and phase of light that flickers.
    vignette, noise, defocus, shutter, gamma, black : Tensor
        [B].
    white : Tensor
        [B, 3], gains of the channels.
    grey : Tensor
        bool [B].

    """

    gain: Tensor
    adapt: Tensor
    flicker: Tensor
    bands: Tensor
    beat: Tensor
    vignette: Tensor
    noise: Tensor
    defocus: Tensor
    shutter: Tensor
    gamma: Tensor
    black: Tensor
    white: Tensor
    grey: Tensor


def camera_of(draws: Draws, stage: Stage, frames: Tensor, clean: bool) -> Camera:
    """
    Choose the cameras of a batch.

    Parameters
    ----------
    draws : Draws
        Random numbers of the batch.
    stage : Stage
        The worlds.
    frames : Tensor
        int64 [S], frame numbers.
    clean : bool
        An ideal camera: only the choice of grey is left.

    Returns
    -------
    Camera
        Its properties.

    """
    time = frames.to(torch.float32)
    ones = torch.ones(draws.count, device=draws.device)
    grey = draws.chance('grey', 0.15)
    if clean:
        even = torch.ones(draws.count, len(frames), device=draws.device)
        return Camera(gain=even, adapt=0 * ones, flicker=0 * ones, bands=ones, beat=0 * even,
                      vignette=0 * ones, noise=0 * ones, defocus=0 * ones, shutter=0 * ones,
                      gamma=ones,
                      black=0 * ones, white=torch.ones(draws.count, 3, device=draws.device),
                      grey=grey)

    def sometimes(name: str, probability: float, high: float) -> Tensor:
        value = draws.unit(name)
        return torch.where(value < probability, value / probability * high, 0.0)

    drift = sometimes('drift', 0.5, 0.3).unsqueeze(1)
    swing = (draws.log_uniform('drift_rate', 0.01, 0.15).unsqueeze(1) * time
             + 6.2832 * draws.unit('drift_phase').unsqueeze(1)).sin()
    gain = draws.log_uniform('exposure', 0.7, 1.5).unsqueeze(1) * torch.exp(drift * swing)
    beat = 6.2832 * (draws.uniform('flicker_rate', 0.05, 0.5).unsqueeze(1) * time % 1
                     + draws.unit('flicker_phase').unsqueeze(1))
    white = torch.stack([draws.uniform('white_a', 0.9, 1.1), ones,
                         draws.uniform('white_b', 0.9, 1.1)], -1)
    return Camera(
        gain=gain, adapt=0.5 + 0.45 * draws.unit('adapt'),
        flicker=sometimes('flicker', 0.25, 0.12),
        bands=draws.uniform('flicker_rows', 0.0, 2.5), beat=beat,
        vignette=sometimes('vignette', 0.6, 0.45),
        noise=draws.log_uniform('noise', 0.002, 0.03),
        defocus=0.35 + sometimes('defocus', 0.4, 1.1), shutter=sometimes('shutter', 0.6, 0.6),
        gamma=draws.uniform('gamma', 0.75, 1.25), black=sometimes('black', 0.3, 0.08),
        white=white, grey=grey)


def _as_int32(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value


def _noise_bits(keys: Tensor, height: int, width: int) -> Tensor:
    """Return 32 random bits for each pixel: int32 [F, H, W] from the frames' keys."""
    place = torch.arange(height * width, dtype=torch.int32, device=keys.device)
    bits = (place * _as_int32(0x9E3779B1)).view(1, height, width)
    bits = bits ^ keys.to(torch.int32).view(-1, 1, 1)
    bits = bits * _as_int32(0x7FEB352D)
    bits ^= (bits >> 15) & 0x1FFFF
    bits = bits.mul_(_as_int32(0x846CA68B))
    bits ^= (bits >> 16) & 0xFFFF
    return bits


def expose(colour: Tensor, camera: Camera, flow: Tensor, keys: Tensor, clean: bool) -> Tensor:
    """
    Turn light into images.

    Parameters
    ----------
    colour : Tensor
        float32 [F, 3, H, W]; overwritten.
    camera : Camera
        With fields [F] and [F, 3].
    flow : Tensor
        float32 [F, 2], way of the picture from this frame to the next, in half pictures.
    keys : Tensor
        int64 [F], random bits of the frames.
    clean : bool
        Neither blur, nor noise, nor anything else but grey and 8 bits.

    Returns
    -------
    Tensor
        uint8 [F, 3, H, W].

    """
    frames, _, height, width = colour.shape
    if not clean:
        ys = torch.linspace(-1 + 1 / height, 1 - 1 / height, height, device=colour.device)
        xs = torch.linspace(-1 + 1 / width, 1 - 1 / width, width, device=colour.device)
        step = (flow * camera.shutter.unsqueeze(1)).clamp(-0.06, 0.06)
        # Blur is a part of the picture, whatever its size: so many pixels of 256.
        spread = camera.defocus * 2 / 256
        total = torch.zeros_like(colour)
        for along, right, below in _TAPS:
            shift_x = along * step[:, 0] + right * spread
            shift_y = along * step[:, 1] + below * spread * width / height
            grid = torch.empty(frames, height, width, 2, device=colour.device)
            grid[..., 0] = xs + shift_x[:, None, None]
            grid[..., 1] = ys[:, None] + shift_y[:, None, None]
            total += functional.grid_sample(colour, grid, padding_mode='border',
                                            align_corners=False)
        # Exposure follows the picture, as cameras do.
        mean = total.mean((1, 2, 3)) * 0.2
        follow = (0.42 / mean.clamp(min=0.02)) ** camera.adapt
        radius = (xs * xs)[None, :] + (ys * ys)[:, None]
        shine = 1 - camera.vignette[:, None, None] * 0.5 * radius
        rows = (6.2832 * camera.bands[:, None] * ys + camera.beat[:, None]).sin()
        shine = shine * ((1 + camera.flicker[:, None] * rows)
                         * (camera.gain * follow)[:, None]).unsqueeze(2)
        colour = total.mul_(0.2).mul_(shine.unsqueeze(1))
        colour.mul_(camera.white[:, :, None, None]).clamp_(min=1e-6)
        # Bright light saturates softly.
        colour = colour.mul_(1.1).div_((1 + (colour / 1.1) ** 3) ** (1 / 3))
        colour = colour.pow_(camera.gamma[:, None, None, None])
        black = camera.black[:, None, None, None]
        colour = colour.mul_(1 - black).add_(black)
    luma = 0.3 * colour[:, 0] + 0.59 * colour[:, 1] + 0.11 * colour[:, 2]
    colour = torch.where(camera.grey[:, None, None, None], luma.unsqueeze(1), colour)
    if not clean:
        bits = _noise_bits(keys, height, width)
        for channel in range(3):
            # Grey cameras have one sensor: the same noise in all channels.
            shift = torch.where(camera.grey, 0, 10 * channel).to(torch.int32)[:, None, None]
            value = ((bits >> shift) & 1023).to(torch.float32).sub_(511.5)
            colour[:, channel].addcmul_(value, camera.noise[:, None, None] * (3.4641 / 1024))
    return colour.mul_(255).add_(0.5).clamp_(0, 255).to(torch.uint8)
