# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Make the bag of the demo from the TUM RGB-D frames listed in ATTRIBUTION.md.

Run as `python test/data/demo/make_bag.py FOLDER`, FOLDER holding timestamps.txt, calib.json,
groundtruth.txt and the images. The same input gives the same bytes.
"""

from __future__ import annotations

import json
from pathlib import Path
import shutil
import sys

import cv2
import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import get_typestore, Stores

HERE = Path(__file__).resolve().parent
JPEG_QUALITY = 80
FRAME_ID = 'camera_color_optical_frame'


def main() -> None:
    """Write the bag and copy the ground truth."""
    folder = Path(sys.argv[1])
    store = get_typestore(Stores.ROS2_HUMBLE)
    types = store.types
    calib = json.loads((folder / 'calib.json').read_text())
    bag = HERE / 'rpy'
    shutil.rmtree(bag, ignore_errors=True)
    with Writer(bag, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        image_type = 'sensor_msgs/msg/CompressedImage'
        info_type = 'sensor_msgs/msg/CameraInfo'
        images = writer.add_connection('/camera/image_raw/compressed', image_type, typestore=store)
        infos = writer.add_connection('/camera/camera_info', info_type, typestore=store)
        for line in (folder / 'timestamps.txt').read_text().splitlines():
            if line.startswith('#'):
                continue
            stamp, name, _ = line.split()
            sec, fraction = stamp.split('.')
            nanosec = int(fraction.ljust(9, '0'))
            time_ns = int(sec) * 1_000_000_000 + nanosec
            header = types['std_msgs/msg/Header'](
                stamp=types['builtin_interfaces/msg/Time'](sec=int(sec), nanosec=nanosec),
                frame_id=FRAME_ID)
            _, data = cv2.imencode('.jpg', cv2.imread(str(folder / name)),
                                   [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
            message = types[image_type](header=header, format='jpeg', data=data.reshape(-1))
            writer.write(images, time_ns, store.serialize_cdr(message, image_type))
            info = types[info_type](
                header=header, height=calib['height'], width=calib['width'],
                distortion_model=calib['distortion_model'], d=np.array(calib['D']),
                k=np.array(calib['K']), r=np.eye(3).reshape(-1),
                p=np.hstack([np.array(calib['K']).reshape(3, 3), np.zeros((3, 1))]).reshape(-1),
                binning_x=0, binning_y=0,
                roi=types['sensor_msgs/msg/RegionOfInterest'](
                    x_offset=0, y_offset=0, height=0, width=0, do_rectify=False))
            writer.write(infos, time_ns, store.serialize_cdr(info, info_type))
    shutil.copyfile(folder / 'groundtruth.txt', HERE / 'groundtruth.tum')


if __name__ == '__main__':
    main()
