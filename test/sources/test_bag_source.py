# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bags written here with known pictures, whole and damaged, read back."""

from __future__ import annotations

import logging
import shutil

from bag_maker import (
    compressed,
    image,
    PERIOD_NS,
    picture,
    stamp_ns,
    STORE1,
    text,
    write_bag,
    write_bag1,
)
from lingbot_ros.errors import SourceError
from lingbot_ros.sources import open_source
import numpy as np
import pytest

IMAGE = 'sensor_msgs/msg/Image'


def read(path, topic=None):
    with open_source(path, topic) as source:
        return source, list(source)


def check(frames, count=4):
    assert [f.stamp_ns for f in frames] == [stamp_ns(i) for i in range(count)]
    for i, frame in enumerate(frames):
        np.testing.assert_array_equal(frame.image, picture(i))
        assert frame.frame_id == 'camera'


@pytest.mark.parametrize('storage, mode', [
    ('sqlite3', None), ('sqlite3', 'file'), ('sqlite3', 'message'),
    ('mcap', None), ('mcap', 'file'), ('mcap', 'message'), ('mcap', 'storage')])
@pytest.mark.parametrize('kind', ['image', 'padded', 'compressed'])
def test_storages_and_compressions(tmp_path, storage, mode, kind):
    make = {'image': image, 'padded': lambda i: image(i, pad=7, encoding='bgr8'),
            'compressed': compressed}[kind]
    bag = write_bag(tmp_path / 'bag', {'/camera': [make(i) for i in range(4)],
                                       '/chatter': [text()]}, storage, mode)
    source, frames = read(bag)
    check(frames)
    assert (source.topic, source.len_hint, source.dropped, source.incomplete) == (
        '/camera', 4, 0, '')
    assert '/camera' in source.describe() and str(bag) in source.describe()
    # The storage file alone, without the folder's metadata.
    (file,) = [p for p in bag.iterdir() if p.name != 'metadata.yaml']
    check(read(file)[1])
    (bag / 'metadata.yaml').unlink()
    check(read(bag)[1])


def test_reading_twice_gives_the_same(tmp_path):
    bag = write_bag(tmp_path / 'bag', {'/camera': [image(i) for i in range(3)]})
    with open_source(bag) as source:
        check(list(source), 3)
        check(list(source), 3)


@pytest.mark.parametrize('make', [image, compressed])
def test_ros1_bag(tmp_path, make):
    bag = write_bag1(tmp_path / 'old.bag', '/camera',
                     [make(i, store=STORE1) for i in range(4)])
    check(read(bag)[1])


def test_splits_in_their_order_and_missing_ones(tmp_path, caplog):
    bag = tmp_path / 'bag'
    bag.mkdir()
    for part in range(12):
        one = write_bag(tmp_path / f'part{part}', {'/camera': [image(part)]}, 'mcap')
        shutil.copy(one / f'part{part}.mcap', bag / f'bag_{part}.mcap')
    check(read(bag)[1], 12)  # without metadata.yaml: 2 before 10
    names = '\n'.join(f'    - bag/bag_{i}.mcap' for i in range(12))
    (bag / 'metadata.yaml').write_text(
        f'rosbag2_bagfile_information:\n  version: 1\n  relative_file_paths:\n{names}\n')
    check(read(bag)[1], 12)
    (bag / 'bag_0.mcap').unlink()
    (bag / 'bag_5.mcap').unlink()
    frames = read(bag)[1]
    assert [f.stamp_ns for f in frames] == [stamp_ns(i) for i in range(12) if i not in (0, 5)]
    assert '2 of the 12 files in metadata.yaml are missing' in caplog.text
    for file in bag.glob('*.mcap'):
        file.unlink()
    with pytest.raises(SourceError, match='none of the 12 files listed in metadata.yaml'):
        open_source(bag)


def test_topics_are_chosen_or_listed(tmp_path):
    bag = write_bag(tmp_path / 'bag', {
        '/left': [image(0)], '/right/compressed': [compressed(0)], '/empty': (IMAGE, []),
        '/chatter': [text()]})
    with pytest.raises(SourceError, match=(
            r'2 image topics, choose one with --topic: /left \(sensor_msgs/msg/Image, 1\), '
            r'/right/compressed \(sensor_msgs/msg/CompressedImage, 1\)')):
        open_source(bag)
    assert len(read(bag, '/left')[1]) == len(read(bag, 'right/compressed')[1]) == 1
    with pytest.raises(SourceError, match=r'no topic /lefd; image topics: /empty .*, /left'):
        open_source(bag, '/lefd')
    with pytest.raises(SourceError, match=r'topic /chatter is of type std_msgs/msg/String; image'):
        open_source(bag, '/chatter')
    with pytest.raises(SourceError, match=r'topic /empty has no messages'):
        open_source(bag, '/empty')


def test_an_empty_topic_does_not_hide_the_only_filled_one(tmp_path):
    bag = write_bag(tmp_path / 'bag', {'/a': (IMAGE, []), '/b': [image(0)]})
    assert read(bag)[0].topic == '/b'


@pytest.mark.parametrize('storage', ['sqlite3', 'mcap'])
def test_bags_without_images(tmp_path, storage):
    bag = write_bag(tmp_path / 'bag', {'/chatter': [text()]}, storage)
    with pytest.raises(SourceError, match='no image topic; expected .* holds std_msgs/msg/String'):
        open_source(bag)
    bag = write_bag(tmp_path / 'empty', {'/camera': (IMAGE, [])}, storage)
    with pytest.raises(SourceError, match='topic /camera has no messages'):
        open_source(bag)
    bag = write_bag(tmp_path / 'nothing', {}, storage)
    with pytest.raises(SourceError, match='no image topic; .* holds no topics'):
        open_source(bag)


def test_undecodable_images_are_dropped_and_counted(tmp_path, caplog):
    short = image(1)
    short.data = short.data[:50]
    strange = image(2)
    strange.encoding = 'h264'
    bag = write_bag(tmp_path / 'bag', {'/camera': [image(0), short, strange, image(3)]})
    source, frames = read(bag)
    assert [f.stamp_ns for f in frames] == [stamp_ns(0), stamp_ns(3)] and source.dropped == 2
    assert "unknown encoding 'h264'" in caplog.text and 'at least 576 bytes' in caplog.text


def test_a_topic_of_depth_only_says_so(tmp_path, caplog):
    depth = [image(i) for i in range(9)]
    for message in depth:
        message.encoding = '16UC1'
    bag = write_bag(tmp_path / 'bag', {'/depth': depth})
    with pytest.raises(SourceError, match="/depth: none of 9 frames .*'16UC1' is a depth map"):
        read(bag)
    assert len([r for r in caplog.records if 'dropped:' in r.message]) == 5  # then only counted
    assert '9 frames dropped in all' in caplog.text


def test_damaged_messages_are_dropped(tmp_path):
    from bag_maker import STORE
    good = STORE.serialize_cdr(image(0), IMAGE)
    bag = tmp_path / 'bag'
    write_bag(bag, {'/camera': (IMAGE, [bytes(good), bytes(good[:20]), b'', bytes(good)])})
    source, frames = read(bag)
    assert len(frames) == 2 and source.dropped == 2


def test_zero_stamps_fall_back_to_the_time_of_recording(tmp_path, caplog):
    bag = write_bag(tmp_path / 'bag', {'/camera': [image(i, nanoseconds=0) for i in range(3)]},
                    log_offset_ns=7)
    frames = read(bag)[1]
    assert [f.stamp_ns for f in frames] == [stamp_ns(i) + 7 for i in range(3)]
    assert caplog.text.count('messages without a stamp') == 1


def test_order_is_the_bags_even_when_stamps_jump_back(tmp_path):
    stamps = [stamp_ns(0), stamp_ns(5), stamp_ns(2), stamp_ns(2), stamp_ns(3)]
    bag = write_bag(tmp_path / 'bag', {
        '/camera': [image(i, nanoseconds=s) for i, s in enumerate(stamps)]}, 'mcap')
    assert [f.stamp_ns for f in read(bag)[1]] == stamps
    assert stamps[1] - stamps[0] == 5 * PERIOD_NS


@pytest.mark.parametrize('storage', ['sqlite3', 'mcap'])
def test_every_cut_gives_frames_or_one_line(tmp_path, storage):
    frames = 30
    bag = write_bag(tmp_path / 'bag', {'/camera': [image(i, rgb=picture(i, (48, 64, 3)))
                                                   for i in range(frames)]}, storage)
    (file,) = [p for p in bag.iterdir() if p.name != 'metadata.yaml']
    whole = file.read_bytes()
    for size in [0, 1, 7, 8, 37, 100, 600, 4096, *range(5000, len(whole), len(whole) // 12)]:
        file.write_bytes(whole[:size])
        try:
            source, got = read(bag)
        except SourceError as error:
            assert '\n' not in str(error) and len(str(error)) > 20
        else:
            assert 0 < len(got) < frames or source.dropped == 0
            assert len(got) == frames or source.incomplete or source.dropped


@pytest.mark.parametrize('storage, mode', [
    ('sqlite3', None), ('mcap', None), ('mcap', 'message'), ('ros1', None)])
def test_random_damage_gives_frames_or_one_line(tmp_path, storage, mode):
    logging.disable(logging.CRITICAL)
    if storage == 'ros1':
        file = bag = write_bag1(tmp_path / 'a.bag', '/camera',
                                [image(i, store=STORE1) for i in range(6)])
    else:
        bag = write_bag(tmp_path / 'bag', {'/camera': [image(i) for i in range(6)]}, storage, mode)
        (file,) = [p for p in bag.iterdir() if p.name != 'metadata.yaml']
    whole = np.frombuffer(file.read_bytes(), np.uint8)
    rng = np.random.default_rng(11)
    try:
        for _ in range(60):
            broken = whole.copy()
            at = rng.integers(0, len(whole), 40)
            broken[at] = rng.integers(0, 256, 40)
            file.write_bytes(broken.tobytes())
            try:
                read(bag)
            except SourceError as error:
                assert '\n' not in str(error)
    finally:
        logging.disable(logging.NOTSET)


def test_broken_metadata(tmp_path):
    bag = write_bag(tmp_path / 'bag', {'/camera': [image(0)]})
    for content in ('rosbag2_bagfile_information: 3', ': :\n- [', '', '[1, 2]'):
        (bag / 'metadata.yaml').write_text(content)
        with pytest.raises(SourceError, match='metadata.yaml: is no rosbag2 metadata') as caught:
            open_source(bag)
        assert '\n' not in str(caught.value)


def test_things_that_are_no_bag(tmp_path):
    for name in ('a.db3', 'a.mcap', 'a.bag', 'a.mcap.zstd'):
        (tmp_path / name).write_bytes(b'no bag at all, only text' * 20)
        with pytest.raises(SourceError, match='cannot be read as a bag'):
            open_source(tmp_path / name)
    with pytest.raises(SourceError, match='no such file or folder'):
        open_source(tmp_path / 'nowhere')
    with pytest.raises(SourceError, match='leave out --fps'):
        open_source(write_bag(tmp_path / 'bag', {'/camera': [image(0)]}), fps=10)


def test_unpacked_files_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr('tempfile.tempdir', str(tmp_path))
    bag = write_bag(tmp_path / 'bag', {'/camera': [image(0)]}, 'mcap', 'file')
    with open_source(bag) as source:
        assert list(tmp_path.glob('lingbot_ros_*'))
        assert len(list(source)) == 1
    assert not list(tmp_path.glob('lingbot_ros_*'))
