# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bags, folders and videos as streams of frames; no ROS import."""

from __future__ import annotations

from pathlib import Path

from lingbot_ros.errors import SourceError
from lingbot_ros.sources.bag import BagSource
from lingbot_ros.sources.bag_files import is_storage, storage_files, STORAGE_SUFFIXES
from lingbot_ros.sources.base import Source
from lingbot_ros.sources.folder import FolderSource
from lingbot_ros.sources.video import VIDEO_SUFFIXES, VideoSource

__all__ = ['BagSource', 'FolderSource', 'Source', 'VideoSource', 'open_source']


def open_source(path: str | Path, topic: str | None = None, fps: float | None = None) -> Source:
    """
    Open a recording as a source of frames; what the path is decides how it is read.

    Parameters
    ----------
    path : str or Path
        rosbag2 folder, .db3 or .mcap file (also .zstd), ROS 1 .bag, folder of pictures, or video
        file.
    topic : str or None
        Image topic of a bag; None takes the only one there is. Not allowed for folders and videos.
    fps : float or None
        Frames a second for the stamps of folders and videos; None takes what these say, else 30.
        Not allowed for bags, whose images have stamps.

    Returns
    -------
    Source
        Iterate it for frames; use it as a context manager.

    Raises
    ------
    SourceError
        One line that says what is wrong with the path, the recording or the topic.

    """
    where = Path(path)
    if not where.exists():
        raise SourceError(f'{where}: no such file or folder')
    if (where / 'metadata.yaml').is_file() or (storage_files(where) if where.is_dir()
                                               else is_storage(where)):
        if fps is not None:
            raise SourceError(f'{where}: a bag has its own stamps; leave out --fps')
        return BagSource(where, topic)
    if topic is not None:
        raise SourceError(f'{where}: only bags have topics; leave out --topic {topic}')
    if where.is_dir():
        return FolderSource(where, fps)
    if where.suffix.lower() in VIDEO_SUFFIXES:
        return VideoSource(where, fps)
    raise SourceError(f'{where}: neither a bag ({", ".join(STORAGE_SUFFIXES)}), nor a folder of '
                      f'pictures, nor a video ({", ".join(VIDEO_SUFFIXES[:5])}, ...)')
