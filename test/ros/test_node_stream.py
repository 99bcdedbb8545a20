# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One node with random weights in its own process, spoken to over DDS."""

import re
import time

import cv2
from lingbot_ros.imaging.encodings import SUPPORTED_ENCODINGS
import numpy as np
import pytest
from ros_harness import image_message, PATIENCE_S, texture, wait_until

pytest.importorskip('rclpy')
pytestmark = pytest.mark.ros


def stamp_of(message):
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec


def position_of(message):
    position = message.pose.position
    return np.array([position.x, position.y, position.z])


class Stream:
    """The node, the probe, and a camera that waits for each pose."""

    def __init__(self, node, probe):
        from diagnostic_msgs.msg import DiagnosticArray
        from geometry_msgs.msg import PoseStamped
        from nav_msgs.msg import Odometry, Path
        from sensor_msgs.msg import CameraInfo, Image
        self.node, self.probe = node, probe
        self.poses = probe.listen('/lingbot/pose', PoseStamped)
        self.odometry = probe.listen('/lingbot/odometry', Odometry)
        self.paths = probe.listen('/lingbot/path', Path)
        self.camera_infos = probe.listen('/lingbot/camera_info_estimate', CameraInfo)
        self.depths = probe.listen('/lingbot/depth', Image)
        probe.listen('/diagnostics', DiagnosticArray)
        self.camera = probe.publisher('/image', Image)
        probe.meet('/lingbot')
        self.seed = 0

    def send(self, picture=None, encoding='rgb8', **options):
        self.seed += 1
        picture = texture(seed=self.seed) if picture is None else picture
        stamp_ns = self.probe.next_stamp()
        self.camera.publish(image_message(picture, encoding, stamp_ns, **options))
        return stamp_ns

    def send_until(self, count, picture=None):
        """
        Send images until there are `count` poses; returns the stamps sent.

        Anchors cannot be sent one for one: a busy node skips an image, as it should.
        """
        sent = []
        end = time.monotonic() + PATIENCE_S
        while len(self.poses) < count:
            assert time.monotonic() < end, f'{len(self.poses)} of {count} poses'
            before = len(self.poses)
            sent.append(self.send(picture))
            pause = time.monotonic() + 0.5
            while len(self.poses) == before and time.monotonic() < pause:
                time.sleep(0.005)
        # One image too many may still be on its way through the node.
        processed = int(self.probe.settled_report()['frames_processed'])
        wait_until(lambda: len(self.poses) == processed, 'every pose')
        return sent

    def step(self, *args, **options):
        """Send one image and wait for its pose."""
        count = len(self.poses)
        stamp_ns = self.send(*args, **options)
        wait_until(lambda: len(self.poses) > count, 'pose')
        assert stamp_of(self.poses[-1]) == stamp_ns
        return self.poses[-1]


@pytest.fixture(scope='module')
def stream(rclpy_context, start_node):
    from ros_harness import Probe
    node = start_node(checkpoint='random', image_size=56, anchor_frames=2, window=8,
                      publish_depth=True, position_stddev=1, path_max_length=20)
    node.wait_for_log('ready:')
    probe = Probe()
    stream = Stream(node, probe)
    stream.anchor_stamps = stream.send_until(2)
    yield stream
    assert node.end()[0] == 0
    assert 'Traceback' not in node.log
    probe.close()


def test_anchors_keep_their_own_stamps(stream):
    stamps = [stamp_of(pose) for pose in stream.poses[:2]]
    assert set(stamps) <= set(stream.anchor_stamps) and stamps[0] < stamps[1]


def test_outputs_agree(stream):
    stamp_ns = stamp_of(stream.step())
    for messages in (stream.odometry, stream.paths, stream.camera_infos, stream.depths):
        wait_until(lambda m=messages: m and stamp_of(m[-1]) == stamp_ns, 'every output')
    pose, odometry, path = stream.poses[-1], stream.odometry[-1], stream.paths[-1]
    assert pose.header.frame_id == odometry.header.frame_id == path.header.frame_id == 'odom'
    assert odometry.child_frame_id == stream.camera_infos[-1].header.frame_id == 'camera'
    assert pose.pose == odometry.pose.pose == path.poses[-1].pose
    quaternion = pose.pose.orientation
    assert np.linalg.norm([quaternion.x, quaternion.y, quaternion.z, quaternion.w]) == (
        pytest.approx(1))
    for part in (odometry.pose, odometry.twist):
        covariance = np.array(part.covariance).reshape(6, 6)
        np.testing.assert_array_equal(covariance, covariance.T)
        assert np.linalg.eigvalsh(covariance).min() > 0
    assert odometry.pose.covariance[0] == 1.0  # position_stddev was given as the integer 1
    info, depth = stream.camera_infos[-1], stream.depths[-1]
    assert (info.width, info.height) == (64, 48)
    assert (depth.width, depth.height, depth.encoding) == (56, 42, '32FC1')
    values = np.frombuffer(depth.data, np.float32)
    assert values.size == 42 * 56 and np.isfinite(values).all() and values.min() > 0


def raw_rows(encoding, width=64, height=48, padding=8):
    """Random bytes of an image with padded rows, and its step."""
    channels = {'rgb': 3, 'bgr': 3, 'rgba': 4, 'bgra': 4, 'mono': 1, 'nv12': 1, 'nv21': 1,
                'yuv422': 2, 'yuv422_yuy2': 2, 'uyvy': 2, 'yuyv': 2, '8UC1': 1, '8UC3': 3,
                '8UC4': 4}
    match = re.fullmatch(r'(rgba?|bgra?|mono|bayer_\w{4})(8|16)', encoding)
    name, bits = match.groups() if match else (encoding, '8')
    row = width * channels.get(name, 1) * int(bits) // 8
    rows = height * 3 // 2 if encoding.startswith('nv') else height
    step = row + (0 if encoding.startswith('nv') else padding)
    return np.random.default_rng(1).integers(0, 256, (rows, step), dtype=np.uint8), step


@pytest.mark.parametrize('encoding', SUPPORTED_ENCODINGS)
def test_every_encoding_gives_a_pose(stream, encoding):
    rows, step = raw_rows(encoding)
    count = len(stream.poses)
    message = image_message(rows, encoding, stream.probe.next_stamp(), step=step)
    message.height, message.width = 48, 64
    stream.camera.publish(message)
    wait_until(lambda: len(stream.poses) > count, f'pose of {encoding}')
    assert message.header.stamp == stream.poses[-1].header.stamp


def test_bad_images_are_dropped_counted_named_and_survived(stream):
    count = int(stream.probe.report()['dropped_bad_image'])
    heard = len(stream.probe.received['/diagnostics'])
    changes = ({'encoding': 'rgb9'}, {'height': 400}, {'step': 3}, {'height': 0, 'width': 0})
    for change in (*changes, changes[0], changes[0]):
        message = image_message(texture(), 'rgb8', stream.probe.next_stamp())
        for name, value in change.items():
            setattr(message, name, value)
        stream.camera.publish(message)
        report = stream.probe.report()
        while (now := int(report['dropped_bad_image'])) == count:
            report = stream.probe.report()
        assert now == count + 1
        count = now
    told = [message.status[0] for message in stream.probe.received['/diagnostics'][heard:]]
    assert any(status.level == b'\x01' and '1 frames refused' in status.message
               for status in told)
    # Each fault is named, and again only after a while.
    lines = re.findall(r'\[(\d+\.\d+)\].*image dropped: (.*)', stream.node.log)
    assert len({text for _, text in lines}) == len(changes)
    times = [float(stamp) for stamp, text in lines if "'rgb9'" in text]
    assert times and (np.diff(times) > 4.9).all()
    stream.step()


def test_window_changes_while_streaming(stream):
    for window in (3, 12):
        stream.step()
        assert stream.probe.set_parameter('/lingbot', 'window', window).successful
        stream.step()
        assert stream.probe.get_parameter('/lingbot', 'window') == window
        report = stream.probe.report()
        assert report['window'] == str(window) and report['resets'] == '0'
    assert int(stream.probe.report()['cache_bytes']) > 0


@pytest.mark.parametrize(('name', 'value', 'reason'), [
    ('window', -1, 'window out of range'),
    ('window', 2.5, 'expected'),
    ('position_stddev', 0, 'position_stddev must be 0.001 to 1000.0'),
    ('position_stddev', 'much', 'position_stddev must be of type double'),
    ('anchor_frames', 4, 'read-only'),
])
def test_bad_values_are_refused_with_the_reason(stream, name, value, reason):
    before = stream.probe.get_parameter('/lingbot', name)
    result = stream.probe.set_parameter('/lingbot', name, value)
    assert not result.successful and reason in result.reason
    assert stream.probe.get_parameter('/lingbot', name) == before


def test_dynamic_covariance_and_path_length(stream):
    stamp_ns = stamp_of(stream.step())
    wait_until(lambda: stamp_of(stream.paths[-1]) == stamp_ns, 'path')
    assert len(stream.paths[-1].poses) == 20
    assert stream.probe.set_parameter('/lingbot', 'path_max_length', 3).successful
    assert stream.probe.set_parameter('/lingbot', 'position_stddev', 2).successful
    assert stream.probe.set_parameter('/lingbot', 'rotation_stddev', 0.5).successful
    stamp_ns = stamp_of(stream.step())
    for messages in (stream.odometry, stream.paths):
        wait_until(lambda m=messages: stamp_of(m[-1]) == stamp_ns, 'odometry and path')
    assert len(stream.paths[-1].poses) == 3
    covariance = stream.odometry[-1].pose.covariance
    assert (covariance[0], covariance[35]) == (4.0, 0.25)


def test_descriptors_are_complete(stream):
    from lingbot_ros.ros.parameters import TABLE
    from rcl_interfaces.srv import DescribeParameters
    names = [row.name for row in TABLE]
    answer = stream.probe.call('/lingbot/describe_parameters', DescribeParameters,
                               DescribeParameters.Request(names=names))
    for row, descriptor in zip(TABLE, answer.descriptors, strict=True):
        assert descriptor.description.startswith(row.text)
        assert descriptor.read_only is not row.dynamic
        ranges = [*descriptor.integer_range, *descriptor.floating_point_range]
        assert [(r.from_value, r.to_value) for r in ranges] == (
            [(0 if row.automatic else row.low, row.high)] if row.low is not None else [])


def test_reset_keeps_the_pose(stream):
    from std_srvs.srv import Trigger
    stream.step()
    before = position_of(stream.poses[-1])
    count = len(stream.poses)
    answer = stream.probe.call('/lingbot/reset', Trigger, Trigger.Request())
    assert answer.success and 'dropped' in answer.message
    stream.send_until(count + 2)
    wait_until(lambda: len(stream.odometry) >= count + 2, 'odometry')
    np.testing.assert_allclose(position_of(stream.poses[count]), before, atol=1e-9)
    covariance = [message.pose.covariance[0] for message in stream.odometry[count:]]
    assert covariance[0] == pytest.approx(400) and covariance[1] == pytest.approx(200)
    assert stream.odometry[count].twist.covariance[0] == 1e4
    report = stream.probe.report()
    assert report['resets'] == '1' and report['last_reset_reason'] == 'service call'


def test_new_image_size_resets_and_keeps_the_pose(stream):
    before, count = position_of(stream.poses[-1]), len(stream.poses)
    stream.send_until(count + 2, texture(96, 96))
    np.testing.assert_allclose(position_of(stream.poses[count]), before, atol=1e-9)
    assert 'from 64x48 to 96x96' in stream.probe.report()['last_reset_reason']


def test_bag_loop_resets_and_clears_the_path(stream):
    count = len(stream.poses)
    first = stream.probe.next_stamp(-2 * 10**9)
    stream.send_until(count + 2, texture(96, 96))
    assert 'stamps jumped back by 1.9' in stream.probe.report()['last_reset_reason']
    wait_until(lambda: stream.paths[-1].header == stream.poses[-1].header, 'path')
    stamps = [stamp_of(pose) for pose in stream.paths[-1].poses]
    assert stamps == sorted(stamps) and stamps[0] > first and len(stamps) >= 2


def test_diagnostics_say_everything(stream):
    stream.step(texture(96, 96))
    report = stream.probe.report()
    assert report['name'] == 'lingbot: stream'
    assert report['level'] == b'\x01' and 'random weights' in report['message']
    assert report['random_weights'] == 'true' and report['checkpoint'] == 'random'
    assert report['state'] == 'tracking' and report['image_topic'] == '/image'
    assert report['device'].startswith('cpu (auto: ')
    assert report['dtype'] == 'float32 (auto: for cpu)'
    assert report['backend'].startswith("sdpa (the device is 'cpu'")
    assert report['metric_scale'] == 'false'
    assert float(report['processing_ms_p95']) >= float(report['processing_ms_p50']) > 0
    assert report['latency_ms_p50'] == 'unknown'  # the stamps are years old
    dropped = sum(int(value) for key, value in report.items() if key.startswith('dropped_'))
    waiting = int(report['frames_waiting'])
    assert int(report['frames_in']) == int(report['frames_processed']) + dropped + waiting


def test_diagnostics_come_once_a_second(stream):
    times = stream.probe.arrival_ns['/diagnostics']
    wait_until(lambda: len(times) > 5, 'diagnostics')
    assert np.median(np.diff(times)) / 1e9 == pytest.approx(1, abs=0.3)


def test_docs_name_every_diagnostic_key(stream):
    from ros_harness import REPOSITORY
    text = (REPOSITORY / 'docs' / 'ros_interface.md').read_text()
    for key in set(stream.probe.report()) - {'level', 'name', 'message'}:
        assert f'`{key}`' in text


def test_random_weights_are_warned_of_in_the_log(stream):
    assert re.search(r'\[WARN\].*random weights: poses mean nothing', stream.node.log)


def test_jpeg_bytes_on_the_raw_topic_are_survived(stream):
    jpeg = cv2.imencode('.jpg', texture(96, 96))[1].reshape(1, -1)
    stream.send(jpeg, 'jpeg')
    stream.step(texture(96, 96))
