# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The transform odom -> camera on /tf, where tf2_msgs is installed."""

from __future__ import annotations

from geometry_msgs.msg import PoseStamped, TransformStamped
from lingbot_ros.ros.qos import tf_qos
from rclpy.node import Node

try:
    from tf2_msgs.msg import TFMessage
except ImportError:
    TFMessage = None


class TransformPublisher:
    """
    Publishes poses as transforms.

    tf2_ros's broadcaster does the same, but needs compiled tf2; the message alone does not.

    Parameters
    ----------
    node : Node
        Owns the publisher.

    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._publisher = None
        if TFMessage is not None:
            # Absolute like tf2's own: one tree a robot; remap /tf for one tree a namespace.
            self._publisher = node.create_publisher(TFMessage, '/tf', tf_qos())

    def publish(self, pose: PoseStamped, child_frame: str) -> None:
        """
        Publish a pose as the transform from its frame to a child frame, with the same stamp.

        Parameters
        ----------
        pose : PoseStamped
            Of the child frame in `pose.header.frame_id`.
        child_frame : str
            Name of the child frame.

        """
        if self._publisher is None:
            self._node.get_logger().warning(
                'publish_tf is on, but tf2_msgs is not installed: nothing goes to /tf (install '
                'ros-$ROS_DISTRO-tf2-msgs, or set publish_tf to false)', once=True)
            return
        transform = TransformStamped(header=pose.header, child_frame_id=child_frame)
        position = pose.pose.position
        transform.transform.translation.x = position.x
        transform.transform.translation.y = position.y
        transform.transform.translation.z = position.z
        transform.transform.rotation = pose.pose.orientation
        self._publisher.publish(TFMessage(transforms=[transform]))
