# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The console script: chooses a command and turns errors into one line.

A command is a module with `add_arguments(parser)` and `run(args) -> int`; only the chosen one is
imported, so `replay` never needs ROS and `--help` needs next to nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import importlib
import logging
import os
import sys
from typing import NoReturn

from lingbot_ros import __version__
from lingbot_ros.errors import LingbotError

COMMANDS = {
    'replay': ('lingbot_ros.tools.replay',
               'run a bag, folder or video through the network: trajectory, plot, summary'),
    'evaluate': ('lingbot_ros.tools.evaluate',
                 'compare a trajectory with the truth, or score a network over a benchmark'),
    'play': ('lingbot_ros.ros.play', 'republish the images of a bag as ROS 2 messages'),
    'record': ('lingbot_ros.ros.record', 'write a topic of poses to a trajectory file'),
    'demo': ('lingbot_ros.tools.demo', 'play a bag through ROS 2 into the node and record it'),
}

# Exit codes, as `docs/replay.md` lists them.
NOTHING_PRODUCED = 1
REFUSED = 2
INTERRUPTED = 130


class _Parser(argparse.ArgumentParser):
    """Reports a bad argument in one line, like every other refusal."""

    def error(self, message: str) -> NoReturn:
        _complain(f'{message} (see {self.prog} --help)')
        sys.exit(REFUSED)


def _complain(message: str) -> None:
    print(f'lingbot_ros: error: {message}', file=sys.stderr)


def _overview() -> str:
    lines = [f'  {name:<10}{text}' for name, (_, text) in COMMANDS.items()]
    return '\n'.join(['commands:', *lines, '', "'lingbot_ros COMMAND --help' explains one"])


def _parse(argv: Sequence[str]) -> tuple[str, argparse.Namespace]:
    top = _Parser(
        'lingbot_ros', description='Camera images to a pose stream.', epilog=_overview(),
        formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument('--version', action='version', version=f'lingbot_ros {__version__}')
    top.add_argument('command', choices=COMMANDS, metavar='COMMAND', help='see below')
    # Options before the command are the top level's; everything behind it is the command's.
    at = next((i for i, word in enumerate(argv) if not word.startswith('-')), len(argv))
    command = top.parse_args(argv[:at + 1]).command
    module, text = COMMANDS[command]
    parser = _Parser(f'lingbot_ros {command}', description=text)
    importlib.import_module(module).add_arguments(parser)
    args = parser.parse_args(argv[at + 1:])
    args.version = __version__
    return module, args


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run a command.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; the process's by default.

    Returns
    -------
    int
        0 done, 1 nothing was produced, 2 refused with one line on stderr, 130 interrupted.

    """
    logging.basicConfig(format='lingbot_ros: %(message)s', stream=sys.stderr)
    logging.getLogger('lingbot_ros').setLevel(logging.INFO)
    try:
        module, args = _parse(sys.argv[1:] if argv is None else list(argv))
        return int(importlib.import_module(module).run(args))
    except LingbotError as error:
        _complain(' '.join(str(error).split()))
        return REFUSED
    except ModuleNotFoundError as error:
        _complain(f"{error.name} is not installed; 'play' and 'record' need ROS 2 (source its "
                  "setup file, or install lingbot_ros[ros]), other commands the package's "
                  'requirements')
        return REFUSED
    except BrokenPipeError:  # the reader of a pipe went away: nobody left to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOTHING_PRODUCED
    except KeyboardInterrupt:
        return INTERRUPTED
