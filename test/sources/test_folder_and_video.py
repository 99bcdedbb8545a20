# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Folders of pictures and video files: order, stamps, refusals."""

from __future__ import annotations

from fractions import Fraction

from bag_maker import picture
import cv2
from lingbot_ros.errors import SourceError
from lingbot_ros.sources import open_source
from lingbot_ros.sources.base import exact_fps, frame_stamp_ns
import numpy as np
import pytest


def save(path, index):
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), picture(index)[..., ::-1])


def test_natural_order_and_default_rate(tmp_path):
    for index in (0, 1, 2, 9, 10, 11, 100):
        save(tmp_path / f'frame_{index}.png', index)
    (tmp_path / 'notes.txt').write_text('not a picture')
    (tmp_path / '._frame_1.png').write_bytes(b'resource fork')
    frames = list(open_source(tmp_path))
    for frame, index in zip(frames, (0, 1, 2, 9, 10, 11, 100), strict=True):
        np.testing.assert_array_equal(frame.image, picture(index))
    assert [f.stamp_ns for f in frames[:4]] == [0, 33_333_333, 66_666_667, 100_000_000]
    assert [f.stamp_ns for f in list(open_source(tmp_path, fps=10))[:2]] == [0, 100_000_000]


@pytest.mark.parametrize('where', ['beside', 'inside', 'above'])
def test_timestamps_file(tmp_path, where):
    images = tmp_path / 'images'
    for index in range(3):
        save(images / f'{index:06d}.png', index)
    listing = {'inside': images, 'beside': tmp_path, 'above': tmp_path}[where] / 'timestamps.txt'
    listing.write_text('# timestamp file original_name\n\n' + ''.join(
        f'1403715273.26214297{i} images/{i:06d}.png was_{i}.png\n' for i in range(3)))
    source = open_source(tmp_path if where == 'above' else images)
    assert [f.stamp_ns for f in source] == [1403715273262142970 + i for i in range(3)]
    assert 'stamps from timestamps.txt' in source.describe() and source.len_hint == 3
    assert [f.stamp_ns for f in open_source(images, fps=1)] == [0, 10**9, 2 * 10**9]


def test_timestamps_file_refusals(tmp_path):
    for index in range(3):
        save(tmp_path / f'{index}.png', index)
    listing = tmp_path / 'timestamps.txt'
    listing.write_text('0.0 0.png\n1.0 2.png\n')
    with pytest.raises(SourceError, match='no stamp for 1 of 3 pictures, first 1.png'):
        open_source(tmp_path)
    listing.write_text('0.0 0.png\n2011-09-26 13:02:25.594\n')
    with pytest.raises(SourceError, match=r"line 2: expected 'seconds file', got '2011-09-26"):
        open_source(tmp_path)
    listing.write_text('nan 0.png\n')
    with pytest.raises(SourceError, match="line 1: expected 'seconds file'"):
        open_source(tmp_path)
    listing.write_text('0.0 other.png\n')  # belongs to something else
    assert [f.stamp_ns for f in open_source(tmp_path)][:2] == [0, 33_333_333]


def test_broken_pictures_are_dropped_and_keep_the_stamps_of_the_others(tmp_path, caplog):
    for index in range(4):
        save(tmp_path / f'{index}.png', index)
    (tmp_path / '1.png').write_bytes(b'')
    (tmp_path / '2.png').write_bytes((tmp_path / '3.png').read_bytes()[:60])
    source = open_source(tmp_path, fps=1)
    assert [f.stamp_ns for f in source] == [0, 3 * 10**9] and source.dropped == 2
    assert '1.png dropped: compressed image is empty' in caplog.text
    for name in ('0.png', '3.png'):
        (tmp_path / name).write_bytes(b'')
    with pytest.raises(SourceError, match='none of 4 frames could be decoded: compressed image'):
        list(open_source(tmp_path))


def test_alpha_grey_and_16_bit_pictures(tmp_path):
    grey = picture(0)[..., 0]
    cv2.imwrite(str(tmp_path / '0.png'), grey)
    cv2.imwrite(str(tmp_path / '1.png'), grey.astype(np.uint16) * 257)
    cv2.imwrite(str(tmp_path / '2.png'), np.dstack([picture(0)[..., ::-1], grey * 0]))
    frames = list(open_source(tmp_path))
    np.testing.assert_array_equal(frames[0].image, frames[1].image)
    np.testing.assert_array_equal(frames[2].image, picture(0))


def test_folders_that_hold_nothing(tmp_path):
    with pytest.raises(SourceError, match=r'no pictures \(\.png, .*\) and no bag'):
        open_source(tmp_path)
    (tmp_path / 'run1').mkdir()
    (tmp_path / 'old.bag').write_bytes(b'')
    with pytest.raises(SourceError, match='did you mean one of: old.bag, run1'):
        open_source(tmp_path)
    with pytest.raises(SourceError, match='only bags have topics; leave out --topic /a'):
        open_source(tmp_path, '/a')


def make_video(path, count=12, fps=25, size=(64, 48)):
    code = {'.avi': 'MJPG', '.mp4': 'mp4v'}[path.suffix]
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*code), fps, size)
    if not writer.isOpened():
        pytest.skip(f'this OpenCV cannot write {code}')
    for index in range(count):
        image = np.full((size[1], size[0], 3), 20 * index % 240, np.uint8)
        image[..., 2] = 200  # red
        writer.write(image)
    writer.release()


@pytest.mark.parametrize('suffix', ['.avi', '.mp4'])
def test_video(tmp_path, suffix):
    path = tmp_path / f'v{suffix}'
    make_video(path)
    source = open_source(path)
    frames = list(source)
    assert len(frames) == 12 == source.len_hint
    assert [f.stamp_ns for f in frames] == [i * 40_000_000 for i in range(12)]
    for index, frame in enumerate(frames):
        assert frame.image.shape == (48, 64, 3) and frame.image.dtype == np.uint8
        assert np.abs(frame.image.mean((0, 1)) - (200, 20 * index, 20 * index)).max() < 12
    assert [f.stamp_ns for f in open_source(path, fps=2)][:2] == [0, 5 * 10**8]
    assert len(list(source)) == 12  # again from the start


def test_videos_that_are_none(tmp_path, caplog):
    path = tmp_path / 'v.mp4'
    path.write_bytes(b'nothing' * 100)
    with pytest.raises(SourceError, match='cannot be read as a video'):
        open_source(path)
    (tmp_path / 'v.txt').write_text('hello')
    with pytest.raises(SourceError, match='neither a bag .* nor a folder .* nor a video'):
        open_source(tmp_path / 'v.txt')
    make_video(tmp_path / 'cut.avi', 40)
    whole = (tmp_path / 'cut.avi').read_bytes()
    (tmp_path / 'cut.avi').write_bytes(whole[:len(whole) // 2])
    source = open_source(tmp_path / 'cut.avi')
    assert 0 < len(list(source)) < 40
    with pytest.raises(SourceError, match='frames per second must be above 0, got 0'):
        open_source(tmp_path / 'cut.avi', fps=0)


def test_stamps_from_a_rate_are_exact():
    assert exact_fps(29.97002997002997) == Fraction(30000, 1001)
    assert exact_fps(0.1) == Fraction(1, 10)
    assert frame_stamp_ns(10**6, Fraction(30000, 1001)) == round(
        Fraction(10**15 * 1001, 30000))
    for bad in (0, -1, float('nan'), float('inf')):
        with pytest.raises(SourceError, match='must be above 0'):
            exact_fps(bad)
