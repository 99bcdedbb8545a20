# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Real rclpy between real processes, kept on this machine.

`environment` is what every process of a test gets; `NodeProcess` runs stream_node; `Probe` is the
test's own side: it publishes images, keeps what comes back, and calls services.

The tests hold on a slow and busy machine. Timeouts are generous, for they cost time only when a
test fails. Nothing is sent before the node knows the sender (`Probe.meet`). What a busy machine
may spoil, and only that, is measured anew (`measured`) or compared with how slow the machine is
at the moment (`slowness`).
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
from typing import Any, TypeVar

import numpy as np

T = TypeVar('T')

REPOSITORY = Path(__file__).parents[2]
PATIENCE_S = 120.0
# Start and end of a Python process that imports numpy, on an idle machine.
_USUAL_START_S = 0.15


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


def wait_until(condition: Callable[[], Any], what: str, timeout_s: float = PATIENCE_S) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, f'no {what} within {timeout_s} s'
        time.sleep(0.005)


def measured(measure: Callable[[], T], good: Callable[[T], bool], tries: int = 3) -> T:
    """Return the first good result, or the last one; what always must hold `measure` asserts."""
    for _ in range(tries - 1):
        if good(result := measure()):
            return result
    return measure()


def slowness() -> float:
    """How many times longer than usual a process takes on this machine now, at least 1."""
    begin = time.monotonic()
    subprocess.run([sys.executable, '-c', 'import numpy'], check=True)
    return max(1.0, (time.monotonic() - begin) / _USUAL_START_S)


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

    def wait_for_log(self, text: str) -> None:
        wait_until(lambda: text in self.log or self.process.poll() is not None,
                   f'{text!r} in the log')
        assert text in self.log, self.log

    def wait(self) -> int:
        return self.process.wait(PATIENCE_S)

    def end(self, number: int = signal.SIGINT) -> tuple[int, float]:
        """Send a signal; return the exit code and how long it took, seconds."""
        begin = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE_S)
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

    def __init__(self, name: str = 'probe') -> None:
        import threading

        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        self.node = rclpy.create_node(name)
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
        """Make a publisher; returns when it knows a subscriber."""
        from rclpy.qos import QoSProfile, ReliabilityPolicy
        reliability = ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT
        publisher = self.node.create_publisher(
            kind, topic, QoSProfile(depth=100, reliability=reliability))
        wait_until(publisher.get_subscription_count, f'subscriber of {topic}')
        return publisher

    def meet(self, node: str) -> None:
        """
        Return when a node knows every publisher, subscription and client made here so far.

        They are announced in the order they were made, so an answer to the youngest client
        proves that the node knows what came before.
        """
        from rcl_interfaces.srv import GetParameters
        name = f'{node}/get_parameters'
        client = self._clients[name] = self.node.create_client(GetParameters, name)
        assert client.wait_for_service(PATIENCE_S), f'no service {name} within {PATIENCE_S} s'
        asked, futures = 0.0, []

        def answered() -> bool:
            nonlocal asked
            # A node that does not know the client yet loses its answer.
            if time.monotonic() - asked > 1:
                asked = time.monotonic()
                futures.append(client.call_async(GetParameters.Request(names=['use_sim_time'])))
            return any(future.done() for future in futures)

        wait_until(answered, f'answer of {name}')

    def next_stamp(self, period_ns: int = 33_333_333) -> int:
        self._stamp_ns += period_ns
        return self._stamp_ns

    def call(self, service: str, kind: Any, request: Any) -> Any:
        if service not in self._clients:
            self._clients[service] = self.node.create_client(kind, service)
            self.meet(service.rpartition('/')[0])
            assert self._clients[service].wait_for_service(PATIENCE_S), service
        future = self._clients[service].call_async(request)
        wait_until(future.done, f'answer of {service}')
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

    def report(self) -> dict[str, str]:
        """Diagnostics of the node as a dict, of a moment after this call."""
        messages = self.received['/diagnostics']
        begin_ns = time.time_ns() + 50_000_000  # the stamp is a little later than the facts

        def is_new() -> bool:
            stamp = messages[-1].header.stamp if messages else None
            return stamp is not None and stamp.sec * 10**9 + stamp.nanosec > begin_ns

        wait_until(is_new, 'diagnostics')
        status = messages[-1].status[0]
        return {'level': status.level, 'name': status.name, 'message': status.message,
                **{value.key: value.value for value in status.values}}

    def settled_report(self) -> dict[str, str]:
        """Diagnostics once every image that came in is accounted for, and no more come."""
        before, report = None, self.report()
        while report['frames_in'] != before or unsettled(report):
            before, report = report['frames_in'], self.report()
        return report


def unsettled(report: dict[str, str]) -> int:
    """Images that came in and are neither processed, dropped nor waiting as anchors."""
    return int(report['frames_in']) - int(report['frames_processed']) - int(
        report['frames_waiting']) - sum(
            int(value) for key, value in report.items() if key.startswith('dropped_'))
