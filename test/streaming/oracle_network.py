# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A network that knows the truth: the poses and depths of a painted room, for the session around it.

It runs the real aggregator, so that caches fill as they do, and answers in a world of its own for
every segment: the first anchor is the origin, and the unit depends on it. Which world a frame is
answered in, it reads from the first key of the camera head's cache; so an answer is right only if
the caches are.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from box_room import BoxRoom, encoding, SIZE
from lingbot_ros import CameraHeadConfig, DepthHeadConfig, EncoderConfig, Network, NetworkConfig
from lingbot_ros.geometry.rigid import invert_transform
from lingbot_ros.model.random_weights import fill_random
import numpy as np
import torch

SMALL = NetworkConfig(
    width=32, blocks=4, heads=2, taps=(0, 1, 2, 3), encoder=EncoderConfig(kind='conv'),
    camera=CameraHeadConfig(blocks=1, heads=1),
    depth=DepthHeadConfig(channels=(4, 4, 4, 4), features=8))
UNITS = (1.0, 1.6, 0.7, 1.2, 2.1, 0.5, 0.9)


@dataclass
class Truth:
    """What was rendered, by the bytes of its image."""

    poses: list[np.ndarray] = field(default_factory=list)
    depths: list[torch.Tensor] = field(default_factory=list)
    numbers: dict[bytes, int] = field(default_factory=dict)

    def add(self, image: torch.Tensor, T_room_camera: np.ndarray, depth: torch.Tensor) -> None:
        key = image.numpy().tobytes()
        if key in self.numbers:
            return
        self.numbers[key] = len(self.poses)
        self.poses.append(T_room_camera)
        self.depths.append(depth)


def world_of(first: int, anchors: int) -> int:
    """Number of the world that begins with an image, alone or with other anchors."""
    return 2 * (first + 1) + (anchors > 1)


def unit_of(first: int, anchors: int) -> float:
    """Unit of that world, in units of the room."""
    return UNITS[world_of(first, anchors) % len(UNITS)]


class OracleNetwork(Network):
    """Answers the truth about images that were rendered with it; 0.5 units deep about others."""

    def __init__(self, noise: float = 0.0) -> None:
        super().__init__(SMALL)
        fill_random(self)
        self.truth = Truth()
        self.broken = False
        self.noise = noise

    def render(self, room: BoxRoom, T_room_camera: np.ndarray, seed: int = 0) -> torch.Tensor:
        """Image of a room that this network will know."""
        image, depth = room.render(T_room_camera, 0.005, seed)
        self.truth.add(image, T_room_camera, depth)
        return image

    def know(self, image: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        """Answer for an image as for another one."""
        number = self.truth.numbers[like.numpy().tobytes()]
        self.truth.numbers[image.numpy().tobytes()] = number
        return image

    def encode(self, images):
        patches = super().encode(images).clone()
        for row, image in enumerate(images):
            patches[row, :, 0] = self.truth.numbers.get(image.numpy().tobytes(), -1)
        return patches

    def aggregate(self, patches, size, roles, attend):
        taps = super().aggregate(patches, size, roles, attend)
        self._mark(taps, patches, roles)
        return taps

    def aggregate_steps(self, patches, size, roles, attend, taps):
        steps = super().aggregate_steps(patches, size, roles, attend, taps)
        for number, _ in enumerate(steps):
            if number == self.config.blocks - 1:
                self._mark(taps, patches, roles)
            yield

    def pose(self, taps, iterations, memory):
        heads, head_dim = self.config.camera.heads, 2 * self.config.width
        numbers, world = taps[-1][:, 0, 0].int().tolist(), taps[-1][:, 0, 1]
        world = world[:, None, None].expand(-1, heads, head_dim).contiguous()
        for entry in range(iterations * self.config.camera.blocks):
            keys, _ = memory(entry, world, world)
            assert keys.shape[1] >= len(numbers)
        of = int(keys[0, 0, 0])
        assert of >= 0, 'a segment must begin with a first frame'
        for tap in taps:
            tap[:, 0, 1] = of
        rows = [self._encoding(number, of) for number in numbers]
        out = torch.stack(rows)
        return out * float('nan') if self.broken else out

    def depth(self, taps, size):
        depths = []
        for number, world in taps[-1][:, 0, :2].int().tolist():
            truth = self.truth.depths[number] if number >= 0 else torch.full(SIZE, 0.5)
            depths.append(truth * UNITS[world % len(UNITS)])
        depth = torch.stack(depths)
        return depth, torch.full_like(depth, 5.0)

    def _mark(self, taps, patches, roles):
        world = -1
        if roles[0].first:
            world = world_of(int(patches[0, 0, 0]), len(roles))
        for tap in taps:
            tap[:, 0, 0] = patches[:, 0, 0]
            tap[:, 0, 1] = world

    def _encoding(self, number: int, world: int) -> torch.Tensor:
        origin = world // 2 - 1
        T_origin = self.truth.poses[origin] if origin >= 0 else np.eye(4)
        T_room = self.truth.poses[number] if number >= 0 else np.eye(4)
        T = invert_transform(T_origin) @ T_room
        T[:3, 3] *= UNITS[world % len(UNITS)]
        answer = encoding(T)
        rng = np.random.default_rng((number + 1, world))
        answer[:3] += self.noise * torch.from_numpy(rng.standard_normal(3)).float()
        return answer
