# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Small bags with known pictures, for the tests of the readers."""

from __future__ import annotations

import cv2
import numpy as np
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import get_typestore, Stores

STORE = get_typestore(Stores.ROS2_HUMBLE)
STORE1 = get_typestore(Stores.ROS1_NOETIC)
START_NS = 1_700_000_000_123_456_789
PERIOD_NS = 33_333_333
SHAPE = (12, 16, 3)


def picture(index, shape=SHAPE):
    """Return a smooth RGB picture that differs with the index."""
    y, x = np.mgrid[0:shape[0], 0:shape[1]]
    return np.stack([8 * x + index, 10 * y + 2 * index, 200 - 5 * x - index], -1).astype(np.uint8)


def stamp_ns(index):
    return START_NS + index * PERIOD_NS


def header(nanoseconds, store=STORE):
    time = store.types['builtin_interfaces/msg/Time'](
        sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)
    extra = {} if store is STORE else {'seq': 0}
    return store.types['std_msgs/msg/Header'](stamp=time, frame_id='camera', **extra)


def image(index, pad=0, encoding='rgb8', nanoseconds=None, store=STORE, rgb=None):
    rgb = picture(index) if rgb is None else rgb
    pixels = rgb if encoding == 'rgb8' else rgb[..., ::-1]
    rows = np.pad(pixels.reshape(pixels.shape[0], -1), ((0, 0), (0, pad)), constant_values=0xAA)
    return store.types['sensor_msgs/msg/Image'](
        header=header(stamp_ns(index) if nanoseconds is None else nanoseconds, store),
        height=pixels.shape[0], width=pixels.shape[1], encoding=encoding, is_bigendian=0,
        step=rows.shape[1], data=rows.reshape(-1))


def compressed(index, kind='.png', format='png', nanoseconds=None, store=STORE):  # noqa: A002
    data = cv2.imencode(kind, picture(index)[..., ::-1])[1].reshape(-1)
    return store.types['sensor_msgs/msg/CompressedImage'](
        header=header(stamp_ns(index) if nanoseconds is None else nanoseconds, store),
        format=format, data=data)


def text(value='x'):
    return STORE.types['std_msgs/msg/String'](data=value)


def write_bag(path, topics, storage='sqlite3', mode=None, log_offset_ns=5_000_000):
    """
    Write a rosbag2 folder.

    `topics` maps a topic to its messages; an empty list needs a (type, []) pair. Messages are
    recorded 5 ms after `stamp_ns(position)`, so log times differ from stamps.
    """
    writer = Writer(path, version=9, storage_plugin=StoragePlugin[storage.upper()])
    if mode:
        writer.set_compression(CompressionMode[mode.upper()], CompressionFormat.ZSTD)
    with writer:
        for topic, messages in topics.items():
            msgtype, messages = messages if isinstance(messages, tuple) else (
                messages[0].__msgtype__, messages)
            connection = writer.add_connection(topic, msgtype, typestore=STORE)
            for position, message in enumerate(messages):
                raw = message if isinstance(message, bytes) else STORE.serialize_cdr(
                    message, msgtype)
                writer.write(connection, stamp_ns(position) + log_offset_ns, raw)
    return path


def write_bag1(path, topic, messages):
    with Writer1(path) as writer:
        msgtype = messages[0].__msgtype__
        connection = writer.add_connection(topic, msgtype, typestore=STORE1)
        for position, message in enumerate(messages):
            writer.write(connection, stamp_ns(position), STORE1.serialize_ros1(message, msgtype))
    return path
