# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Camera process -> node process -> this process: round trip, drops, services, names, ends."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from ros_harness import image_message, REPOSITORY, texture, wait_until

pytest.importorskip('rclpy')
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import Image
from std_srvs.srv import Trigger

pytestmark = pytest.mark.ros

TINY = {'checkpoint': 'random', 'image_size': 56, 'anchor_frames': 2}

# Real PyTorch work for 0.15 s a frame, whatever the machine.
SLOW_NETWORK = """
import time
import lingbot_ros
from lingbot_ros.ros import stream_node
import torch

class SlowSession(lingbot_ros.StreamSession):
    def push(self, image, stamp_ns):
        end = time.monotonic() + 0.15
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


def test_round_trip_with_a_window_change_and_tf(probe, start_node, tf2_environment):
    node = start_node(tf2_environment, **TINY)
    node.wait_for_log('ready:')
    poses = probe.listen('/lingbot/pose', PoseStamped)
    probe.listen('/diagnostics', DiagnosticArray)
    listener = subprocess.Popen(
        [sys.executable, str(REPOSITORY / 'test' / 'ros' / 'tf_listener.py')],
        env=tf2_environment, stdout=subprocess.PIPE, text=True, start_new_session=True)
    probe.connect('/lingbot/pose')
    wait_until(lambda: probe.node.count_subscribers('/tf'), 15, 'listener of /tf')
    time.sleep(0.3)
    camera = start_camera(tf2_environment, 'image', 45, 15, 640, 480)
    wait_until(lambda: len(poses) > 10, 20, 'poses')
    assert probe.set_parameter('/lingbot', 'window', 2).successful
    sent = [int(line) for line in camera.communicate(timeout=20)[0].split()]
    wait_until(lambda: poses and stamp_of(poses[-1]) == sent[-1], 5, 'the last pose')
    report = probe.report(after=len(probe.received['/diagnostics']))
    # Every image arrives (the shared-memory segment is large enough); a busy machine skips some.
    assert int(report['frames_in']) == len(sent) and report['window'] == '2'
    stamps = [stamp_of(pose) for pose in poses]
    assert set(stamps) <= set(sent) and len(stamps) == len(sent) - int(report['dropped_busy'])
    assert len(stamps) > len(sent) * 0.8
    assert node.end()[0] == 0 and 'tf2_msgs' not in node.log
    listener.terminate()
    lines = [json.loads(line) for line in listener.communicate(timeout=5)[0].splitlines()]
    transforms = [line[1:] for line in lines if line[0] == 'tf']
    odometry = [line[1:] for line in lines if line[0] == 'odometry']
    assert transforms == odometry
    assert [line[0] * 10**9 + line[1] for line in transforms] == stamps
    assert {(line[2], line[3]) for line in transforms} == {('odom', 'camera')}


def test_slow_network_drops_frames_but_stays_fresh_and_answers(probe, start_node):
    node = start_node(program=('-c', SLOW_NETWORK), **TINY)
    node.wait_for_log('ready:')
    poses = probe.listen('/lingbot/pose', PoseStamped)
    probe.listen('/diagnostics', DiagnosticArray)
    probe.connect('/lingbot/pose', '/diagnostics')
    # Discovers the services before the clock runs.
    probe.get_parameter('/lingbot', 'window')
    probe.set_parameter('/lingbot', 'path_max_length', 50)
    probe.call('/lingbot/reset', Trigger, Trigger.Request())
    camera = start_camera(node.environment, 'image', 150, 30, 640, 480)
    wait_until(lambda: len(poses) > 2, 20, 'poses')
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
    sent = [int(line) for line in camera.communicate()[0].split()]
    stamps = [stamp_of(pose) for pose in poses]
    arrivals = probe.arrival_ns['/lingbot/pose']
    latency = np.array([arrival - stamp for arrival, stamp in
                        zip(arrivals, stamps, strict=True)][2:]) / 1e9
    period = float(np.median(np.diff(arrivals[2:]))) / 1e9
    print(f'services: median {np.median(took) * 1e3:.1f} ms, p95 '
          f'{np.percentile(took, 95) * 1e3:.1f}, max {max(took) * 1e3:.1f} of {len(took)}; '
          f'inference {period * 1e3:.0f} ms, latency p50 {np.median(latency) * 1e3:.0f} ms, p95 '
          f'{np.percentile(latency, 95) * 1e3:.0f} ms; {len(stamps)} of {len(sent)} frames')
    assert set(stamps) <= set(sent) and stamps == sorted(stamps)
    # A frame waits at most for the one before it; never a queue of old frames.
    assert np.percentile(latency, 95) < 2 * period + 0.15
    assert np.percentile(took, 95) < 0.05
    report = probe.report(after=len(probe.received['/diagnostics']))
    assert int(report['frames_in']) == len(sent)
    assert int(report['dropped_busy']) == len(sent) - len(stamps) > 50
    assert report['state'] == 'tracking'
    assert float(report['latency_ms_p50']) == pytest.approx(np.median(latency) * 1e3, rel=0.5)
    assert node.end()[0] == 0


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_signals_end_it_while_inferring(probe, start_node, number):
    # Seconds a frame, so that the signal surely comes while the network runs.
    node = start_node(**{**TINY, 'image_size': 1036, 'anchor_frames': 1})
    node.wait_for_log('ready:')
    poses = probe.listen('/lingbot/pose', PoseStamped)
    camera = probe.publisher('/image', Image)
    camera.publish(image_message(texture(480, 640), 'rgb8', probe.next_stamp()))
    time.sleep(0.4)
    assert not poses
    code, seconds = node.end(number)
    print(f'{number.name} while inferring: {seconds:.2f} s')
    assert (code, 'Traceback' in node.log) == (0, False), node.log
    assert seconds < 2


SLOW_LOADER = """
import time
import lingbot_ros
from lingbot_ros.ros import stream_node

def load_network(*arguments):
    open('loading', 'w').close()
    time.sleep(60)

lingbot_ros.load_network = load_network
stream_node.main()
"""


def test_it_answers_and_ends_while_loading(probe, start_node):
    node = start_node(program=('-c', SLOW_LOADER), checkpoint='slow.pt')
    wait_until((node.log_file.parent / 'loading').exists, 30, 'begin of loading')
    assert probe.get_parameter('/lingbot', 'checkpoint') == 'slow.pt'
    answer = probe.call('/lingbot/reset', Trigger, Trigger.Request())
    assert not answer.success and 'loading' in answer.message
    code, seconds = node.end(signal.SIGTERM)
    print(f'SIGTERM while loading: {seconds:.2f} s')
    assert (code, 'Traceback' in node.log) == (0, False), node.log
    assert seconds < 2


@pytest.mark.parametrize(('parameters', 'text'), [
    ({}, 'no checkpoint: set the parameter checkpoint'),
    ({'checkpoint': '/nowhere/a.pt'}, '/nowhere/a.pt'),
    ({'checkpoint': 'random', 'window': 0}, 'window out of range'),
    ({'checkpoint': 'random', 'backend': 'flashinfer', 'device': 'cpu'}, 'flashinfer'),
], ids=['no checkpoint', 'missing file', 'bad parameter', 'back end'])
def test_bad_settings_end_with_one_fatal_line_and_code_2(start_node, parameters, text):
    node = start_node(**parameters)
    assert node.wait() == 2, node.log
    lines = [line for line in node.log.splitlines() if '[WARN]' not in line]
    assert len(lines) == 1 and '[FATAL]' in lines[0] and text in lines[0], node.log


def test_namespace_holds_everything_but_the_shared_topics(probe, start_node):
    node = start_node(namespace='/robot1', **TINY)
    node.wait_for_log('ready:')
    poses = probe.listen('/robot1/lingbot/pose', PoseStamped)
    camera = probe.publisher('/robot1/image', Image)
    probe.connect('/robot1/lingbot/pose')
    for _ in range(50):
        camera.publish(image_message(texture(), 'rgb8', probe.next_stamp()))
        time.sleep(0.1)
        if poses:
            break
    wait_until(lambda: len(poses) >= 2, 5, 'poses')
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
    probe.connect('/lingbot/pose')
    camera = start_camera(node.environment, '/cam/image_raw/compressed', 5, 10, 320, 240, 'jpeg')
    sent = [int(line) for line in camera.communicate(timeout=20)[0].split()]
    wait_until(lambda: poses and stamp_of(poses[-1]) == sent[-1], 5, 'the last pose')
    assert set(map(stamp_of, poses)) <= set(sent) and len(poses) >= 3
    assert node.end()[0] == 0
