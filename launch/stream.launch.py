# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Starts stream_node on a camera topic.

    ros2 launch lingbot_ros stream.launch.py image:=/cam/image_raw
    ros2 launch lingbot_ros stream.launch.py image:=/cam/image_raw checkpoint:=/path/lingbot-map.pt

Without a checkpoint the node runs the small network in the package. An argument that is left
empty does not touch the parameter file.
"""

from __future__ import annotations

import os

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, SetEnvironmentVariable
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

SHARE = get_package_share_directory('lingbot_ros')

# Parameters that have an argument of their own, and their types.
PARAMETERS = {'checkpoint': str, 'device': str, 'window': int, 'image_transport': str,
              'camera_frame': str}

BOOLEANS = ['true', 'false']


def arguments() -> list[DeclareLaunchArgument]:
    """Declare the arguments of this file."""
    def argument(name: str, default: str, text: str,
                 choices: list[str] | None = None) -> DeclareLaunchArgument:
        return DeclareLaunchArgument(name, default_value=default, description=text,
                                     choices=choices)

    return [
        argument('params_file', os.path.join(SHARE, 'config', 'stream.yaml'),
                 'YAML file with the parameters of the node'),
        argument('checkpoint', '', "weights: 'embedded', a .pt or .safetensors file, or 'random'; "
                 "empty: params_file, which says 'embedded' unless you changed it"),
        argument('image', '/camera/image_raw', 'image topic'),
        argument('image_transport', '', 'raw or compressed; empty: params_file'),
        argument('camera_frame', '',
                 "optical frame of the camera; empty: params_file, else the image's frame_id"),
        argument('device', '', 'auto, cpu, cuda or cuda:N; empty: params_file'),
        argument('window', '', 'keyframes whose patches are kept; empty: params_file'),
        argument('namespace', '', 'namespace of the node'),
        argument('node_name', 'lingbot', 'name of the node'),
        argument('use_sim_time', 'false', 'take the time from /clock', BOOLEANS),
        argument('log_level', 'info', 'debug, info, warn, error or fatal'),
        argument('rviz', 'false', 'start RViz too', BOOLEANS),
        argument('rviz_config', os.path.join(SHARE, 'rviz', 'stream.rviz'), 'RViz settings'),
        argument('dds_profile', os.path.join(SHARE, 'config', 'fastdds_shm.xml'),
                 'Fast DDS profile with room for images, used unless the environment names one '
                 'already; empty: none. The process that publishes the images needs it'),
    ]


def actions(context: LaunchContext) -> list:
    """Build the actions once the arguments are known."""
    value = context.launch_configurations
    use_sim_time = value['use_sim_time'] == 'true'
    # With its type, because launch would read the text as YAML ('no' as false, '1' as a number).
    overrides: dict = {name: ParameterValue(kind(value[name]), value_type=kind)
                       for name, kind in PARAMETERS.items() if value[name]}
    # Only when asked for: the parameter file may say use_sim_time as well.
    if use_sim_time:
        overrides['use_sim_time'] = True
    result: list = []
    # Kilted renamed the variable, and warns of the old name.
    old = os.environ.get('ROS_DISTRO') in ('humble', 'jazzy')
    variable = f'{"FASTRTPS" if old else "FASTDDS"}_DEFAULT_PROFILES_FILE'
    if value['dds_profile'] and not os.environ.get(variable):
        result.append(SetEnvironmentVariable(variable, value['dds_profile']))
    result.append(Node(
        package='lingbot_ros',
        executable='stream_node',
        name=value['node_name'],
        namespace=value['namespace'],
        parameters=[value['params_file'], overrides] if overrides else [value['params_file']],
        remappings=[('image', value['image'])],
        arguments=['--ros-args', '--log-level', value['log_level']],
        output='screen',
    ))
    if value['rviz'] == 'true':
        # The displays name the default topics; this node's real names are remapped onto them.
        prefix = f'/{value["namespace"]}/{value["node_name"]}'.replace('//', '/')
        result.append(Node(
            package='rviz2',
            executable='rviz2',
            arguments=['-d', value['rviz_config']],
            namespace=value['namespace'],
            parameters=[{'use_sim_time': use_sim_time}],
            remappings=[('/lingbot/path', f'{prefix}/path'),
                        ('/lingbot/odometry', f'{prefix}/odometry'),
                        ('/camera/image_raw', value['image'])],
            output='log',
        ))
    return result


def generate_launch_description() -> LaunchDescription:
    """Describe arguments and actions."""
    return LaunchDescription([*arguments(), OpaqueFunction(function=actions)])
