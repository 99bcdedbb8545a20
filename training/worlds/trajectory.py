# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Paths of the cameras: smooth, without end, and inside the free region of their world.

Every pose is a function of the frame number, a sum of sines of it: frame i does not depend on how
many frames are asked for. A path around (orbit, table), a loop (driving in a room or on open
ground), a walk along a canyon and a sum of sines per axis are all computed; each sequence takes
the one of its kind.
"""

from __future__ import annotations

import math

import torch

from training.worlds.draws import Draws, Tensor
from training.worlds.stage import (
    DRIVING,
    DRONE,
    HANDHELD,
    OPEN,
    ORBIT,
    pick,
    REST,
    ROTATION,
    Stage,
    TABLE,
)

_DEGREE = math.pi / 180
_WAVES = 3
_TABLE = 1


def _sines(unit: Tensor, rate: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
    """
    Sum three sines to a smooth signal in [-1, 1], and its derivative.

    `unit` [B, 3 * _WAVES] are random numbers, `rate` [B] the angle a frame of the slowest sine,
    `tau` [B, S] the time in frames.
    """
    weight, factor, phase = (unit[:, None, i::3] for i in range(3))
    octave = torch.tensor([1.0, 1.9, 3.3], device=tau.device)
    weight = (0.5 + weight) / octave
    weight = weight / weight.sum(-1, keepdim=True)
    speed = rate[:, None, None] * octave * (0.8 + 0.4 * factor)
    angle = speed * tau.unsqueeze(-1) + 2 * math.pi * phase
    return (weight * angle.sin()).sum(-1), (weight * speed * angle.cos()).sum(-1)


def _speed(draws: Draws, stage: Stage) -> Tensor:
    """Return the typical way a frame, in units: [B]."""
    low = pick(stage.scene, 0.006, 0.012, 0.03, 0.02, 0.004)
    high = pick(stage.scene, 0.10, 0.18, 0.5, 0.3, 0.055)
    fast = torch.where(stage.motion == DRIVING, 1.8, 1.0)
    return fast * low * torch.exp(torch.log(high / low) * draws.unit('speed'))


def rotation_of(yaw: Tensor, pitch: Tensor, roll: Tensor) -> Tensor:
    """Return R_world_camera [..., 3, 3]: turn about y, then tilt up, then roll (radians)."""
    cy, sy, cp, sp = yaw.cos(), yaw.sin(), pitch.cos(), pitch.sin()
    cr, sr = roll.cos(), roll.sin()
    rows = [cy * cr + sy * sp * sr, sy * sp * cr - cy * sr, sy * cp,
            cp * sr, cp * cr, -sp,
            cy * sp * sr - sy * cr, sy * sr + cy * sp * cr, cy * cp]
    return torch.stack(rows, -1).unflatten(-1, (3, 3))


def camera_path(draws: Draws, stage: Stage, frames: Tensor) -> Tensor:
    """
    Return the poses of the cameras.

    Parameters
    ----------
    draws : Draws
        Random numbers of the batch.
    stage : Stage
        The worlds.
    frames : Tensor
        int64 [S], frame numbers.

    Returns
    -------
    Tensor
        float32 [B, S, 4, 4], T_world_camera, OpenCV axes.

    """
    def col(value: Tensor) -> Tensor:
        return value.unsqueeze(-1)

    unit = draws.table(_TABLE, 12 * 3 * _WAVES).unflatten(-1, (12, 3 * _WAVES))
    time = frames.to(torch.float32).unsqueeze(0)
    motion = stage.motion
    still = (motion == REST) | (motion == ROTATION)
    orbit = (motion == ORBIT) | (stage.scene == TABLE)

    # Time runs unevenly in half of the sequences, down to a halt.
    warp_rate = draws.log_uniform('warp_rate', 0.02, 0.2)
    depth = torch.where(draws.chance('warp', 0.5), 2 * draws.unit('warp') * 0.97, 0.0)
    tau = time + col(depth / warp_rate) * (
        (col(warp_rate) * time + col(6.2832 * draws.unit('warp_phase'))).sin()
        - col(6.2832 * draws.unit('warp_phase')).sin())
    moves = torch.where(still, 0.0, 1.0)
    way = tau * col(moves)

    speed = _speed(draws, stage)
    size = (stage.free_x + stage.free_z) / 2
    rate = torch.clamp(speed / size, max=0.12)
    sway = [_sines(unit[:, i], rate * factor, way)
            for i, factor in enumerate((1.0, 0.8, 1.0))]
    height = col(stage.camera_height) + col(stage.free_y) * sway[1][0]

    # Sums of sines inside the ellipse (their box shrunk, so that its corners are inside too).
    box_x = col(stage.centre_x + 0 * size) + 0.72 * col(stage.free_x) * sway[0][0]
    box_z = col(stage.centre_z) + 0.72 * col(stage.free_z) * sway[2][0]

    # A loop: an ellipse of little aspect, the camera looks along it.
    side = torch.where(draws.chance('direction', 0.5), -1.0, 1.0)
    loop_x, loop_z = 0.95 * stage.free_x, 0.95 * stage.free_z
    loop_x = torch.minimum(loop_x, 1.5 * loop_z)
    loop_z = torch.minimum(loop_z, 1.5 * loop_x)
    turn = torch.clamp(speed / ((loop_x + loop_z) / 2), max=0.045)
    theta = col(6.2832 * draws.unit('theta')) + col(side * turn) * way
    ring_x = col(stage.centre_x) + col(loop_x) * theta.sin()
    ring_z = col(stage.centre_z) + col(loop_z) * theta.cos()
    ring_yaw = torch.atan2(col(side * loop_x) * theta.cos(), -col(side * loop_z) * theta.sin())

    # Around the centre, looking at it; half of those that are no orbit swing to and fro.
    pace = torch.clamp(speed / stage.radius, max=0.06)
    swing = torch.where((motion != ORBIT) | draws.chance('turn_kind', 0.3),
                        draws.uniform('turn_kind', 0.4, 2.5), 0.0)
    to_fro, _ = _sines(unit[:, 3], pace / (swing + 0.01), way)
    around = torch.where(col(swing) > 0, col(swing) * to_fro, col(side * pace) * way)
    around = around + col(6.2832 * draws.unit('theta'))
    breathe, _ = _sines(unit[:, 4], pace * 1.5, way)
    reach = col(stage.radius) * (1 + 0.05 * breathe + torch.where(
        stage.scene == TABLE, 0.15, 0.0).unsqueeze(-1) * breathe)
    orbit_x, orbit_z = reach * around.sin(), reach * around.cos()

    # Along a canyon.
    walk_z = col(stage.centre_z) + col(speed) * way
    walk_x = col(stage.centre_x) + col(stage.free_x) * _sines(
        unit[:, 5], torch.clamp(0.25 * speed / stage.free_x, max=0.1), way)[0]
    slope = col(stage.free_x) * _sines(
        unit[:, 5], torch.clamp(0.25 * speed / stage.free_x, max=0.1), way)[1]
    walk_yaw = torch.atan2(slope, col(speed))

    drives = motion == DRIVING
    x, z = box_x, box_z
    heading = torch.zeros_like(way)
    for chosen, new_x, new_z, new_yaw in (
            (drives, ring_x, ring_z, ring_yaw), (orbit, orbit_x, orbit_z, heading),
            (stage.canyon, walk_x, walk_z, walk_yaw)):
        x = torch.where(col(chosen), new_x, x)
        z = torch.where(col(chosen), new_z, z)
        heading = torch.where(col(chosen), new_yaw, heading)
    y = -height

    yaw, pitch, roll = _gaze(draws, stage, unit, time, tau, heading)
    look = orbit
    target_y = -torch.where(stage.scene == TABLE, stage.table_height,
                            torch.where(stage.scene == OPEN, 0.6, 0.35) * stage.camera_height)
    to_centre = torch.atan2(-x, -z)
    down = torch.atan2(y - col(target_y), torch.hypot(x, z))
    yaw = torch.where(col(look), to_centre + 0.12 * yaw, yaw)
    pitch = torch.where(col(look), down + 0.25 * pitch, pitch)

    # The hand, the engine, the rotors: quick and small.
    hand = pick_motion(motion, 1.0, 0.35, 0.3, 0.3, 0.0, 0.15)
    jolt = torch.where(motion == REST, 0.0004 * draws.unit('rest_jitter'),
                       hand * 0.22 * draws.unit('shake') * torch.clamp(speed, max=0.06))
    jolt = torch.where(motion == ROTATION, 0.025 * draws.unit('shake') ** 2, jolt)
    twist = torch.where(motion == REST, 0.02 * draws.unit('rest_jitter'),
                        hand * 0.7 * draws.unit('shake_turn')) * _DEGREE
    beat = torch.full_like(speed, 0.45)
    shake = [_sines(unit[:, 6 + i], beat, time)[0] for i in range(6)]
    place = torch.stack([x + col(jolt) * shake[0], y + col(jolt) * shake[1],
                         z + col(jolt) * shake[2]], -1)
    turn_by = rotation_of(yaw + col(twist) * shake[3], pitch + col(twist) * shake[4],
                          roll + col(twist) * shake[5])
    pose = torch.zeros(*place.shape[:2], 4, 4, device=place.device)
    pose[..., :3, :3] = turn_by
    pose[..., :3, 3] = place
    pose[..., 3, 3] = 1
    return pose


def pick_motion(motion: Tensor, *values: float) -> Tensor:
    """Return for each sequence the number of its motion: float32 [B]."""
    return torch.tensor(values, device=motion.device)[motion]


def _gaze(draws: Draws, stage: Stage, unit: Tensor, time: Tensor, tau: Tensor,
          heading: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return yaw, pitch and roll [B, S] in radians of cameras that look freely."""
    motion = stage.motion

    def col(value: Tensor) -> Tensor:
        return value.unsqueeze(-1)

    rest = motion == REST
    turns = motion == ROTATION
    along = (motion == DRIVING) | stage.canyon
    pace = torch.where(rest, 0.0, draws.log_uniform('yaw_rate', 0.08, 3.2))
    pace = torch.where(turns, 0.3 + 3.7 * draws.unit('yaw_rate'), pace)
    swing = draws.uniform('yaw_swing', 10.0, 160.0)
    swing = torch.where(along & ~turns, 3 + 32 * draws.unit('yaw_swing') ** 2, swing)
    swing = torch.where(along & (motion == DRIVING), 0.35 * swing, swing)
    pace = torch.minimum(pace, 0.12 * swing)
    clock = torch.where(col(rest | turns), time, tau)
    waves, _ = _sines(draws.table(2, 9), pace / swing, clock)
    spin = torch.where(turns & draws.chance('turn_kind', 0.5),
                       torch.where(draws.chance('direction', 0.5), -1.0, 1.0) * pace, 0.0)
    base = 2 * math.pi * draws.unit('yaw')
    # Along a way most look ahead, some sideways or back.
    aside = torch.where(draws.chance('gaze_kind', 0.72), 0.15 * (draws.unit('gaze') - 0.5),
                        2 * math.pi * draws.unit('gaze'))
    base = torch.where(along, aside, base)
    yaw = heading + col(base) + _DEGREE * torch.where(
        col(spin) != 0, col(spin) * time, col(swing) * waves)

    level = draws.uniform('pitch', -14.0, 8.0)
    level = torch.where(along, 0.4 * level, level)
    level = torch.where(stage.drone & stage.outdoor, -8 - 32 * draws.unit('pitch'), level)
    nod = draws.uniform('pitch_swing', 0.5, 16.0) * pick_motion(motion, 1, 0.2, 0.7, 1, 0, 1.7)
    nod_pace = torch.minimum(draws.log_uniform('pitch_rate', 0.03, 1.2), 0.12 * nod)
    nods, _ = _sines(draws.table(3, 9), nod_pace / (nod + 1e-3), clock)
    pitch = _DEGREE * (col(level) + col(nod) * nods)

    tilt = torch.where(draws.chance('roll', 0.12) & ((motion == HANDHELD) | (motion == DRONE)),
                       28.0, 7.0)
    tilt = tilt * draws.unit('roll_swing') * pick_motion(motion, 1, 0.15, 0.8, 0.6, 0.5, 3.0)
    lean, _ = _sines(draws.table(4, 9), torch.minimum(
        nod_pace / (tilt + 1e-3), torch.full_like(tilt, 0.12)), clock)
    roll = _DEGREE * torch.where(col(rest), col(tilt), col(tilt) * lean)
    return yaw, pitch, roll
