# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Entry point of the executable `stream_node`: signals, start, exit codes.

0: ended by SIGINT or SIGTERM. 2: a setting is wrong; one fatal line says which.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

EXIT_BAD_SETTING = 2

_POLL_S = 0.05
_JOIN_S = 0.5


def main(args: list[str] | None = None) -> None:
    """
    Run the node until it is told to end.

    Parameters
    ----------
    args : list of str, optional
        Command line with the program's name; `sys.argv` by default.

    Raises
    ------
    SystemExit
        With the exit code.

    """
    finished = threading.Event()
    # Our own handlers instead of rclpy's: KeyboardInterrupt could come up on any line, and a
    # signal before rclpy.init must count too. So they are set before the slow imports.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: finished.set())
    sys.exit(_run(sys.argv if args is None else args, finished))


def _run(args: list[str], finished: threading.Event) -> int:
    """Run the node; returns only when it could not start."""
    from lingbot_ros.errors import LingbotError
    try:
        from lingbot_ros.ros.node import StreamNode
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.logging import get_logger
        from rclpy.signals import SignalHandlerOptions
    except ModuleNotFoundError as error:
        sys.stderr.write(f'stream_node: cannot start: {error.name} is not installed; source the '
                         'setup file of ROS 2, or pip install lingbot_ros[ros]\n')
        return EXIT_BAD_SETTING

    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    except Exception as error:
        get_logger('lingbot').fatal(f'cannot start: ROS arguments not understood: {error}; a '
                                    'value with blanks needs quotes')
        return EXIT_BAD_SETTING
    try:
        node = StreamNode(finished)
    except LingbotError as error:
        get_logger('lingbot').fatal(f'cannot start: {error}')
        rclpy.shutdown()
        return EXIT_BAD_SETTING
    # Callbacks take microseconds, so one thread serves them all; with images at 30 Hz the
    # multi-threaded executor is erratic.
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    while not finished.is_set():
        executor.spin_once(timeout_sec=_POLL_S)
    node.stop(_JOIN_S)
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    # ROS is closed in order. The interpreter is left without its own teardown: that of torch takes
    # up to 2 s on a busy machine, and crashes a thread that still runs the network.
    os._exit(node.exit_code)


if __name__ == '__main__':
    main()
