# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Write a held-out sequence with its ground truth: a ROS 2 bag, or a folder of images.

    python -m training.make_data bag --seed 4398046511264 --output test/data/demo/world
    python -m training.make_data folder --seed 1099511627776 --frames 64 --output world_0

A bag holds compressed images and their calibration; beside it lie the true poses. A folder has
the layout that `lingbot_ros evaluate --dataset folder` reads. The same command on the same
machine gives the same pictures.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
import json
import math
from pathlib import Path
import sys
from typing import Any

import cv2
from lingbot_ros.errors import LingbotError
from lingbot_ros.sources.base import exact_fps, frame_stamp_ns
from lingbot_ros.streaming.trajectory import format_stamp, Trajectory, write_tum
import numpy as np
from numpy.typing import NDArray
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import get_typestore, Stores

from training.heldout import TRAINING_SEEDS
from training.worlds import kinds, render

IMAGE_TOPIC = '/camera/image_raw/compressed'
INFO_TOPIC = '/camera/camera_info'
FRAME_ID = 'camera_color_optical_frame'
# Stamps of zero mean that there is none.
_START_NS = 1_000_000_000_000
_AT_ONCE = 8


@dataclass(frozen=True)
class Recording:
    """
    What to write.

    Attributes
    ----------
    seed : int
        Of the sequence; held out, so at least TRAINING_SEEDS.
    frames, first_frame : int
        How many, from which on.
    height, width : int
        Of the images, pixels.
    rate : float
        Frames a second; stamps alone depend on it.
    quality : int
        Of the JPEG images in a bag, 1 to 100; a folder holds PNG.
    samples : int
        Rays a pixel and axis.

    Raises
    ------
    LingbotError
        The seed is one that training draws, or a number is out of its range.

    """

    seed: int
    frames: int = 165
    first_frame: int = 0
    height: int = 480
    width: int = 640
    rate: float = 15.0
    quality: int = 70
    samples: int = 2

    def __post_init__(self) -> None:
        if self.seed < TRAINING_SEEDS:
            raise LingbotError(f'seed {self.seed} may be one that training draws; choose one of '
                               f'at least {TRAINING_SEEDS} (training/heldout.py)')
        for name in ('frames', 'height', 'width', 'samples', 'quality'):
            if self.__dict__[name] < 1:
                raise LingbotError(f'{name} must be at least 1, got {self.__dict__[name]}')
        if self.first_frame < 0 or self.quality > 100:
            raise LingbotError('first_frame must not be negative and quality at most 100, got '
                               f'{self.first_frame} and {self.quality}')
        if not (math.isfinite(self.rate) and self.rate > 0):
            raise LingbotError(f'rate must be a positive number, got {self.rate}')

    def stamp_ns(self, index: int) -> int:
        """Return the stamp of a frame, counted from 0."""
        return _START_NS + frame_stamp_ns(index, exact_fps(self.rate))

    def pictures(self) -> Iterator[tuple[int, NDArray[np.uint8], NDArray[np.float64]]]:
        """Yield stamp, RGB image [H, W, 3] and T_world_camera [4, 4] of each frame."""
        for start in range(0, self.frames, _AT_ONCE):
            part = render([self.seed], min(_AT_ONCE, self.frames - start), self.height, self.width,
                          first_frame=self.first_frame + start, samples=self.samples)
            images = part.images[0].permute(0, 2, 3, 1).numpy()
            poses = part.T_world_camera[0].double().numpy()
            for offset, (image, pose) in enumerate(zip(images, poses, strict=True)):
                yield self.stamp_ns(start + offset), image, pose

    def calibration(self) -> dict[str, Any]:
        """Return the intrinsics, as calib.json holds them."""
        fov = render([self.seed], 1, self.height, self.width).fov[0].double()
        focal = self.width / 2 / math.tan(float(fov[1]) / 2)
        # Pixel centres lie at whole numbers, so the middle of the image is half a pixel less.
        cx, cy = (self.width - 1) / 2, (self.height - 1) / 2
        return {'width': self.width, 'height': self.height, 'channels': 3,
                'camera_model': 'pinhole', 'distortion_model': 'plumb_bob',
                'fx': focal, 'fy': focal, 'cx': cx, 'cy': cy,
                'K': [focal, 0.0, cx, 0.0, focal, cy, 0.0, 0.0, 1.0], 'D': [0.0] * 5}

    def note(self, command: str, form: str) -> str:
        """Return the page that says where the data come from."""
        scene, motion = kinds([self.seed])[0]
        return (
            f'# A rendered sequence: {scene}, {motion}\n\n'
            f'{form}: {self.frames} frames of {self.width} x {self.height} at {self.rate:g} Hz, '
            f'with the true poses of the camera (TUM\nformat, camera to world, optical axes: x '
            'right, y down, z forward) and its intrinsics (`calib.json`, pixel centres at\nwhole '
            f'numbers). Made by `training/worlds` from seed {self.seed}, which training never '
            'draws (`training/heldout.py`):\n\n```sh\n'
            f'{command}\n```\n\n'
            'Everything in it was computed; no recording, model or picture of others went in.\n'
            'Licence: Apache-2.0, as the code.\n')


def _new_folder(path: Path) -> None:
    if path.exists():
        raise LingbotError(f'{path} exists; choose another --output or remove it')
    path.parent.mkdir(parents=True, exist_ok=True)


def write_bag(recording: Recording, output: Path, command: str) -> None:
    """
    Write a rosbag2 folder (MCAP), with groundtruth.tum, calib.json and README.md in it.

    Parameters
    ----------
    recording : Recording
        What to write.
    output : Path
        The folder; must not exist.
    command : str
        For README.md: how it was made.

    Raises
    ------
    LingbotError
        The folder exists.

    """
    _new_folder(output)
    calibration = recording.calibration()
    store = get_typestore(Stores.ROS2_HUMBLE)
    types = store.types
    image_type, info_type = 'sensor_msgs/msg/CompressedImage', 'sensor_msgs/msg/CameraInfo'
    matrix = np.array(calibration['K'])
    truth = Trajectory()
    with Writer(output, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        images = writer.add_connection(IMAGE_TOPIC, image_type, typestore=store)
        infos = writer.add_connection(INFO_TOPIC, info_type, typestore=store)
        for stamp_ns, image, pose in recording.pictures():
            seconds, nanoseconds = divmod(stamp_ns, 1_000_000_000)
            header = types['std_msgs/msg/Header'](
                stamp=types['builtin_interfaces/msg/Time'](sec=seconds, nanosec=nanoseconds),
                frame_id=FRAME_ID)
            _, data = cv2.imencode('.jpg', cv2.cvtColor(image, cv2.COLOR_RGB2BGR),
                                   [cv2.IMWRITE_JPEG_QUALITY, recording.quality])
            message = types[image_type](header=header, format='jpeg', data=data.reshape(-1))
            writer.write(images, stamp_ns, store.serialize_cdr(message, image_type))
            info = types[info_type](
                header=header, height=recording.height, width=recording.width,
                distortion_model='plumb_bob', d=np.zeros(5), k=matrix,
                r=np.eye(3).reshape(-1),
                p=np.hstack([matrix.reshape(3, 3), np.zeros((3, 1))]).reshape(-1),
                binning_x=0, binning_y=0,
                roi=types['sensor_msgs/msg/RegionOfInterest'](
                    x_offset=0, y_offset=0, height=0, width=0, do_rectify=False))
            writer.write(infos, stamp_ns, store.serialize_cdr(info, info_type))
            truth.append(stamp_ns, pose)
    write_tum(output / 'groundtruth.tum', truth)
    (output / 'calib.json').write_text(json.dumps(calibration, indent=1) + '\n')
    (output / 'README.md').write_text(recording.note(command, 'A ROS 2 bag'))


def write_folder(recording: Recording, output: Path, command: str) -> None:
    """
    Write images/, timestamps.txt, groundtruth.txt, calib.json and SOURCE.md.

    Parameters
    ----------
    recording : Recording
        What to write.
    output : Path
        The folder; must not exist.
    command : str
        For SOURCE.md: how it was made.

    Raises
    ------
    LingbotError
        The folder exists.

    """
    _new_folder(output)
    (output / 'images').mkdir(parents=True)
    truth, lines = Trajectory(), ['# timestamp file\n']
    for index, (stamp_ns, image, pose) in enumerate(recording.pictures()):
        name = f'images/{index:06d}.png'
        cv2.imwrite(str(output / name), cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
        lines.append(f'{format_stamp(stamp_ns)} {name}\n')
        truth.append(stamp_ns, pose)
    (output / 'timestamps.txt').write_text(''.join(lines))
    write_tum(output / 'groundtruth.txt', truth)
    (output / 'calib.json').write_text(json.dumps(recording.calibration(), indent=1) + '\n')
    (output / 'SOURCE.md').write_text(recording.note(command, 'A folder of images'))


def main(arguments: list[str] | None = None) -> int:
    """
    Run the command line.

    Parameters
    ----------
    arguments : list of str or None
        Without the program's name; None takes those of the process.

    Returns
    -------
    int
        0, or 1 after a message about what was refused.

    """
    words = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(prog='python -m training.make_data',
                                     description='Write a held-out sequence with its truth.')
    parser.add_argument('form', choices=('bag', 'folder'))
    parser.add_argument('--output', type=Path, required=True, help='new folder')
    parser.add_argument('--seed', type=int, required=True, help='see training/heldout.py')
    parser.add_argument('--frames', type=int, default=165)
    parser.add_argument('--first-frame', type=int, default=0)
    parser.add_argument('--height', type=int, default=480, help='pixels')
    parser.add_argument('--width', type=int, default=640, help='pixels')
    parser.add_argument('--rate', type=float, default=15.0, help='frames a second')
    parser.add_argument('--quality', type=int, default=70, help='of JPEG images in a bag')
    parser.add_argument('--samples', type=int, default=2, help='rays a pixel and axis')
    chosen = vars(parser.parse_args(words))
    form, output = chosen.pop('form'), chosen.pop('output')
    command = ' '.join(['python -m training.make_data', *words])
    try:
        (write_bag if form == 'bag' else write_folder)(Recording(**chosen), output, command)
    except (LingbotError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    size = sum(path.stat().st_size for path in output.rglob('*') if path.is_file())
    print(f'{output}: {chosen["frames"]} frames, {size / 1e6:.1f} MB')
    return 0


if __name__ == '__main__':
    sys.exit(main())
