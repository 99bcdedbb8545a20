# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
`lingbot_ros demo`: a bag through ROS 2 into the node, and what it publishes into a file.

Player, node and recorder are three processes, the programs that a robot runs; nothing here
imports ROS. They meet through DDS, so a demo that ends well has shown that images, poses and
stamps cross it. Where the truth is known, the plot shows it, and the error is printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
import os
from pathlib import Path
import re
import signal
import subprocess
import sys
import time

from lingbot_ros.errors import ConfigError, EvaluationError, LingbotError
from lingbot_ros.geometry.axes import T_ODOM_OPTICAL
from lingbot_ros.geometry.rigid import invert_transform
from lingbot_ros.sources import open_source
from lingbot_ros.streaming.trajectory import read_tum, Trajectory
from lingbot_ros.tools.plot import plot_trajectory, RANDOM_WARNING

TRUTH_NAME = 'groundtruth.tum'
NODE = '/lingbot'
POSE_TOPIC = f'{NODE}/pose'
IMAGE_TOPIC = '/camera/image_raw'
_POLL_S = 0.2
_STOP_S = 10.0


@dataclass(frozen=True)
class DemoConfig:
    """
    Settings of a demo.

    Attributes
    ----------
    bag : Path
        Bag with an image topic.
    output : Path
        Folder for trajectory and logs; made when absent.
    checkpoint : str
        As for the node: 'embedded', a file, or 'random'.
    image_size, anchor_frames, window : int
        As for the node; 0 takes what the weights were trained for.
    rate : float
        Speed of the player, 1 being the bag's own; 0: an image when the one before was answered.
    quiet_s : float
        Seconds without a new pose, after the player has ended, that end the demo.
    start_s : float
        Seconds within which the node must be ready (loading included).

    """

    bag: Path
    output: Path
    checkpoint: str = 'embedded'
    image_size: int = 0
    anchor_frames: int = 0
    window: int = 0
    rate: float = 0.0
    quiet_s: float = 3.0
    start_s: float = 300.0


@contextmanager
def _process(name: str, arguments: list[str], log: Path,
             environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run one of our programs with its output in a file; end it as Ctrl-C does."""
    with log.open('wb') as file:
        # Its own session: a background process would inherit an ignored SIGINT.
        process = subprocess.Popen([sys.executable, '-m', *arguments], env=environment,
                                   stdin=subprocess.DEVNULL, stdout=file,
                                   stderr=subprocess.STDOUT, start_new_session=True)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            code = process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        print(f'{name}: exit code {code}, log in {log}')


def _lines(path: Path) -> int:
    return path.read_bytes().count(b'\n') if path.exists() else 0


def _wait_for(text: str, log: Path, process: subprocess.Popen[bytes], limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while text not in log.read_text(errors='replace'):
        ended = process.poll() is not None
        if ended or time.monotonic() > deadline:
            last = (log.read_text(errors='replace').splitlines() or ['nothing'])[-1]
            raise LingbotError(f'the {log.stem} {"ended" if ended else "took too long"} before it '
                               f'said {text!r}; its last line: {last}')
        time.sleep(_POLL_S)


def run_demo(config: DemoConfig) -> Path:
    """
    Run the three processes to the end of the bag.

    Parameters
    ----------
    config : DemoConfig
        What to play, and where to write.

    Returns
    -------
    Path
        TUM file of the poses as published, at least one.

    Raises
    ------
    LingbotError
        If a process did not start, or no pose came.

    """
    config.output.mkdir(parents=True, exist_ok=True)
    trajectory = config.output / 'trajectory.tum'
    trajectory.unlink(missing_ok=True)
    parameters = {'checkpoint': config.checkpoint, 'image_size': config.image_size,
                  'anchor_frames': config.anchor_frames, 'window': config.window}
    node_arguments = ['lingbot_ros.ros.stream_node', '--ros-args',
                      '--remap', f'image:={IMAGE_TOPIC}']
    for name, value in parameters.items():
        node_arguments += ['--param', f'{name}:={value}']
    logs = {name: config.output / f'{name}.log' for name in ('node', 'recorder', 'player')}
    environment = dict(os.environ)
    if config.checkpoint in ('embedded', 'random'):
        # So small a network loses more by threads that wait for each other than it gains.
        environment.setdefault('OMP_NUM_THREADS', '1')
    with (_process('node', node_arguments, logs['node'], environment) as node,
          _process('recorder', ['lingbot_ros', 'record', POSE_TOPIC, '--output',
                                str(trajectory)], logs['recorder'], environment) as recorder):
        _wait_for('ready: ', logs['node'], node, config.start_s)
        _wait_for('recording ', logs['recorder'], recorder, config.start_s)
        play = ['lingbot_ros', 'play', str(config.bag), '--to', IMAGE_TOPIC, '--rate',
                str(config.rate), '--wait-for-subscriber', '30']
        if config.rate == 0:
            play += ['--answers', NODE]
        with _process('player', play, logs['player'], environment) as player:
            player.wait()
        count, changed = _lines(trajectory), time.monotonic()
        while time.monotonic() - changed < config.quiet_s:
            time.sleep(_POLL_S)
            if _lines(trajectory) != count:
                count, changed = _lines(trajectory), time.monotonic()
    if not count:
        raise LingbotError(f'no pose came on {POSE_TOPIC}; the reasons are in '
                           + ', '.join(str(log) for log in logs.values()))
    return trajectory


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `lingbot_ros demo`."""
    defaults = DemoConfig(Path(), Path())
    parser.add_argument('bag', type=Path, metavar='BAG', help='bag with an image topic')
    parser.add_argument('--truth', type=Path, metavar='FILE.tum',
                        help='true trajectory (default: groundtruth.tum in the bag or beside it, '
                        'where there is one)')
    parser.add_argument('--output', type=Path, default=Path('demo'), metavar='FOLDER',
                        help='for trajectory, plot and logs (default demo)')
    parser.add_argument('--checkpoint', default=defaults.checkpoint, metavar='PATH',
                        help="weights: 'embedded' (default), a .pt or .safetensors file, or "
                        "'random' for poses that mean nothing")
    parser.add_argument('--rate', type=float, default=defaults.rate, metavar='FACTOR',
                        help='pace of the images, 1 being that of the bag; the node skips those '
                        'for which it is too slow (default 0: each when the one before was '
                        'answered)')
    for name, text in (
            ('image-size', 'width of the processed image, pixels'),
            ('anchor-frames', 'first frames, which fix origin and scale'),
            ('window', 'keyframes after the anchors that are kept whole')):
        parser.add_argument(f'--{name}', type=int, default=0, metavar='N',
                            help=f'{text} (default: as the weights were trained)')


def truth_of(bag: Path) -> Path | None:
    """Return the true trajectory that comes with a bag: in its folder, or beside it."""
    for folder in (bag, bag.parent):
        if (folder / TRUTH_NAME).is_file():
            return folder / TRUTH_NAME
    return None


def _plot_against_truth(plot: Path, trajectory: Trajectory, truth: Path, title: str) -> bool:
    """Plot with truth and print the error; without evo, say so and return False."""
    try:
        from lingbot_ros.evaluation.association import associate
        from lingbot_ros.evaluation.files import read_track
        from lingbot_ros.evaluation.result import evaluate
        from lingbot_ros.evaluation.track import make_track
        from lingbot_ros.tools.evaluate_plot import evaluation_figure, save_figure
    except EvaluationError as error:
        print(f'{truth} is left out: {error}')
        return False
    estimate = make_track('the trajectory', trajectory.poses, trajectory.stamps_ns)
    result = evaluate(associate(estimate, read_track(truth)))
    score = result.score
    save_figure(evaluation_figure(result, title), plot)
    print(f'against {truth}, after a Sim(3) fit: ATE {score.ate_sim3:.3g} m, '
          f'{score.ate_percent:.2f} % of a path of {score.path_length:.2f} m; rotation over 8 '
          f'frames {score.rotation_8_deg:.2f} degrees')
    return True


def run(args: argparse.Namespace) -> int:
    """Run the command: play, record, plot, and say what came out."""
    config = DemoConfig(args.bag, args.output, args.checkpoint, args.image_size,
                        args.anchor_frames, args.window, args.rate)
    truth = args.truth or truth_of(args.bag)
    if truth is not None and not truth.is_file():
        raise ConfigError(f'--truth must be a trajectory file, got {truth}')
    with open_source(config.bag):
        pass  # refuses what is no recording, before three processes start
    file = run_demo(config)
    recorded = Trajectory()
    # The node publishes in odom's axes, the plot reads optical ones.
    T_optical_odom = invert_transform(T_ODOM_OPTICAL)
    for stamp_ns, T_odom_camera in read_tum(file):
        recorded.append(stamp_ns, T_optical_odom @ T_odom_camera)
    random = config.checkpoint == 'random'
    plot = file.with_suffix('.png')
    title = f'{config.bag} through ROS 2'
    match = re.search(r'(\d+) images sent .* in ([\d.]+) s',
                      (config.output / 'player.log').read_text())
    images = int(match[1]) if match else 0
    pace = f' in {match[2]} s' if match else ''
    print(f'trajectory: {file} ({len(recorded)} poses from {images} images{pace})')
    print(f'plot:       {plot}')
    # Poses that mean nothing have no error worth a number.
    if random or truth is None or not _plot_against_truth(plot, recorded, truth, title):
        plot_trajectory(plot, recorded, title, RANDOM_WARNING if random else '')
    if config.rate and len(recorded) < images:
        print('The node skips images while it is busy; a lower --rate loses fewer.')
    if random:
        print('The weights are random: this shows that images and poses travel, and the poses '
              'mean nothing.')
    elif config.checkpoint == 'embedded':
        print('The embedded weights are small; when to take the released ones, '
              'docs/checkpoints.md says.')
    return 0
