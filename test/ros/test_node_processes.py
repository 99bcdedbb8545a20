# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Camera process -> node process -> this process: round trip, drops, services, names, ends."""

import array
import json
import signal
import subprocess
import sys
import time

import cv2
import numpy as np
import pytest
from ros_harness import (
    image_message,
    measured,
    PATIENCE_S,
    REPOSITORY,
    slowness,
    texture,
    wait_until,
)
from weights_maker import write_weights

pytest.importorskip('rclpy')
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import CompressedImage, Image
from std_srvs.srv import Trigger

pytestmark = pytest.mark.ros

TINY = {'checkpoint': 'random', 'image_size': 56, 'anchor_frames': 2}

# Real PyTorch work for a time, whatever the machine; {seconds} a frame.
SLOW_NETWORK = """
import time
import lingbot_ros
from lingbot_ros.ros import stream_node
import torch

class SlowSession(lingbot_ros.StreamSession):
    def push(self, image, stamp_ns):
        open('inferring', 'w').close()
        end = time.monotonic() + {seconds}
        while time.monotonic() < end:
            torch.tanh(torch.ones(128, 128) @ torch.ones(128, 128))
        return super().push(image, stamp_ns)

lingbot_ros.StreamSession = SlowSession
stream_node.main()
"""


def stamp_of(message):
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec


def start_camera(env, *arguments):
    here = str(REPOSITORY / 'test' / 'ros')
    return subprocess.Popen(
        [sys.executable, f'{here}/image_publisher.py', *map(str, arguments)], env=env,
        stdout=subprocess.PIPE, text=True, start_new_session=True)


def stamps_sent(camera):
    return [int(line) for line in camera.communicate(timeout=2 * PATIENCE_S)[0].split()]


def test_round_trip_with_a_window_change_and_tf(probe, start_node, tf2_environment, tmp_path):
    node = start_node(tf2_environment, **TINY)
    node.wait_for_log('ready:')
    poses = probe.listen('/lingbot/pose', PoseStamped)
    probe.listen('/diagnostics', DiagnosticArray)
    probe.meet('/lingbot')
    heard = tmp_path / 'heard'
    with heard.open('w') as stream:
        listener = subprocess.Popen(
            [sys.executable, str(REPOSITORY / 'test' / 'ros' / 'tf_listener.py')],
            env=tf2_environment, stdout=stream, start_new_session=True)
    wait_until(lambda: 'ready' in heard.read_text(), 'listener of /tf')
    sent, windows = [], iter((2, 3, 4))

    def share_that_arrived():
        before, begin, window = len(sent), probe.settled_report(), next(windows)
        camera = start_camera(tf2_environment, '/lingbot', 'image', 45, 15, 640, 480)
        count = len(poses)
        wait_until(lambda: len(poses) > count + 10 or camera.poll() is not None, 'poses')
        assert probe.set_parameter('/lingbot', 'window', window).successful
        sent.extend(stamps_sent(camera))
        report = probe.settled_report()
        wait_until(lambda: len(poses) >= int(report['frames_processed']), 'every pose')
        assert report['window'] == str(window)
        stamps = [stamp_of(pose) for pose in poses]
        assert set(stamps) <= set(sent) and stamps == sorted(set(stamps))
        came = int(report['frames_in'])
        assert len(stamps) == int(report['frames_processed'])
        assert len(stamps) + int(report['dropped_busy']) == came <= len(sent)
        return (came - int(begin['frames_in'])) / (len(sent) - before)

    # The shared-memory segment is large enough; with a small one a few of a hundred arrive.
    assert measured(share_that_arrived, lambda share: share > 0.8) > 0.8
    assert node.end()[0] == 0 and 'tf2_msgs' not in node.log

    def lines(topic):
        return [line[1:] for line in map(json.loads, heard.read_text().splitlines())
                if line[0] == topic]

    for topic in ('tf', 'odometry'):
        wait_until(lambda topic=topic: len(lines(topic)) >= len(poses), f'all of {topic}')
    listener.terminate()
    listener.wait(PATIENCE_S)
    transforms = lines('tf')
    assert transforms == lines('odometry')
    assert [line[0] * 10**9 + line[1] for line in transforms] == list(map(stamp_of, poses))
    assert {(line[2], line[3]) for line in transforms} == {('odom', 'camera')}


def test_slow_network_drops_frames_but_stays_fresh_and_answers(probe, start_node):
    node = start_node(program=('-c', SLOW_NETWORK.format(seconds=0.4)), **TINY)
    node.wait_for_log('ready:')
    poses = probe.listen('/lingbot/pose', PoseStamped)
    probe.listen('/diagnostics', DiagnosticArray)
    probe.call('/lingbot/reset', Trigger, Trigger.Request())
    # Meets the services before the clock runs.
    probe.set_parameter('/lingbot', 'path_max_length', 50)
    sent = []

    def run():
        camera = start_camera(node.environment, '/lingbot', 'image', 150, 30, 640, 480)
        count = len(poses)
        wait_until(lambda: len(poses) > count + 2 or camera.poll() is not None, 'poses')
        if len(poses) > count + 2:
            assert probe.report()['state'] == 'tracking'
        took = []
        while camera.poll() is None:
            for call in (lambda: probe.get_parameter('/lingbot', 'window'),
                         lambda: probe.set_parameter('/lingbot', 'path_max_length', 100)):
                begin = time.monotonic()
                call()
                took.append(time.monotonic() - begin)
                time.sleep(0.03)
        begin = time.monotonic()
        assert probe.call('/lingbot/reset', Trigger, Trigger.Request()).success
        took.append(time.monotonic() - begin)
        sent.extend(stamps_sent(camera))
        report = probe.settled_report()
        wait_until(lambda: len(poses) >= int(report['frames_processed']), 'every pose')
        stamps, came = [stamp_of(pose) for pose in poses], int(report['frames_in'])
        assert set(stamps) <= set(sent) and stamps == sorted(stamps) and came <= len(sent)
        assert len(stamps) == int(report['frames_processed'])
        # The anchors of the next world may wait.
        assert came == len(stamps) + int(report['dropped_busy']) + int(
            report['dropped_reset']) + int(report['frames_waiting'])
        new = slice(count + 2, None)
        arrivals = probe.arrival_ns['/lingbot/pose'][new]
        if len(arrivals) < 4:  # the machine gave the node too little time to say anything
            return None
        latency = np.subtract(arrivals, stamps[new]) / 1e9
        period = float(np.median(np.diff(arrivals))) / 1e9
        result = {
            'busy': int(report['dropped_busy']) / len(sent),
            'latency': np.percentile(latency, 95) / period,
            'median answer': np.median(took) / period,
            'answer': np.percentile(took, 95) / period,
            'told latency': float(report['latency_ms_p50']) / np.median(latency) / 1e3}
        print(f'{len(took)} answers, {len(arrivals)} poses, a frame takes {period * 1e3:.0f} ms;',
              ', '.join(f'{name} {value:.2f}' for name, value in result.items()))
        return result

    def good(result):
        if result is None:
            return False
        # A frame waits at most for the one before it; never a queue of old frames. An answer does
        # not wait for the network: one that did would take half a frame on average.
        return (result['busy'] > 0.5 and result['latency'] < 2.3
                and result['median answer'] < 0.2 and result['answer'] < 0.6
                and 0.5 < result['told latency'] < 1.5)

    result = measured(run, good)
    assert good(result), result
    assert node.end()[0] == 0


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_signals_end_it_while_inferring(probe, start_node, number):
    node = start_node(program=('-c', SLOW_NETWORK.format(seconds=600)), **TINY)
    node.wait_for_log('ready:')
    inferring = node.log_file.parent / 'inferring'
    inferring.unlink(missing_ok=True)
    camera = probe.publisher('/image', Image)
    probe.meet('/lingbot')
    camera.publish(image_message(texture(480, 640), 'rgb8', probe.next_stamp()))
    wait_until(inferring.exists, 'image in the network')
    code, seconds = node.end(number)
    print(f'{number.name} while inferring: {seconds:.2f} s')
    assert (code, 'Traceback' in node.log) == (0, False), node.log
    assert seconds < 2 * slowness()


SLOW_LOADER = """
import time
import lingbot_ros
from lingbot_ros.ros import stream_node

def load_network(*arguments):
    open('loading', 'w').close()
    time.sleep(600)

lingbot_ros.load_network = load_network
stream_node.main()
"""


def test_it_answers_and_ends_while_loading(probe, start_node):
    node = start_node(program=('-c', SLOW_LOADER), checkpoint='slow.pt')
    wait_until((node.log_file.parent / 'loading').exists, 'begin of loading')
    assert probe.get_parameter('/lingbot', 'checkpoint') == 'slow.pt'
    answer = probe.call('/lingbot/reset', Trigger, Trigger.Request())
    assert not answer.success and 'loading' in answer.message
    code, seconds = node.end(signal.SIGTERM)
    print(f'SIGTERM while loading: {seconds:.2f} s')
    assert (code, 'Traceback' in node.log) == (0, False), node.log
    assert seconds < 2 * slowness()


@pytest.mark.parametrize(('parameters', 'text'), [
    ({'checkpoint': '""'}, 'no checkpoint: set the parameter checkpoint to embedded'),
    ({'checkpoint': '/nowhere/a.pt'}, '/nowhere/a.pt'),
    ({'checkpoint': 'random', 'window': -1}, 'parameter window'),
    ({'checkpoint': 'random', 'max_keyframes': 4, 'endless': False},
     'max_keyframes must be at least anchor_frames'),
    ({'checkpoint': 'random', 'backend': 'flashinfer', 'device': 'cpu'}, 'flashinfer'),
], ids=['no checkpoint', 'missing file', 'bad parameter', 'contradiction', 'back end'])
def test_bad_settings_end_with_one_fatal_line_and_code_2(start_node, parameters, text):
    node = start_node(**parameters)
    assert node.wait() == 2, node.log
    lines = [line for line in node.log.splitlines() if '[WARN]' not in line]
    assert len(lines) == 1 and '[FATAL]' in lines[0] and text in lines[0], node.log


EMBEDDED_IN = """
from pathlib import Path
from lingbot_ros.model import embedded
from lingbot_ros.ros import stream_node

embedded.weights_folder = lambda: Path({folder!r})
stream_node.main()
"""


def test_without_any_setting_it_runs_the_weights_of_the_package(probe, start_node, tmp_path):
    write_weights(tmp_path, metadata={'lingbot_ros': json.dumps(
        {'stream': {'image_size': 70, 'window': 3, 'anchor_frames': 2}})})
    node = start_node(program=('-c', EMBEDDED_IN.format(folder=str(tmp_path))))
    node.wait_for_log('ready:')
    assert 'image_size 70 (weights), anchor_frames 2 (weights), window 3 (weights)' in node.log
    assert 'embedded weights: a small network' in node.log and 'random' not in node.log
    poses = probe.listen('/lingbot/pose', PoseStamped)
    probe.listen('/diagnostics', DiagnosticArray)
    camera = probe.publisher('/image', Image)
    probe.meet('/lingbot')
    send_until(camera, image_message(texture(), 'rgb8', 0), probe, poses, 3)
    report = probe.report()
    assert (report['checkpoint'], report['random_weights']) == ('embedded', 'false')
    assert report['window'] == '3' and 'window 3 (weights)' in report['settings']
    # One and the same image again and again is not believed for ever.
    assert (report['level'] == b'\x01') == (report['state'] in ('degraded', 'lost'))
    assert node.end()[0] == 0


def send_until(camera, message, probe, poses, count):
    """Publish a message with new stamps until there are `count` poses; returns the stamps."""
    sent = []
    end = time.monotonic() + PATIENCE_S
    while len(poses) < count:
        assert time.monotonic() < end, f'{len(poses)} of {count} poses'
        sent.append(probe.next_stamp())
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(sent[-1], 10**9)
        camera.publish(message)
        time.sleep(0.3)
    return sent


def test_namespace_holds_everything_but_the_shared_topics(probe, start_node):
    node = start_node(namespace='/robot1', **TINY)
    node.wait_for_log('ready:')
    poses = probe.listen('/robot1/lingbot/pose', PoseStamped)
    camera = probe.publisher('/robot1/image', Image)
    probe.meet('/robot1/lingbot')
    send_until(camera, image_message(texture(), 'rgb8', 0), probe, poses, 2)
    names = [name for name, _ in
             probe.node.get_publisher_names_and_types_by_node('lingbot', '/robot1')
             + probe.node.get_subscriber_names_and_types_by_node('lingbot', '/robot1')
             + probe.node.get_service_names_and_types_by_node('lingbot', '/robot1')]
    shared = {'/tf', '/diagnostics', '/rosout', '/parameter_events'}
    assert {'/robot1/image', '/robot1/lingbot/pose', '/robot1/lingbot/reset'} <= set(names)
    assert {name for name in names if not name.startswith('/robot1/')} <= shared
    assert node.end()[0] == 0


def test_compressed_images_beside_a_remapped_topic(probe, start_node):
    node = start_node(extra=('-r', 'image:=/cam/image_raw'), image_transport='compressed', **TINY)
    node.wait_for_log('ready: images from /cam/image_raw/compressed')
    poses = probe.listen('/lingbot/pose', PoseStamped)
    camera = probe.publisher('/cam/image_raw/compressed', CompressedImage)
    probe.meet('/lingbot')
    message = CompressedImage(format='rgb8; jpeg compressed bgr8')
    message.data = array.array('B', cv2.imencode('.jpg', texture(240, 320))[1].tobytes())
    sent = send_until(camera, message, probe, poses, 4)
    assert set(map(stamp_of, poses)) <= set(sent)
    assert node.end()[0] == 0
