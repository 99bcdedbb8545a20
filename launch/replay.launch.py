# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Plays a bag into stream_node, with the bag's time.

    ros2 launch lingbot_ros replay.launch.py bag:=/path/to/bag image:=/image_raw

Takes every argument of stream.launch.py too. The live node skips frames while it is busy; for
every frame in order use `lingbot_ros replay`, which needs no ROS.
"""

from __future__ import annotations

import os
import shlex

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    IncludeLaunchDescription,
    OpaqueFunction,
    SetLaunchConfiguration,
)
from launch.launch_description_sources import PythonLaunchDescriptionSource

STREAM = os.path.join(get_package_share_directory('lingbot_ros'), 'launch', 'stream.launch.py')


def play(context: LaunchContext) -> list:
    """Build the player once the arguments are known."""
    value = context.launch_configurations
    command = ['ros2', 'bag', 'play', value['bag'], '--clock', '100', '--rate', value['rate'],
               '--delay', value['delay'], '--read-ahead-queue-size', '1000',
               *shlex.split(value['bag_args'])]
    if value['loop'] == 'true':
        command.append('--loop')
    return [ExecuteProcess(cmd=command, output='screen')]


def generate_launch_description() -> LaunchDescription:
    """Describe arguments and actions."""
    return LaunchDescription([
        DeclareLaunchArgument('bag', description='path of a rosbag2 bag'),
        DeclareLaunchArgument('rate', default_value='1.0', description='playing speed'),
        DeclareLaunchArgument('loop', default_value='false', choices=['true', 'false'],
                              description='play again and again; the stream resets each time'),
        DeclareLaunchArgument('delay', default_value='10.0',
                              description='seconds the network gets to load before the bag plays'),
        DeclareLaunchArgument('bag_args', default_value='',
                              description='more arguments of ros2 bag play'),
        # The node must live in the bag's time; the included file's own default is false.
        SetLaunchConfiguration('use_sim_time', 'true'),
        # First, because it sets the Fast DDS profile that the player needs.
        IncludeLaunchDescription(PythonLaunchDescriptionSource(STREAM)),
        OpaqueFunction(function=play),
    ])
