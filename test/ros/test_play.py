# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`lingbot_ros play` as a process, heard by a subscriber in another one."""

from __future__ import annotations

from pathlib import Path
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from ros_harness import measured, PATIENCE_S, REPOSITORY, slowness, wait_until

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
    process = start(env, *arguments, '--wait-for-subscriber', PATIENCE_S)
    _, err = process.communicate(timeout=2 * PATIENCE_S)
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
    wait_until(lambda: len(heard) == COUNT, 'all images')
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


def seconds_of(log):
    """Return how long the player says it sent images."""
    return float(re.search(r'images sent on \S+ in ([\d.]+) s', log)[1])


def test_pace_and_clock(ros_environment, probe, tmp_path):
    from rosgraph_msgs.msg import Clock
    bag = write_bag(tmp_path / 'bag', {'/camera': [image(i) for i in range(31)]})
    heard, clock = listen(probe, '/paced'), probe.listen('/clock', Clock)
    arrivals_ns = probe.arrival_ns['/paced']

    def run():
        for messages in (heard, clock, arrivals_ns):
            messages.clear()
        code, err = play(ros_environment, bag, '--to', '/paced', '--clock')
        assert code == 0
        wait_until(lambda: len(heard) == 31, 'all images')
        assert stamps_of(heard) == [stamp_ns(i) for i in range(31)]
        wait_until(lambda: times_of(clock)[-1:] == [stamp_ns(30) + 5_000_000], 'the last time')
        times = times_of(clock)
        # Every image has its time, whatever else the machine does, and no image is early.
        assert times == sorted(times) and times[0] >= stamp_ns(0)
        assert {stamp_ns(i) + 5_000_000 for i in range(31)} <= set(times)
        assert seconds_of(err) >= 1.0  # 30 intervals of 1/30 s
        return abs((arrivals_ns[-1] - arrivals_ns[0]) / 1e9 - 1), len(times)

    late_s, ticks = measured(run, lambda result: result[0] < 0.3 and result[1] > 60)
    assert late_s < 0.3 and ticks > 60


def times_of(clock):
    return [m.clock.sec * 10**9 + m.clock.nanosec for m in clock]


def test_best_effort_subscribers_hear_the_first_and_the_last(ros_environment, probe, tmp_path):
    bag = write_bag(tmp_path / 'bag', {'/camera': [image(i) for i in range(31)]})
    heard = listen(probe, '/effort', reliable=False)

    def run():
        heard.clear()
        assert play(ros_environment, bag, '--to', '/effort', '--rate', '2')[0] == 0
        time.sleep(0.5)
        stamps = stamps_of(heard)
        assert stamps == sorted(set(stamps)) and set(stamps) <= {stamp_ns(i) for i in range(31)}
        return {i for i in range(31) if stamp_ns(i) in stamps}

    numbers = measured(run, lambda got: {0, 30} <= got and len(got) > 25)
    assert {0, 30} <= numbers and len(numbers) > 25


def test_as_fast_as_possible_loses_nothing(ros_environment, probe, tmp_path):
    bag = write_bag(tmp_path / 'bag', {'/camera': [
        image(i, rgb=picture(i, (480, 640, 3))) for i in range(40)]})
    heard = listen(probe, '/fast')
    code, err = play(ros_environment, bag, '--to', '/fast', '--rate', '0')
    # Without acknowledgement each of the 40 would wait 2 s.
    assert code == 0 and seconds_of(err) < 40
    wait_until(lambda: len(heard) == 40, 'all images')
    assert stamps_of(heard) == [stamp_ns(i) for i in range(40)]


def lost(stamp):
    from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
    return DiagnosticStatus(message='lost', values=[
        KeyValue(key='score', value='0'), KeyValue(key='stamp_ns', value=str(stamp))])


def test_with_answers_a_slow_node_skips_nothing(ros_environment, probe, tmp_path):
    from diagnostic_msgs.msg import DiagnosticStatus
    from geometry_msgs.msg import PoseStamped
    from sensor_msgs.msg import Image
    bag = write_bag(tmp_path / 'bag', {'/camera': [image(i) for i in range(8)]})
    poses = probe.node.create_publisher(PoseStamped, '/slow/pose', 10)
    states = probe.node.create_publisher(DiagnosticStatus, '/slow/tracking', 10)
    heard, said = [], []

    def work(message):
        # What came before was answered, and nothing else came meanwhile.
        heard.append((stamps_of([message])[0], len(said)))
        time.sleep(0.1)
        said.append(heard[-1][0])
        if len(said) % 2:
            poses.publish(PoseStamped(header=message.header))
        else:
            states.publish(lost(said[-1]))

    probe.node.create_subscription(Image, '/slow_images', work, 10)
    code, err = play(ros_environment, bag, '--to', '/slow_images', '--rate', '0', '--answers',
                     '/slow')
    assert code == 0 and 'no answer' not in err and seconds_of(err) >= 0.8
    assert heard == [(stamp_ns(i), i) for i in range(8)]


def test_an_answer_that_does_not_come_is_counted(rclpy_context, probe):
    from diagnostic_msgs.msg import DiagnosticStatus
    from lingbot_ros.ros.answers import Answers
    import rclpy
    node = rclpy.create_node('player')
    answers = Answers(node, '/silent')
    publisher = probe.publisher('/silent/tracking', DiagnosticStatus, reliable=True)
    stop = threading.Event()
    publisher.publish(lost(5))
    publisher.publish(DiagnosticStatus(message='no stamp in it'))
    answers.wait_for(5, PATIENCE_S, stop)
    assert answers.missing == 0
    answers.wait_for(6, 0.1, stop)
    assert answers.missing == 1
    stop.set()
    answers.wait_for(7, PATIENCE_S, stop)
    assert answers.missing == 1
    answers.close()
    node.destroy_node()


def test_loop_until_ctrl_c(ros_environment, probe, tmp_path):
    bag = write_bag(tmp_path / 'bag', {'/camera': [image(i) for i in range(3)]})
    heard = listen(probe, '/loop')
    process = start(ros_environment, bag, '--to', '/loop', '--loop')
    wait_until(lambda: len(heard) > 7, 'images of the third round')
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    seconds = time.monotonic() - begin
    assert process.returncode == 0 and 'Traceback' not in err
    assert seconds < 2 * slowness()
    jumps = np.diff(stamps_of(heard))
    assert (jumps < 0).any()


def test_ctrl_c_does_not_wait_for_the_next_image(ros_environment, probe, tmp_path):
    bag = write_bag(tmp_path / 'bag', {'/camera': [image(0), image(1)]})
    heard = listen(probe, '/rare')
    # At this pace the second image is due an hour after the first.
    process = start(ros_environment, bag, '--to', '/rare', '--rate', '1e-5',
                    '--wait-for-subscriber', PATIENCE_S)
    wait_until(lambda: heard, 'the first image')
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0 and '1 images sent' in err and 'Traceback' not in err


def test_zero_stamps_become_the_time_of_recording(ros_environment, probe, tmp_path):
    bag = write_bag(tmp_path / 'bag', {'/camera': [image(i, nanoseconds=0) for i in range(2)]},
                    log_offset_ns=0)
    heard = listen(probe, '/zero')
    assert play(ros_environment, bag, '--to', '/zero')[0] == 0
    wait_until(lambda: len(heard) == 2, 'all images')
    assert stamps_of(heard) == [stamp_ns(0), stamp_ns(1)]


def test_refusals(ros_environment, tmp_path):
    bag = write_bag(tmp_path / 'bag', {'/camera': [image(0)]})
    for arguments, text in (
            ((bag, '--topic', '/x'), 'no topic /x; image topics: /camera'),
            ((bag, '--to', '/alone', '--wait-for-subscriber', '0.3'),
             'no subscriber of /alone within 0.3 s')):
        process = start(ros_environment, *arguments)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 2 and 'Traceback' not in err
        assert [text in line for line in err.splitlines()
                if line.startswith('lingbot_ros: error: ')] == [True], err
