# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The node inside this process with a session of known motion: what the messages say."""

import re
import threading

from lingbot_ros.errors import ConfigError, LingbotError, NonFinitePoseError
from lingbot_ros.geometry.axes import T_ODOM_OPTICAL
from lingbot_ros.geometry.rotation import matrix_from_quat_xyzw
from lingbot_ros.records import Tracking, TrackingState
import numpy as np
import pytest
from ros_harness import image_message, PATIENCE_S, texture, wait_until
from stream_fakes import fake_engine, FakeSession, START, STEP

pytest.importorskip('rclpy')
pytestmark = pytest.mark.ros


def parameters(**values):
    from rclpy.parameter import Parameter
    return [Parameter(name, value=value) for name, value in {
        'checkpoint': 'fake', **values}.items()]


class Running:
    """A node with a fake engine, and a probe to talk to it."""

    def __init__(self, probe, session, **values):
        from diagnostic_msgs.msg import DiagnosticArray
        from lingbot_ros.ros.node import StreamNode
        from nav_msgs.msg import Odometry
        from rclpy.executors import SingleThreadedExecutor
        from sensor_msgs.msg import CameraInfo, Image
        self.probe, self.session = probe, session
        self.finished = threading.Event()
        self.node = StreamNode(self.finished, lambda _: fake_engine(session),
                               parameter_overrides=parameters(**values))
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.thread = threading.Thread(target=self.spin)
        self.thread.start()
        self.odometry = probe.listen('/lingbot/odometry', Odometry)
        self.camera_infos = probe.listen('/lingbot/camera_info_estimate', CameraInfo)
        probe.listen('/diagnostics', DiagnosticArray)
        self.camera = probe.publisher('/image', Image)
        probe.meet('/lingbot')

    def spin(self):
        while not self.finished.is_set():
            self.executor.spin_once(timeout_sec=0.02)

    def close(self):
        self.finished.set()
        self.thread.join()
        assert self.node.stop(PATIENCE_S)
        self.executor.shutdown()
        self.node.destroy_node()

    def send(self, frame_id='camera'):
        """Send one image and wait until the session has it."""
        before = self.session.pushes
        self.camera.publish(image_message(texture(), 'rgb8', self.probe.next_stamp(), frame_id))
        wait_until(lambda: self.session.pushes > before, 'image in the session')

    def send_bad(self, picture, encoding):
        """Send an image that is of no use, and wait until it is counted."""
        counts = self.node._counters.dropped
        before = counts['bad_image']
        self.camera.publish(image_message(picture, encoding, self.probe.next_stamp()))
        wait_until(lambda: counts['bad_image'] > before, 'refusal of the image')

    def wait(self, count):
        for messages in (self.odometry, self.camera_infos):
            wait_until(lambda m=messages: len(m) >= count, f'{count} poses')


@pytest.fixture()
def run(probe):
    running = []

    def start(session, **values):
        running.append(Running(probe, session, **values))
        return running[-1]

    yield start
    for each in running:
        each.close()


def test_pose_twist_and_intrinsics(run):
    stream = run(FakeSession())
    for _ in range(3):
        stream.send()
    stream.wait(3)
    T = np.linalg.multi_dot([START, STEP, STEP])
    position = stream.odometry[2].pose.pose.position
    # odom is x forward, y left, z up; the camera is x right, y down, z forward.
    np.testing.assert_allclose([position.x, position.y, position.z],
                               [T[2, 3], -T[0, 3], -T[1, 3]], atol=1e-12)
    turn = stream.odometry[2].pose.pose.orientation
    np.testing.assert_allclose(
        matrix_from_quat_xyzw([turn.x, turn.y, turn.z, turn.w]),
        (T_ODOM_OPTICAL @ T)[:3, :3], atol=1e-12)
    twist = stream.odometry[2].twist.twist
    assert twist.linear.z == pytest.approx(0.1 * 30, rel=1e-2)
    assert twist.angular.y == pytest.approx(0.1 * 30, rel=1e-6)
    assert stream.odometry[0].twist.covariance[0] == 1e4 > stream.odometry[1].twist.covariance[0]
    info = stream.camera_infos[2]
    np.testing.assert_allclose(
        info.k, [50 * 64 / 56, 0, 32, 0, 60 * 48 / 42, 24, 0, 0, 1])
    assert (info.width, info.height, info.distortion_model) == (64, 48, 'plumb_bob')
    np.testing.assert_allclose(info.p, np.insert(np.reshape(info.k, (3, 3)), 3, 0, 1).ravel())
    assert list(info.d) == [0] * 5 and list(info.r) == [1, 0, 0, 0, 1, 0, 0, 0, 1]


@pytest.mark.parametrize(('setting', 'frame_ids', 'wanted'), [
    ('', ['left_optical', '/ros1/optical', ''], ['left_optical', 'ros1/optical',
                                                 'lingbot_camera']),
    ('mine', ['left_optical', ''], ['mine', 'mine']),
])
def test_child_frame(run, setting, frame_ids, wanted):
    stream = run(FakeSession(anchors=1), camera_frame=setting, odom_frame='world')
    for frame_id in frame_ids:
        stream.send(frame_id)
    stream.wait(len(frame_ids))
    assert [message.child_frame_id for message in stream.odometry] == wanted
    assert {message.header.frame_id for message in stream.odometry} == {'world'}
    assert [info.header.frame_id for info in stream.camera_infos] == wanted


def test_poses_that_are_not_finite_are_never_published(run):
    errors = {number: NonFinitePoseError('nan') for number in (2, 3)}
    stream = run(FakeSession(anchors=1, fail={**errors, 4: RuntimeError('out of memory')}))
    for _ in range(7):
        stream.send()
    stream.wait(4)
    report = stream.probe.report()
    assert len(stream.odometry) == 4
    assert (report['dropped_non_finite'], report['dropped_error']) == ('2', '1')
    assert report['last_reset_reason'] == 'RuntimeError: out of memory'
    assert report['cache_bytes'] == '12345' and report['random_weights'] == 'false'


def test_every_kind_of_fault_is_named_in_the_log(run, capfd):
    stream = run(FakeSession(anchors=1))
    stream.send()
    for encoding in ('novel8', 'strange16', 'novel8'):
        stream.send_bad(texture(), encoding)
    # An unusable size is refused before it can reset the stream.
    stream.send_bad(texture(9, 1), 'rgb8')
    stream.send()
    stream.wait(2)
    report = stream.probe.report()
    assert (report['dropped_bad_image'], report['resets']) == ('4', '0')
    log = capfd.readouterr().err
    for text in ("unknown encoding 'novel8'", "unknown encoding 'strange16'", 'too tall'):
        assert log.count(text) == 1, log


def test_window_that_does_not_fit_is_said_once_and_the_old_one_stays(run, capfd):
    stream = run(FakeSession(anchors=1))
    stream.send()
    assert stream.probe.set_parameter('/lingbot', 'window', 1001).successful
    for _ in range(3):
        stream.send()
    stream.wait(4)
    assert capfd.readouterr().err.count('window stays 64: window 1001 does not fit') == 1
    report = stream.probe.report()
    assert (report['window'], report['resets']) == ('64', '0')


def test_window_0_is_that_of_the_weights(run):
    stream = run(FakeSession(anchors=1), window=5)
    for window, used in ((None, 5), (0, 64), (7, 7)):
        if window is not None:
            assert stream.probe.set_parameter('/lingbot', 'window', window).successful
        stream.send()
        wait_until(lambda used=used: stream.session.window == used, f'window {used}')
    assert stream.probe.report()['settings'] == 'window 64 (fake)'


def test_state_without_images_names_the_topic(run, monkeypatch):
    from lingbot_ros.ros import diagnostics
    monkeypatch.setattr(diagnostics, 'STALE_S', 0.5)
    stream = run(FakeSession(anchors=2))
    report = stream.probe.report()
    assert (report['state'], report['level']) == ('no_images', b'\x01')
    assert re.fullmatch(r'no images on /image \(\d publishers\)', report['message'])


def test_no_tf2_msgs_costs_one_warning(run, monkeypatch, capfd):
    from lingbot_ros.ros import tf
    monkeypatch.setattr(tf, 'TFMessage', None)
    stream = run(FakeSession(anchors=1))
    for _ in range(3):
        stream.send()
    stream.wait(3)
    assert capfd.readouterr().err.count('tf2_msgs is not installed') == 1


def test_publish_tf_off_publishes_none(run, monkeypatch, capfd):
    from lingbot_ros.ros import tf
    monkeypatch.setattr(tf, 'TFMessage', None)
    stream = run(FakeSession(anchors=1), publish_tf=False)
    stream.send()
    stream.wait(1)
    assert 'tf2_msgs' not in capfd.readouterr().err


@pytest.mark.parametrize(('values', 'text'), [
    ({'checkpoint': ''}, 'no checkpoint: set the parameter checkpoint'),
    ({'window': 'wide'}, "parameter window: .*expecting type 'INTEGER'"),
    ({'window': 5000}, 'parameter window: .*Max: 4096'),
    ({'position_stddev': 0}, 'position_stddev must be 0.001 to 1000.0, got 0.0'),
    ({'rotation_stddev': 9.0}, 'parameter rotation_stddev: .*Max: 3.2'),
    ({'image_size': 55}, 'image_size must be 0 .as trained. or 56 to 1036, got 55'),
    ({'device': 'gpu'}, 'device must be auto, cpu, cuda, cuda:N'),
])
def test_bad_parameters_refuse_the_node(rclpy_context, values, text):
    from lingbot_ros.ros.node import StreamNode
    with pytest.raises((ConfigError, LingbotError), match=text):
        StreamNode(threading.Event(), lambda _: fake_engine(FakeSession()),
                   parameter_overrides=parameters(**values))


def test_lost_frames_are_said_and_not_published(run):
    from diagnostic_msgs.msg import DiagnosticStatus
    session = FakeSession(anchors=1)
    session.tracking = {
        0: Tracking(TrackingState.TRACKING, 1.0),
        1: Tracking(TrackingState.LOST, 0.0, 'image dark'),
        2: Tracking(TrackingState.DEGRADED, 0.4, 'image blurred')}
    stream = run(session)
    said = stream.probe.listen('/lingbot/tracking', DiagnosticStatus)
    stream.probe.meet('/lingbot')
    for count in range(3):
        stream.send()
        wait_until(lambda count=count: len(said) > count, 'what is said of the frame')
    stream.wait(2)
    assert [status.message for status in said] == ['tracking', 'lost', 'degraded']
    assert [status.level for status in said] == [b'\x00', b'\x02', b'\x01']
    values = {each.key: each.value for each in said[1].values}
    assert (values['score'], values['reason'], values['segment']) == ('0.000', 'image dark', '0')
    assert len(stream.odometry) == 2
    # Optical x, y, z are odom's -y, -z, x.
    variances = np.reshape(stream.odometry[0].pose.covariance, (6, 6)).diagonal()
    np.testing.assert_allclose(variances, [0.16, 0.04, 0.09, 4e-4, 4e-4, 4e-4], rtol=1e-6)
    report = stream.probe.report()
    assert (report['state'], report['dropped_lost'], report['segment']) == ('degraded', '1', '3')
    assert 'only a test' in report['last_join'] and report['stage_ms'] == 'encoder 2.0'
    assert report['level'] == b'\x01'
