# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`lingbot_ros play` as a process, heard by a subscriber in another one."""

from __future__ import annotations

from pathlib import Path
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from ros_harness import REPOSITORY, wait_until

sys.path.insert(0, str(Path(__file__).parents[1] / 'sources'))
from bag_maker import (
    compressed,
    image,
    picture,
    stamp_ns,
    STORE1,
    write_bag,
    write_bag1,
)

pytestmark = pytest.mark.ros
COUNT = 12


def start(env, *arguments):
    return subprocess.Popen(
        [sys.executable, '-m', 'lingbot_ros', 'play', *map(str, arguments)], env=env,
        cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True)


def play(env, *arguments):
    process = start(env, *arguments, '--wait-for-subscriber', '15')
    _, err = process.communicate(timeout=60)
    assert 'Traceback' not in err, err
    return process.returncode, err


def stamps_of(messages):
    return [m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for m in messages]


def listen(probe, topic, **options):
    from sensor_msgs.msg import Image
    return probe.listen(topic, Image, **options)


@pytest.mark.parametrize('kind', ['raw', 'compressed', 'ros1'])
def test_every_image_with_its_stamp(ros_environment, probe, tmp_path, kind):
    if kind == 'ros1':
        bag = write_bag1(tmp_path / 'a.bag', '/camera',
                         [image(i, encoding='bgr8', pad=5, store=STORE1) for i in range(COUNT)])
    else:
        make = {'raw': lambda i: image(i, encoding='bgr8', pad=5), 'compressed': compressed}[kind]
        bag = write_bag(tmp_path / 'bag', {'/camera': [make(i) for i in range(COUNT)]}, 'mcap')
    heard = listen(probe, f'/play_{kind}')
    code, err = play(ros_environment, bag, '--to', f'/play_{kind}', '--rate', '2')
    assert code == 0 and f'{COUNT} images sent on /play_{kind}' in err
    wait_until(lambda: len(heard) == COUNT, 5, 'all images')
    assert stamps_of(heard) == [stamp_ns(i) for i in range(COUNT)]
    for i, message in enumerate(heard):
        rows = np.frombuffer(message.data, np.uint8).reshape(message.height, message.step)
        pixels = rows[:, :3 * message.width].reshape(message.height, message.width, 3)
        if kind == 'compressed':
            assert (message.encoding, message.step) == ('rgb8', 48)
        else:
            assert (message.encoding, message.step) == ('bgr8', 53)
            pixels = pixels[..., ::-1]
        np.testing.assert_array_equal(pixels, picture(i))
        assert message.header.frame_id == 'camera'


def test_pace_and_clock(ros_environment, probe, tmp_path):
    from rosgraph_msgs.msg import Clock
    bag = write_bag(tmp_path / 'bag', {'/camera': [image(i) for i in range(31)]})
    heard = listen(probe, '/paced', reliable=False)
    clock = probe.listen('/clock', Clock)
    code, _ = play(ros_environment, bag, '--to', '/paced', '--clock')
    assert code == 0
    wait_until(lambda: len(heard) == 31, 5, 'all images')
    span = (probe.arrival_ns['/paced'][-1] - probe.arrival_ns['/paced'][0]) / 1e9
    assert 0.9 < span < 1.4  # 30 intervals of 1/30 s
    times = [m.clock.sec * 10**9 + m.clock.nanosec for m in clock]
    assert len(times) > 50 and times == sorted(times)
    assert stamp_ns(0) <= times[0] and times[-1] == stamp_ns(30) + 5_000_000


def test_as_fast_as_possible_loses_nothing(ros_environment, probe, tmp_path):
    bag = write_bag(tmp_path / 'bag', {'/camera': [
        image(i, rgb=picture(i, (480, 640, 3))) for i in range(40)]})
    heard = listen(probe, '/fast')
    begin = time.monotonic()
    code, _ = play(ros_environment, bag, '--to', '/fast', '--rate', '0')
    assert code == 0 and time.monotonic() - begin < 20
    wait_until(lambda: len(heard) == 40, 5, 'all images')
    assert stamps_of(heard) == [stamp_ns(i) for i in range(40)]


def test_loop_until_ctrl_c(ros_environment, probe, tmp_path):
    bag = write_bag(tmp_path / 'bag', {'/camera': [image(i) for i in range(3)]})
    heard = listen(probe, '/loop')
    process = start(ros_environment, bag, '--to', '/loop', '--loop')
    wait_until(lambda: len(heard) > 7, 15, 'images of the third round')
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=10)
    assert process.returncode == 0 and time.monotonic() - begin < 2 and 'Traceback' not in err
    jumps = np.diff(stamps_of(heard))
    assert (jumps < 0).any()


def test_zero_stamps_become_the_time_of_recording(ros_environment, probe, tmp_path):
    bag = write_bag(tmp_path / 'bag', {'/camera': [image(i, nanoseconds=0) for i in range(2)]},
                    log_offset_ns=0)
    heard = listen(probe, '/zero')
    assert play(ros_environment, bag, '--to', '/zero')[0] == 0
    wait_until(lambda: len(heard) == 2, 5, 'all images')
    assert stamps_of(heard) == [stamp_ns(0), stamp_ns(1)]


def test_refusals(ros_environment, tmp_path):
    bag = write_bag(tmp_path / 'bag', {'/camera': [image(0)]})
    for arguments, text in (
            ((bag, '--topic', '/x'), 'no topic /x; image topics: /camera'),
            ((bag, '--to', '/alone', '--wait-for-subscriber', '0.3'),
             'no subscriber of /alone within 0.3 s')):
        process = start(ros_environment, *arguments)
        _, err = process.communicate(timeout=30)
        assert process.returncode == 2 and 'Traceback' not in err
        assert [text in line for line in err.splitlines()
                if line.startswith('lingbot_ros: error: ')] == [True], err
