# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Image published to pose received, through DDS and the real node in its own process.

    python benchmarks/node_latency.py --checkpoint random --size 1280x720 --rate 15

Publishes rgb8 images whose stamp is the time of publishing and listens to `~/pose`; latency is
arrival minus stamp. `--full-size` writes a checkpoint of the released sizes with drawn weights to
a temporary folder first. Halfway the window is halved through the parameter service, while the
images go on. The anchors and the first frames after them are left out of the figures.
"""

from __future__ import annotations

import argparse
import array
import os
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

PROFILE = Path(__file__).parents[1] / 'config' / 'fastdds_shm.xml'
WARM = 8


def drawn_checkpoint(folder: str) -> str:
    """Write full-size weights drawn by name; its path."""
    from lingbot_ros import load_network, NetworkConfig
    from safetensors.torch import save_file
    network = load_network('random', 'cpu', 'fp32', NetworkConfig())
    path = f'{folder}/full_size.safetensors'
    save_file({name: p.half() for name, p in network.named_parameters()}, path)
    return path


def measure(arguments: argparse.Namespace, checkpoint: str) -> tuple[dict[int, float], int]:
    """Run the node; latency in seconds by frame number, and its exit code at SIGINT."""
    from geometry_msgs.msg import PoseStamped
    from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
    from rcl_interfaces.srv import SetParameters
    import rclpy
    from sensor_msgs.msg import Image

    width, height = map(int, arguments.size.split('x'))
    settings = {'checkpoint': checkpoint, 'device': arguments.device,
                'backend': arguments.backend, 'window': arguments.window,
                'image_size': arguments.image_size}
    command = [sys.executable, '-m', 'lingbot_ros.ros.stream_node', '--ros-args']
    for name, value in settings.items():
        command += ['-p', f'{name}:={value}']
    process = subprocess.Popen(command, start_new_session=True)
    rclpy.init()
    probe = rclpy.create_node('probe')
    publisher = probe.create_publisher(Image, 'image', 5)
    numbers: dict[int, int] = {}
    latency: dict[int, float] = {}

    def on_pose(message: PoseStamped) -> None:
        stamp_ns = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        latency[numbers[stamp_ns]] = (time.time_ns() - stamp_ns) / 1e9

    probe.create_subscription(PoseStamped, 'lingbot/pose', on_pose, 50)
    service = probe.create_client(SetParameters, 'lingbot/set_parameters')
    rng = np.random.default_rng(0)
    texture = rng.integers(0, 256, (height // 8 + 40, width // 8 + 40, 3), np.uint8)
    texture = texture.repeat(8, 0).repeat(8, 1)
    message = Image(height=height, width=width, encoding='rgb8', step=3 * width)
    try:
        while not publisher.get_subscription_count():
            if process.poll() is not None:
                raise SystemExit(process.returncode)
            rclpy.spin_once(probe, timeout_sec=0.1)
        time.sleep(arguments.settle)
        begin = time.monotonic()
        for number in range(arguments.frames):
            shift = 2 * number % 320
            view = texture[shift:shift + height, shift:shift + width]
            message.data = array.array('B', view.tobytes())
            stamp_ns = time.time_ns()
            numbers[stamp_ns] = number
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 10**9)
            publisher.publish(message)
            if number == arguments.frames // 2:
                value = ParameterValue(type=ParameterType.PARAMETER_INTEGER,
                                       integer_value=max(1, arguments.window // 2))
                request = SetParameters.Request()
                request.parameters = [Parameter(name='window', value=value)]
                asked = time.monotonic()
                service.call_async(request).add_done_callback(
                    lambda _, asked=asked: print('set_parameters answered in '
                                                 f'{1e3 * (time.monotonic() - asked):.1f} ms'))
            end = begin + (number + 1) / arguments.rate
            while (left := end - time.monotonic()) > 0:
                rclpy.spin_once(probe, timeout_sec=left)
        end = time.monotonic() + 2
        while time.monotonic() < end:
            rclpy.spin_once(probe, timeout_sec=0.1)
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(20)
        rclpy.shutdown()
    return latency, code


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('--checkpoint', default='random')
    parser.add_argument('--full-size', action='store_true')
    parser.add_argument('--device', default='auto')
    parser.add_argument('--backend', default='auto')
    parser.add_argument('--window', type=int, default=64)
    parser.add_argument('--image-size', type=int, default=518)
    parser.add_argument('--size', default='1280x720', help='of the published images')
    parser.add_argument('--rate', type=float, default=15.0, help='Hz')
    parser.add_argument('--frames', type=int, default=150)
    parser.add_argument('--settle', type=float, default=60.0,
                        help='seconds for loading before the first image')
    arguments = parser.parse_args()
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    os.environ.setdefault('FASTDDS_DEFAULT_PROFILES_FILE', str(PROFILE))

    with tempfile.TemporaryDirectory() as folder:
        checkpoint = drawn_checkpoint(folder) if arguments.full_size else arguments.checkpoint
        latency, code = measure(arguments, checkpoint)
    later = [1e3 * seconds for number, seconds in latency.items() if number >= 8 + WARM]
    print(f'{arguments.size} at {arguments.rate:g} Hz, {arguments.frames} images published, '
          f'{len(latency)} poses; latency ms: median {np.median(later):.1f}, p95 '
          f'{np.percentile(later, 95):.1f}, max {max(later):.1f}; exit code {code}')


if __name__ == '__main__':
    main()
