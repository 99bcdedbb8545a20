# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Real rclpy between real processes, kept on this machine.

`environment` is what every process of a test gets; `NodeProcess` runs stream_node; `Probe` is the
test's own side: it publishes images, keeps what comes back, and calls services.
"""

from __future__ import annotations

import array
from collections.abc import Callable
import os
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import Any

import numpy as np

REPOSITORY = Path(__file__).parents[2]
DISCOVERY_S = 15.0


def environment(domain: int, home: Path) -> dict[str, str]:
    return {
        **os.environ,
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
        'ROS_DOMAIN_ID': str(domain),
        'ROS_LOG_DIR': str(home),
        'HOME': str(home),
        'FASTDDS_DEFAULT_PROFILES_FILE': str(REPOSITORY / 'config' / 'fastdds_shm.xml'),
        'OMP_NUM_THREADS': '1',
        'PYTHONPATH': os.pathsep.join(
            [str(REPOSITORY), *filter(None, [os.environ.get('PYTHONPATH')])]),
    }


def wait_until(condition: Callable[[], Any], timeout_s: float, what: str) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, f'no {what} within {timeout_s} s'
        time.sleep(0.005)


class NodeProcess:
    """stream_node in its own process; its standard error goes to a file."""

    def __init__(self, env: dict[str, str], log: Path, namespace: str = '',
                 extra: tuple[str, ...] = (),
                 program: tuple[str, ...] = ('-m', 'lingbot_ros.ros.stream_node'),
                 **parameters: Any) -> None:
        self.name = f'{namespace}/lingbot'
        self.log_file = log
        self.environment = env
        command = [sys.executable, *program, '--ros-args']
        for key, value in parameters.items():
            text = str(value).lower() if isinstance(value, bool) else value
            command += ['-p', f'{key}:={text}']
        if namespace:
            command += ['-r', f'__ns:={namespace}']
        with log.open('w') as stream:
            # A session of its own: a child of a non-interactive shell may ignore SIGINT.
            self.process = subprocess.Popen(
                [*command, *extra], cwd=log.parent, env=env, stdout=stream, stderr=stream,
                start_new_session=True)

    @property
    def log(self) -> str:
        return self.log_file.read_text()

    def wait_for_log(self, text: str, timeout_s: float = 30.0) -> None:
        wait_until(lambda: text in self.log or self.process.poll() is not None, timeout_s,
                   f'{text!r} in the log')
        assert text in self.log, self.log

    def wait(self, timeout_s: float = 30.0) -> int:
        return self.process.wait(timeout_s)

    def end(self, number: int = signal.SIGINT) -> tuple[int, float]:
        """Send a signal; return the exit code and how long it took, seconds."""
        begin = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(10)
        return code, time.monotonic() - begin

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def image_message(picture: np.ndarray, encoding: str, stamp_ns: int, frame_id: str = 'camera',
                  step: int | None = None) -> Any:
    """Build an Image from an array [H, W] or [H, W, C] (or raw rows), without row padding."""
    from sensor_msgs.msg import Image
    message = Image(height=picture.shape[0], width=picture.shape[1], encoding=encoding)
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 1_000_000_000)
    message.header.frame_id = frame_id
    message.step = step if step is not None else picture.nbytes // picture.shape[0]
    message.data = array.array('B', picture.tobytes())
    return message


def texture(height: int = 48, width: int = 64, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


class Probe:
    """A node of the test process, spun by its own thread."""

    def __init__(self) -> None:
        import threading

        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        self.node = rclpy.create_node('probe')
        self.received: dict[str, list[Any]] = {}
        self.arrival_ns: dict[str, list[int]] = {}
        self._clients: dict[str, Any] = {}
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()
        self._stamp_ns = 1_700_000_000_123_456_789

    def _spin(self) -> None:
        while not self._stop.is_set():
            self._executor.spin_once(timeout_sec=0.02)

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self._executor.shutdown()
        self.node.destroy_node()

    def listen(self, topic: str, kind: Any, reliable: bool = True) -> list[Any]:
        from rclpy.qos import QoSProfile, ReliabilityPolicy
        messages = self.received.setdefault(topic, [])
        times = self.arrival_ns.setdefault(topic, [])

        def store(message: Any) -> None:
            times.append(time.time_ns())
            messages.append(message)

        reliability = ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT
        self.node.create_subscription(
            kind, topic, store, QoSProfile(depth=100, reliability=reliability))
        return messages

    def publisher(self, topic: str, kind: Any, reliable: bool = False) -> Any:
        from rclpy.qos import QoSProfile, ReliabilityPolicy
        reliability = ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT
        publisher = self.node.create_publisher(
            kind, topic, QoSProfile(depth=5, reliability=reliability))
        wait_until(publisher.get_subscription_count, DISCOVERY_S, f'subscriber of {topic}')
        return publisher

    def connect(self, *topics: str) -> None:
        """Wait until every topic has a publisher that this probe hears."""
        for topic in topics:
            wait_until(lambda topic=topic: self.node.count_publishers(topic), DISCOVERY_S,
                       f'publisher of {topic}')
        time.sleep(0.2)  # the publisher's side of the match comes a little later

    def next_stamp(self, period_ns: int = 33_333_333) -> int:
        self._stamp_ns += period_ns
        return self._stamp_ns

    def call(self, service: str, kind: Any, request: Any, timeout_s: float = 10.0) -> Any:
        if service not in self._clients:
            self._clients[service] = self.node.create_client(kind, service)
            assert self._clients[service].wait_for_service(DISCOVERY_S), service
        future = self._clients[service].call_async(request)
        wait_until(future.done, timeout_s, f'answer of {service}')
        return future.result()

    def set_parameter(self, node: str, name: str, value: Any) -> Any:
        """Set one parameter through the service; returns the SetParametersResult."""
        from rcl_interfaces.srv import SetParameters
        from rclpy.parameter import Parameter
        message = Parameter(name, value=value).to_parameter_msg()
        response = self.call(f'{node}/set_parameters', SetParameters,
                             SetParameters.Request(parameters=[message]))
        return response.results[0]

    def get_parameter(self, node: str, name: str) -> Any:
        from rcl_interfaces.srv import GetParameters
        from rclpy.parameter import parameter_value_to_python
        response = self.call(f'{node}/get_parameters', GetParameters,
                             GetParameters.Request(names=[name]))
        return parameter_value_to_python(response.values[0])

    def report(self, after: int = 0) -> dict[str, str]:
        """Newest diagnostics of the node as a dict, waiting for message number `after` + 1."""
        messages = self.received['/diagnostics']
        wait_until(lambda: len(messages) > after, 5, 'diagnostics')
        status = messages[-1].status[0]
        return {'level': status.level, 'name': status.name, 'message': status.message,
                **{value.key: value.value for value in status.values}}
