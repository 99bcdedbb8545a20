# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tracked poses to messages: pose, odometry, tracking, path, camera info, depth, transform."""

from __future__ import annotations

import array
from collections import deque

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion, Vector3
from lingbot_ros.geometry.rotation import quat_xyzw_from_matrix
from lingbot_ros.records import TrackingState
from lingbot_ros.ros.parameters import Dynamic
from lingbot_ros.ros.qos import latest_qos, pose_qos
from lingbot_ros.ros.tf import TransformPublisher
from lingbot_ros.ros.tracker import TrackedPose
from lingbot_ros.ros.transforms import (
    Matrix,
    pose_covariance,
    raise_variances,
    twist_covariance,
)
from nav_msgs.msg import Odometry, Path
import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import Header

FALLBACK_CAMERA_FRAME = 'lingbot_camera'
"""Child frame when neither camera_frame nor the image names one."""


def stamp_to_ns(stamp: Time) -> int:
    """
    Nanoseconds of a stamp, exactly.

    Parameters
    ----------
    stamp : Time
        Seconds and nanoseconds.

    Returns
    -------
    int

    """
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def pose_message(T: Matrix) -> Pose:
    """
    Pose of a transform.

    Parameters
    ----------
    T : ndarray of float64, shape [4, 4]
        Rigid.

    Returns
    -------
    Pose

    """
    x, y, z, w = (float(value) for value in quat_xyzw_from_matrix(T[:3, :3]))
    return Pose(position=Point(x=float(T[0, 3]), y=float(T[1, 3]), z=float(T[2, 3])),
                orientation=Quaternion(x=x, y=y, z=z, w=w))


def camera_info_message(K: Matrix, size: tuple[int, int], header: Header) -> CameraInfo:
    """
    Pinhole camera info without distortion.

    Parameters
    ----------
    K : ndarray of float64, shape [3, 3]
        Pixels. Not finite (no field of view was seen) becomes zeros, which the message defines
        as uncalibrated.
    size : tuple of int
        Height and width, pixels.
    header : Header
        Stamp and camera frame.

    Returns
    -------
    CameraInfo

    """
    if not np.isfinite(K).all():
        K = np.zeros((3, 3))
    return CameraInfo(
        header=header, height=size[0], width=size[1], distortion_model='plumb_bob', d=[0.0] * 5,
        k=K.reshape(9), r=np.eye(3).reshape(9),
        p=np.concatenate([K, np.zeros((3, 1))], axis=1).reshape(12))


class Publishers:
    """
    Every output of the stream.

    Parameters
    ----------
    node : Node
        Owns the publishers.
    odom_frame, camera_frame : str
        Frame names; an empty camera frame takes the image's.
    depth, tracking : bool
        Whether there is a depth topic, and one that says how far poses are believed.

    """

    def __init__(self, node: Node, odom_frame: str, camera_frame: str, depth: bool,
                 tracking: bool) -> None:
        self._node = node
        self._odom_frame = odom_frame
        self._camera_frame = camera_frame
        self._pose = node.create_publisher(PoseStamped, '~/pose', pose_qos())
        self._odometry = node.create_publisher(Odometry, '~/odometry', pose_qos())
        self._camera_info = node.create_publisher(
            CameraInfo, '~/camera_info_estimate', pose_qos())
        self._tracking = (node.create_publisher(DiagnosticStatus, '~/tracking', pose_qos())
                          if tracking else None)
        self._path = node.create_publisher(Path, '~/path', latest_qos())
        self._depth = node.create_publisher(Image, '~/depth', latest_qos()) if depth else None
        self._tf = TransformPublisher(node)
        self._poses: deque[PoseStamped] = deque()

    def publish(self, tracked: TrackedPose, K: Matrix, dynamic: Dynamic) -> None:
        """
        Publish one answer on every topic but the path; that of a lost frame as lost alone.

        Parameters
        ----------
        tracked : TrackedPose
            Its header is the image's.
        K : ndarray of float64, shape [3, 3]
            Of the original image, pixels.
        dynamic : Dynamic
            Parameter values of this frame.

        """
        self._publish_tracking(tracked)
        if tracked.lost:
            return
        camera_frame = self._child_frame(tracked.header)
        in_odom = Header(stamp=tracked.header.stamp, frame_id=self._odom_frame)
        in_camera = Header(stamp=tracked.header.stamp, frame_id=camera_frame)
        pose = PoseStamped(header=in_odom, pose=pose_message(tracked.T_odom_camera))
        self._pose.publish(pose)
        self._odometry.publish(self._odometry_message(tracked, pose, camera_frame, dynamic))
        if dynamic.publish_tf:
            self._tf.publish(pose, camera_frame)
        self._camera_info.publish(camera_info_message(K, tracked.original_size, in_camera))
        if self._depth is not None and self._depth.get_subscription_count():
            self._depth.publish(self._depth_message(tracked, in_camera))
        self._remember(pose, dynamic.path_max_length)

    def publish_path(self) -> None:
        """Publish the newest poses, if somebody listens."""
        if self._path.get_subscription_count() and self._poses:
            header = self._poses[-1].header
            self._path.publish(Path(header=header, poses=list(self._poses)))

    def _publish_tracking(self, tracked: TrackedPose) -> None:
        estimate, tracking = tracked.estimate, tracked.estimate.tracking
        if self._tracking is None or tracking is None:
            return
        values = {'stamp_ns': str(estimate.stamp_ns), 'score': f'{tracking.score:.3f}',
                  'reason': tracking.reason, 'segment': str(estimate.segment),
                  'is_keyframe': str(estimate.is_keyframe).lower()}
        level = {TrackingState.LOST: DiagnosticStatus.ERROR,
                 TrackingState.DEGRADED: DiagnosticStatus.WARN}.get(
                     tracking.state, DiagnosticStatus.OK)
        self._tracking.publish(DiagnosticStatus(
            level=level, name=f'{self._node.get_fully_qualified_name().lstrip("/")}: tracking',
            message=str(tracking.state),
            values=[KeyValue(key=key, value=value) for key, value in values.items()]))

    def _child_frame(self, header: Header) -> str:
        # ROS 1 bags still carry names with a leading slash, which tf2 refuses.
        name = self._camera_frame or header.frame_id.lstrip('/')
        if not name:
            self._node.get_logger().warning(
                f'images have no frame_id and camera_frame is empty: the camera is called '
                f'{FALLBACK_CAMERA_FRAME!r} (set camera_frame)', once=True)
        return name or FALLBACK_CAMERA_FRAME

    def _odometry_message(self, tracked: TrackedPose, pose: PoseStamped, camera_frame: str,
                          dynamic: Dynamic) -> Odometry:
        stddevs = dynamic.position_stddev, dynamic.rotation_stddev
        odometry = Odometry(header=pose.header, child_frame_id=camera_frame)
        odometry.pose.pose = pose.pose
        least = pose_covariance(*stddevs, tracked.poses_since_reset)
        covariance = least if tracked.covariance is None else raise_variances(
            tracked.covariance, least)
        odometry.pose.covariance = covariance.reshape(36)
        vx, vy, vz, wx, wy, wz = (float(value) for value in tracked.twist)
        odometry.twist.twist.linear = Vector3(x=vx, y=vy, z=vz)
        odometry.twist.twist.angular = Vector3(x=wx, y=wy, z=wz)
        odometry.twist.covariance = twist_covariance(*stddevs, tracked.seconds).reshape(36)
        return odometry

    @staticmethod
    def _depth_message(tracked: TrackedPose, header: Header) -> Image:
        assert tracked.estimate.depth is not None
        depth = np.ascontiguousarray(tracked.estimate.depth.cpu().numpy(), dtype='<f4')
        # An array.array is taken as it is; an ndarray would be copied byte by byte in Python.
        data = array.array('B')
        data.frombytes(depth.tobytes())
        height, width = depth.shape
        return Image(header=header, height=height, width=width, encoding='32FC1',
                     is_bigendian=0, step=4 * width, data=data)

    def _remember(self, pose: PoseStamped, length: int) -> None:
        if self._poses and stamp_to_ns(pose.header.stamp) <= stamp_to_ns(
                self._poses[-1].header.stamp):
            self._poses.clear()  # a path never runs back in time
        self._poses.append(pose)
        while len(self._poses) > length:
            self._poses.popleft()
