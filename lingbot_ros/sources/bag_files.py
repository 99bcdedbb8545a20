# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Files of a bag and the messages in them, on top of the `rosbags` library; knows no images.

rosbag2 folders are read file by file, because `metadata.yaml` is often missing or lists splits
that were not copied along: what is there is read. Compression is told by content, not by metadata:
a zstd frame starts with bytes that no CDR message starts with.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
import logging
from pathlib import Path, PurePath
import shutil
import struct
import sys
from tempfile import TemporaryDirectory
from typing import Any

import apsw
from lingbot_ros.errors import SourceError
from lingbot_ros.sources.base import one_line
from rosbags import rosbag1, rosbag2
from rosbags.interfaces import Connection, ConnectionExtRosbag2
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_log = logging.getLogger(__name__)

_ZSTD_MAGIC = b'\x28\xb5\x2f\xfd'
STORAGE_SUFFIXES = ('.db3', '.mcap', '.bag', '.db3.zstd', '.mcap.zstd')

# What rosbags lets through when a file is damaged: its own errors, those of the storage and of
# zstd, and those of parsing bytes that are not what they should be.
BROKEN_FILE_ERRORS = (
    rosbag1.ReaderError, rosbag2.ReaderError, apsw.Error, zstd.ZstdError, struct.error, OSError,
    EOFError, ValueError, TypeError, LookupError, AssertionError, MemoryError, OverflowError)


@dataclass(frozen=True)
class Topic:
    """
    A topic of a bag.

    Attributes
    ----------
    name, msgtype : str
        Type in the form 'package/msg/Name'.
    count : int
        Messages in the files that are there.
    encoding : str
        Serialization: 'cdr', 'ros1', or what the file says ('json', ...).

    """

    name: str
    msgtype: str
    count: int
    encoding: str


def full_type(name: str) -> str:
    """Return a type name as 'package/msg/Name'; old bags and ROS 1 leave out 'msg'."""
    parts = name.split('/')
    return f'{parts[0]}/msg/{parts[1]}' if len(parts) == 2 else name


def is_storage(path: Path) -> bool:
    """Tell by its name whether a file is a bag's."""
    return path.name.endswith(STORAGE_SUFFIXES)


def storage_files(path: Path) -> list[Path]:
    """
    Return the storage files of a bag in their order.

    Parameters
    ----------
    path : Path
        A storage file, or a rosbag2 folder with or without metadata.yaml.

    Returns
    -------
    list of Path
        Empty when a folder is no bag. Splits that metadata.yaml lists and that are missing are
        left out, with one warning.

    Raises
    ------
    SourceError
        metadata.yaml is broken, or none of the files it lists exists.

    """
    if path.is_file():
        return [path]
    metadata = path / 'metadata.yaml'
    if metadata.is_file():
        try:
            content = YAML(typ='safe', pure=True).load(metadata.read_text(errors='replace'))
            listed = content['rosbag2_bagfile_information']['relative_file_paths']
            # Old versions list paths with the bag's folder in front.
            files = [path / PurePath(str(name)).name for name in listed]
        except (YAMLError, OSError, KeyError, TypeError, ValueError) as error:
            raise SourceError(f'{metadata}: is no rosbag2 metadata: {one_line(error)}') from error
        present = [f for f in files if f.is_file()]
        if not present:
            raise SourceError(f'{path}: none of the {len(files)} files listed in metadata.yaml '
                              f'is there, first {files[0].name if files else "(none listed)"}')
        if len(present) < len(files):
            _log.warning('%s: %d of the %d files in metadata.yaml are missing; reading %s',
                         path, len(files) - len(present), len(files),
                         ', '.join(f.name for f in present[:3]))
        return present
    found = [f for f in path.iterdir() if f.is_file() and is_storage(f) and f.suffix != '.bag']
    return sorted(found, key=lambda f: (len(f.name), f.name))  # bag_2 before bag_10


class BagFiles:
    """
    Open storage files of one bag, read one after the other.

    Parameters
    ----------
    files : list of Path
        rosbag2 files (.db3, .mcap, also .zstd), or ROS 1 bags.

    Raises
    ------
    SourceError
        A file cannot be opened; one line with the reason.

    """

    def __init__(self, files: list[Path]) -> None:
        self._stack = ExitStack()
        self._readers: list[tuple[Path, Any]] = []
        self.is_ros1 = files[0].suffix == '.bag'
        for path in files:
            try:
                self._readers.append((path, self._open(path)))
            except BROKEN_FILE_ERRORS as error:
                self.close()
                raise SourceError(f'{path}: cannot be read as a bag: {_explain(error)}') from error

    def _open(self, path: Path) -> Any:
        if path.stat().st_size == 0:
            raise EOFError('the file is empty')
        if path.suffix == '.zstd':
            folder = self._stack.enter_context(TemporaryDirectory(prefix='lingbot_ros_'))
            plain = Path(folder) / path.stem
            with zstd.open(path, 'rb') as packed, plain.open('wb') as out:
                shutil.copyfileobj(packed, out)
            path = plain
        reader = rosbag1.Reader(path) if self.is_ros1 else rosbag2.Reader(path)
        return self._stack.enter_context(reader)

    def topics(self) -> list[Topic]:
        """Return the topics of all files, sorted by name, counts added up."""
        found: dict[str, Topic] = {}
        for _, reader in self._readers:
            for connection in reader.connections:
                before = found.get(connection.topic)
                count = connection.msgcount + (before.count if before else 0)
                found[connection.topic] = Topic(
                    connection.topic, full_type(connection.msgtype), count,
                    _serialization(connection))
        return [found[name] for name in sorted(found)]

    def messages(self, topic: str) -> Iterator[tuple[int, bytes]]:
        """
        Yield the messages of a topic in the order of the bag.

        Yields
        ------
        tuple of int and bytes
            Log time in nanoseconds, and the serialized message, decompressed.

        Raises
        ------
        SourceError
            A file breaks off; what came before was yielded.

        """
        for path, reader in self._readers:
            connections = [c for c in reader.connections if c.topic == topic]
            if not connections:
                continue
            try:
                for _, log_ns, data in reader.messages(connections):
                    raw = bytes(data)
                    yield log_ns, zstd.decompress(raw) if raw[:4] == _ZSTD_MAGIC else raw
            except BROKEN_FILE_ERRORS as error:
                raise SourceError(f'{path.name} breaks off: {_explain(error)}') from error

    def close(self) -> None:
        """Close the files and remove what was unpacked."""
        self._readers.clear()
        self._stack.close()


def _serialization(connection: Connection) -> str:
    ext = connection.ext
    return ext.serialization_format if isinstance(ext, ConnectionExtRosbag2) else 'ros1'


def _explain(error: BaseException) -> str:
    """Add to a reader's message what its user can do about it."""
    text = one_line(error) if isinstance(error, Exception) else str(error)
    if 'Profile is not ros2' in text:
        return 'the MCAP file holds no ROS 2 messages (its profile is not ros2)'
    if 'end magic' in text or 'not indexed' in text:
        return (f'{text} The file is cut off or its recording was interrupted; repair it first '
                "('mcap recover' or 'rosbag reindex')")
    if isinstance(error, (AssertionError, TypeError, LookupError, struct.error, EOFError)):
        return f'damaged content ({type(error).__name__}: {text})'
    return text
