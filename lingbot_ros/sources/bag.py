# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Images of a bag as a source: rosbag2 (sqlite3, MCAP, zstd) and ROS 1 bags, no ROS needed.

Stamps are those of the message headers, never the time of recording, unless a header has none.
Frames keep the order of the bag, even where their stamps do not ascend.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
import logging
from pathlib import Path
from typing import Any

from lingbot_ros.errors import ImageError, SourceError
from lingbot_ros.imaging.compressed import decode_compressed
from lingbot_ros.imaging.encodings import decode_image
from lingbot_ros.records import Frame
from lingbot_ros.sources.bag_files import (
    BagFiles,
    BROKEN_FILE_ERRORS,
    storage_files,
    Topic,
)
from lingbot_ros.sources.base import Source
from numpy.typing import NDArray
from rosbags.serde import SerdeError
from rosbags.typesys import get_typestore, Stores

_log = logging.getLogger(__name__)

IMAGE_TYPE = 'sensor_msgs/msg/Image'
COMPRESSED_TYPE = 'sensor_msgs/msg/CompressedImage'
_IMAGE_TYPES = (IMAGE_TYPE, COMPRESSED_TYPE)


@dataclass(frozen=True, eq=False)
class ImageMessage:
    """
    One image message, not decoded.

    Attributes
    ----------
    msgtype : str
        IMAGE_TYPE or COMPRESSED_TYPE.
    log_ns, stamp_ns : int
        Time of recording, and stamp of the header (time of recording when the header has none).
    message : object
        The message with the fields of its type, as `rosbags` reads it.
    cdr : bytes or None
        The message as ROS 2 would send it; None for ROS 1 bags.

    """

    msgtype: str
    log_ns: int
    stamp_ns: int
    message: Any
    cdr: bytes | None

    def decode(self) -> NDArray[Any]:
        """Return the picture as RGB uint8 [H, W, 3]; raises ImageError."""
        m = self.message
        if self.msgtype == COMPRESSED_TYPE:
            return decode_compressed(m.data, m.format)
        return decode_image(m.data, m.height, m.width, m.encoding, m.step, m.is_bigendian)


def _listing(topics: list[Topic]) -> str:
    return ', '.join(f'{t.name} ({t.msgtype}, {t.count})' for t in topics)


def choose_topic(path: str, topics: list[Topic], wanted: str | None) -> Topic:
    """
    Choose the image topic to read.

    Parameters
    ----------
    path : str
        Name of the bag, for messages.
    topics : list of Topic
        All topics of the bag.
    wanted : str or None
        Name of a topic; None takes the only image topic there is.

    Returns
    -------
    Topic
        An image topic with at least one message.

    Raises
    ------
    SourceError
        No image topic, several and none chosen, an unknown one, or one without messages. One
        line that lists the image topics.

    """
    images = [t for t in topics if t.msgtype in _IMAGE_TYPES and t.encoding in ('cdr', 'ros1')]
    if not images:
        others = ', '.join(sorted({f'{t.msgtype} as {t.encoding}' if t.encoding not in
                                   ('cdr', 'ros1') else t.msgtype for t in topics}))
        raise SourceError(f'{path}: no image topic; expected {IMAGE_TYPE} or {COMPRESSED_TYPE}, '
                          f'the bag holds {others or "no topics"}')
    if wanted is None:
        filled = [t for t in images if t.count]
        if len(filled) > 1:
            raise SourceError(f'{path}: {len(filled)} image topics, choose one with --topic: '
                              f'{_listing(filled)}')
        chosen = (filled or images)[0]
    else:
        named = [t for t in topics if wanted.lstrip('/') == t.name.lstrip('/')]
        if not named or named[0] not in images:
            what = f'topic {wanted} is of type {named[0].msgtype}' if named else (
                f'no topic {wanted}')
            raise SourceError(f'{path}: {what}; image topics: {_listing(images)}')
        chosen = named[0]
    if not chosen.count:
        raise SourceError(f'{path}: topic {chosen.name} has no messages')
    return chosen


class BagSource(Source):
    """
    Images of one topic of a bag.

    Parameters
    ----------
    path : Path
        rosbag2 folder, .db3 or .mcap file (also .zstd), or ROS 1 .bag.
    topic : str or None
        Image topic; None takes the only one there is.

    Raises
    ------
    SourceError
        The bag cannot be read or has no such images; one line with the reason.

    """

    def __init__(self, path: Path, topic: str | None = None) -> None:
        self._files = BagFiles(storage_files(path))
        try:
            chosen = choose_topic(str(path), self._files.topics(), topic)
        except SourceError:
            self._files.close()
            raise
        super().__init__(str(path), chosen.name, chosen.count)
        self.msgtype = chosen.msgtype
        # The definitions of the image types never changed within ROS 1 or ROS 2, so the ones in
        # the bag (often missing, sometimes broken) are not needed.
        self._store = get_typestore(
            Stores.ROS1_NOETIC if self._files.is_ros1 else Stores.ROS2_HUMBLE)

    def describe(self) -> str:
        """Say in one line what is read."""
        return f'bag {self.name}: topic {self.topic} ({self.msgtype}), {self.len_hint} messages'

    def messages(self) -> Iterator[ImageMessage]:
        """
        Yield the image messages in the order of the bag, without decoding the pictures.

        Messages that are damaged are dropped and logged; a file that breaks off ends the
        iteration with a logged reason in `incomplete`.
        """
        without_stamp = False
        raw_messages = self._files.messages(self.topic)
        number = 0
        while True:
            try:
                log_ns, raw = next(raw_messages)
            except StopIteration:
                return
            except SourceError as error:
                self._break_off(str(error))
                return
            number += 1
            try:
                message = self._deserialize(raw)
                stamp = message.header.stamp
                stamp_ns = stamp.sec * 1_000_000_000 + stamp.nanosec
            except (SerdeError, *BROKEN_FILE_ERRORS) as error:
                self._drop(f'message {number}', error)
                continue
            if stamp_ns == 0:
                if not without_stamp:
                    _log.warning('%s: %s has messages without a stamp; the time of recording is '
                                 'used for those', self.name, self.topic)
                without_stamp = True
                stamp_ns = log_ns
            yield ImageMessage(self.msgtype, log_ns, stamp_ns, message,
                               None if self._files.is_ros1 else raw)

    def _deserialize(self, raw: bytes) -> Any:
        if self._files.is_ros1:
            return self._store.deserialize_ros1(raw, self.msgtype)
        return self._store.deserialize_cdr(raw, self.msgtype)

    def _frames(self) -> Iterator[Frame]:
        for number, item in enumerate(self.messages(), 1):
            try:
                image = item.decode()
            except ImageError as error:
                self._drop(f'image {number}', error)
                continue
            yield Frame(image, item.stamp_ns, item.message.header.frame_id)

    def close(self) -> None:
        """Close the files of the bag."""
        self._files.close()
