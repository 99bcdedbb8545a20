# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A camera inside a box whose walls are painted with sines of random direction: exact images,
depths and poses without a file. Lengths are scene units; the room is about 4 of them wide.
"""

from __future__ import annotations

from lingbot_ros.geometry.rigid import make_transform
from lingbot_ros.geometry.rotation import matrix_from_rotation_vector, quat_xyzw_from_matrix
import numpy as np
import torch

SIZE = (84, 112)
K = np.array([[70.0, 0, 56], [0, 70, 42], [0, 0, 1]])
ROOM = np.array([[-2.0, -1.2, -1.5], [2.0, 1.2, 3.5]])


def pose(x: float = 0, y: float = 0, z: float = 0, turn=(0.0, 0.0, 0.0)) -> np.ndarray:
    """T_world_camera, optical axes; turn is a rotation vector in radians."""
    return make_transform(matrix_from_rotation_vector(turn), [x, y, z])


def encoding(T_world_camera: np.ndarray) -> torch.Tensor:
    """Pose encoding of a pose, as the camera head makes it."""
    fov = 2 * np.arctan([SIZE[0] / 2 / K[1, 1], SIZE[1] / 2 / K[0, 0]])
    return torch.tensor([*T_world_camera[:3, 3], *quat_xyzw_from_matrix(T_world_camera[:3, :3]),
                         *fov], dtype=torch.float32)


class BoxRoom:
    """One painted room; another seed is another place."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        waves = 60
        direction = rng.standard_normal((waves, 3))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        frequency = np.exp(rng.uniform(np.log(2), np.log(25), waves))
        self._waves = direction * frequency[:, None]
        self._phase = rng.uniform(0, 2 * np.pi, (3, waves))
        self._height = frequency**-0.5

    def render(self, T_world_camera: np.ndarray, noise: float = 0.0, seed: int = 0,
               K: np.ndarray = K, size: tuple[int, int] = SIZE
               ) -> tuple[torch.Tensor, torch.Tensor]:
        """Image float32 [3, H, W] of 256 grey levels, and depth along z, float32 [H, W]."""
        v, u = np.mgrid[:size[0], :size[1]] + 0.5
        rays = np.stack([(u - K[0, 2]) / K[0, 0], (v - K[1, 2]) / K[1, 1], np.ones(size)], -1)
        along = rays @ T_world_camera[:3, :3].T
        centre = T_world_camera[:3, 3]
        with np.errstate(divide='ignore'):
            depth = np.maximum((ROOM[0] - centre) / along, (ROOM[1] - centre) / along).min(-1)
        points = centre + depth[..., None] * along
        angle = (points @ self._waves.T).astype(np.float32)
        # sin(angle + phase) of three phases by one sine and one cosine.
        height = self._height / np.sqrt(np.square(self._height).sum() / 2)
        paint = (np.sin(angle) @ (np.cos(self._phase) * height).T.astype(np.float32)
                 + np.cos(angle) @ (np.sin(self._phase) * height).T.astype(np.float32))
        image = 0.5 + 0.25 * paint.transpose(2, 0, 1)
        image += noise * np.random.default_rng(seed).standard_normal(image.shape)
        image = np.round(image.clip(0, 1) * 255) / 255
        return torch.from_numpy(image).float(), torch.from_numpy(depth).float()


def blurred(image: torch.Tensor, sigma_px: float) -> torch.Tensor:
    """Gaussian blur, rounded to 256 grey levels."""
    reach = int(3 * sigma_px + 1)
    x = torch.arange(-reach, reach + 1, dtype=torch.float32)
    kernel = torch.exp(-(x / sigma_px)**2 / 2)
    kernel = (kernel / kernel.sum())[None, None, :, None]
    padded = torch.nn.functional.pad(image[None], [reach] * 4, mode='replicate').transpose(0, 1)
    smooth = torch.nn.functional.conv2d(
        torch.nn.functional.conv2d(padded, kernel), kernel.transpose(2, 3))
    return (smooth.transpose(0, 1)[0] * 255).round() / 255
