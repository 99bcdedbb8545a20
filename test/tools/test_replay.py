# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Replay: with a session that only counts, and as a program with random weights."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

from bag_maker import image, PERIOD_NS, picture, stamp_ns, text, write_bag
import cv2
from lingbot_ros.cli import main
from lingbot_ros.errors import CacheFullError, NonFinitePoseError, ShapeError, SourceError
from lingbot_ros.model import embedded
from lingbot_ros.records import PoseEstimate
from lingbot_ros.sources import open_source
from lingbot_ros.streaming.trajectory import read_kitti, read_tum
from lingbot_ros.tools.replay import room_for
from lingbot_ros.tools.replay_run import run_replay, Selection
import numpy as np
import pytest
from weights_maker import write_weights

ROOT = Path(__file__).resolve().parents[2]
SMALL = ['--checkpoint', 'random', '--device', 'cpu', '--anchors', '2', '--window', '3',
         '--image-size', '56', '--iterations', '1']


class CountingSession:
    """Behaves like a session: holds the anchors back, then one pose a frame, x counts frames."""

    def __init__(self, anchors=3, fail=()):
        self.anchors, self.fail = anchors, dict(fail)
        self.waiting, self.keyframes, self.calls = [], 0, 0

    def _pose(self, stamp):
        pose = np.eye(4)
        pose[0, 3] = self.keyframes
        self.keyframes += 1
        return PoseEstimate(self.keyframes - 1, stamp, pose, np.eye(3), (1, 1), False, True,
                            np.zeros(9, np.float32))

    def push(self, picture, stamp):
        self.calls += 1
        if error := self.fail.get(self.calls):
            raise error
        if self.waiting is None:
            return [self._pose(stamp)]
        self.waiting.append(stamp)
        return self.flush() if len(self.waiting) == self.anchors else []

    def flush(self):
        stamps, self.waiting = self.waiting or [], None
        return [self._pose(stamp) for stamp in stamps]


@pytest.fixture
def bag(tmp_path):
    return write_bag(tmp_path / 'bag', {'/camera': [image(i) for i in range(10)]}, 'mcap')


def replay(bag, session=None, selection=None, **options):
    output = io.StringIO()
    with open_source(bag) as source:
        state = run_replay(source, session or CountingSession(), output, selection or Selection(),
                           **options)
    lines = output.getvalue().splitlines()
    stamps = [round(float(line.split()[0]) * 1e9) for line in lines]
    assert len(stamps) == len(state.trajectory)
    return state, state.trajectory.stamps_ns.tolist()


def test_every_frame_in_order(bag):
    state, stamps = replay(bag)
    assert stamps == [stamp_ns(i) for i in range(10)]
    assert (state.read, state.used, state.refused, state.keyframes) == (10, 10, 0, 10)
    assert state.stopped == '' and not state.interrupted and state.seconds > 0


def test_fewer_frames_than_anchors_are_flushed(bag):
    state, stamps = replay(bag, CountingSession(anchors=99))
    assert stamps == [stamp_ns(i) for i in range(10)]


@pytest.mark.parametrize('selection, expected', [
    (Selection(stride=3), [0, 3, 6, 9]),
    (Selection(max_frames=4), [0, 1, 2, 3]),
    (Selection(stride=2, max_frames=3), [0, 2, 4]),
    (Selection(start_s=2 * PERIOD_NS / 1e9), range(2, 10)),
    (Selection(start_s=1.5 * PERIOD_NS / 1e9, stride=4), [2, 6]),
    (Selection(duration_s=3 * PERIOD_NS / 1e9), [0, 1, 2]),
    (Selection(start_s=4 * PERIOD_NS / 1e9, duration_s=2 * PERIOD_NS / 1e9), [4, 5]),
    (Selection(start_s=100), []),
    (Selection(duration_s=0), []),
])
def test_selection(bag, selection, expected):
    state, stamps = replay(bag, CountingSession(anchors=1), selection)
    assert stamps == [stamp_ns(i) for i in expected]
    assert state.used == len(stamps)


def test_reading_ends_with_the_selection(bag):
    assert replay(bag, selection=Selection(max_frames=4))[0].read == 4
    assert replay(bag, selection=Selection(duration_s=3 * PERIOD_NS / 1e9))[0].read == 4


def test_refused_frames_are_counted_and_the_rest_goes_on(bag, caplog):
    fail = {5: NonFinitePoseError('got NaN'), 7: ShapeError('expected frames of 1 x 1, got 2 x 2')}
    state, stamps = replay(bag, CountingSession(fail=fail))
    assert stamps == [stamp_ns(i) for i in range(10) if i not in (4, 6)]
    assert state.refused == 2 and state.used == 10
    assert 'frame 5 refused: got NaN' in caplog.text


def test_a_full_cache_ends_it_and_keeps_the_poses(bag):
    state, stamps = replay(bag, CountingSession(fail={6: CacheFullError('raise max_keyframes')}))
    assert len(stamps) == 5 and state.stopped == 'raise max_keyframes'


def test_interrupt_keeps_the_poses(bag):
    seen = []
    state, stamps = replay(bag, should_stop=lambda: len(seen) == 6,
                           on_frame=lambda state: seen.append(len(state.trajectory)))
    assert state.interrupted and state.stopped == 'interrupted'
    assert len(stamps) == 6 and seen == [0, 0, 3, 4, 5, 6]


def test_room_for_keyframes(bag):
    with open_source(bag) as source:
        assert room_for(source, Selection(), 8, 1) == 18
        assert room_for(source, Selection(stride=3), 2, 2) == 4
        assert room_for(source, Selection(max_frames=5), 8, 1) == 8
        source.len_hint = None
        assert room_for(source, Selection(), 8, 1) is None


def test_command_writes_everything(bag, tmp_path, capsys):
    out = tmp_path / 'deep' / 'er' / 'traj.tum'
    assert main(['replay', str(bag), *SMALL, '--reference', '--output', str(out), '--kitti',
                 str(tmp_path / 'k.txt')]) == 0
    trajectory = read_tum(out)
    assert trajectory.stamps_ns.tolist() == [stamp_ns(i) for i in range(10)]
    assert np.isfinite(trajectory.poses).all()
    np.testing.assert_allclose(read_kitti(tmp_path / 'k.txt'), trajectory.poses, atol=1e-6)
    summary = json.loads(out.with_suffix('.json').read_text())
    assert summary['topic'] == '/camera' and summary['poses'] == 10
    assert summary['frames'] == {'read': 10, 'used': 10, 'undecodable': 0, 'refused': 0,
                                 'lost': 0}
    assert summary['checkpoint'] == {'path': 'random', 'is_random': True}
    assert summary['keyframes'] == 10 and not summary['interrupted']
    assert summary['settings']['window'] == 3 and summary['settings']['max_keyframes'] >= 10
    assert summary['peak_memory_bytes']['host'] > 1e7 and summary['frames_per_second'] > 0
    assert set(summary['files']) == {'tum', 'plot', 'summary', 'kitti'}
    assert summary['path_length_scene_units'] == pytest.approx(trajectory.path_length, abs=1e-6)
    assert cv2.imread(str(out.with_suffix('.png'))).shape[1] > 800
    assert 'RANDOM WEIGHTS' in out.read_text().splitlines()[0]
    assert 'RANDOM WEIGHTS' in capsys.readouterr().out
    # Again, elsewhere: the same bytes.
    assert main(['replay', str(bag), *SMALL, '--reference', '--output',
                 str(tmp_path / 'two.tum')]) == 0
    assert (tmp_path / 'two.tum').read_bytes() == out.read_bytes()


def test_without_options_the_weights_decide(bag, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(embedded, 'weights_folder', lambda: tmp_path)
    write_weights(tmp_path, metadata={'lingbot_ros': json.dumps({'stream': {
        'image_size': 70, 'window': 3, 'anchor_frames': 2, 'camera_iterations': 1}})})
    out = tmp_path / 'traj.tum'
    assert main(['replay', str(bag), '--output', str(out), '--window', '4']) == 0
    summary = json.loads(out.with_suffix('.json').read_text())
    settings = summary['settings']
    assert (settings['image_size'], settings['window'], settings['anchor_frames']) == (70, 4, 2)
    assert summary['checkpoint'] == {'path': 'embedded', 'is_random': False}
    assert settings['segments'] == {'keyframes': 320, 'overlap': 8} and settings['tracking']
    assert 'RANDOM' not in capsys.readouterr().out
    # These weights are drawn as well, but do not say so: their poses are judged.
    assert summary['poses'] + summary['frames']['lost'] == 10 and summary['poses'] > 0


def test_without_end_is_the_default(bag, tmp_path):
    out = tmp_path / 'traj.tum'
    assert main(['replay', str(bag), *SMALL, '--output', str(out), '--overlap-keyframes', '3',
                 '--segment-keyframes', '40', '--keyframe-interval', '2']) == 0
    assert len(read_tum(out)) == 10
    summary = json.loads(out.with_suffix('.json').read_text())
    settings, session = summary['settings'], summary['session']
    assert settings['segments'] == {'keyframes': 40, 'overlap': 3}
    assert settings['anchors']['policy'] == 'motion' and settings['tracking'] is None
    assert settings['keyframes']['policy'] == 'interval' and settings['keyframe_interval'] == 2
    assert session['frames'] == 10 and session['pages_used'] <= session['pages_total']


@pytest.mark.parametrize('arguments, code, message', [
    (['{bag}', '--checkpoint', ''], 2, "no checkpoint at ''"),
    (['{bag}', '--checkpoint', '/no/such.pt'], 2, "no checkpoint at '/no/such.pt'"),
    (['/no/such', *SMALL], 2, '/no/such: no such file or folder'),
    (['{bag}', *SMALL, '--topic', '/x'], 2, 'no topic /x; image topics: /camera'),
    (['{bag}', *SMALL, '--stride', '0'], 2, "argument --stride: invalid integer >= 1 value: '0'"),
    (['{bag}', *SMALL, '--start', 'x'], 2, "argument --start: invalid number >= 0 value: 'x'"),
    (['{bag}', *SMALL, '--device', 'tpu'], 2, 'tpu'),
    (['{bag}', *SMALL, '--backend', 'fast'], 2, 'fast'),
    (['{bag}', *SMALL, '--image-size', '57'], 2, 'image_size must be a multiple'),
    (['{bag}', *SMALL, '--output', '/proc/no/traj.tum'], 2, 'cannot write /proc/no/traj.tum'),
    (['{bag}', *SMALL, '--output', '{bag}'], 2, 'it is a folder or protected'),
    (['{bag}', *SMALL, '--output', '.'], 2, '--output must name a file, got .'),
    (['{bag}', *SMALL, '--output', '{bag}/bag.mcap'], 2, 'bag.mcap: it lies in the recording'),
    (['{bag}', *SMALL, '--plot', '{bag}/new.png'], 2, 'new.png: it lies in the recording'),
    (['{bag}', *SMALL, '--plot', '{out}/a.doc'], 2, '--plot must end in one of .png'),
    (['{bag}', *SMALL, '--summary', '{out}/t.tum'], 2, 'output files must differ'),
    (['{bag}', *SMALL, '--reference', '--max-keyframes', '3'], 2,
     'ended early, 3 poses kept: '),
    (['{bag}', *SMALL, '--max-keyframes', '3'], 2, '--max-keyframes is for --reference'),
    (['{bag}', *SMALL, '--reference', '--lost-frames', '3'], 2, 'are not for --reference'),
    (['{bag}', *SMALL, '--segment-keyframes', '9'], 2, 'segment_keyframes must be at least'),
    (['{bag}', *SMALL, '--start', '50'], 1, '0 used, 0 refused; --start is beyond'),
    ([], 2, 'the following arguments are required: BAG_OR_FOLDER_OR_VIDEO'),
])
def test_refusals_are_one_line(bag, tmp_path, capsys, arguments, code, message):
    out = tmp_path / 'out'
    out.mkdir()
    arguments = [a.format(bag=bag, out=out) for a in arguments]
    if '--output' not in arguments and arguments:
        arguments += ['--output', str(out / 't.tum')]
    try:
        got = main(['replay', *arguments])
    except SystemExit as exit_:
        got = exit_.code
    errors = [line for line in capsys.readouterr().err.splitlines()
              if line.startswith('lingbot_ros: error: ')]
    assert not (out / 't.json').exists() or 'ended early' in message or code == 1
    assert got == code and len(errors) == 1 and message in errors[0], errors


def test_a_run_without_poses_leaves_older_results_alone(bag, tmp_path):
    old = tmp_path / 'old.tum'
    old.write_text('precious')
    assert main(['replay', str(bag), *SMALL, '--start', '50', '--output', str(old)]) == 1
    assert old.read_text() == 'precious'
    assert 'tum' not in json.loads(old.with_suffix('.json').read_text())['files']


def test_nothing_to_see(tmp_path):
    bag = write_bag(tmp_path / 'bag', {'/chatter': [text()]})
    assert main(['replay', str(bag), *SMALL]) == 2
    depth = image(0)
    depth.encoding = '16UC1'
    with pytest.raises(SourceError, match='none of 1 frames'):
        replay(write_bag(tmp_path / 'depth', {'/depth': [depth]}))


def test_command_line_surface(capsys):
    for arguments, code, expected in (
            (['--help'], 0, 'replay'), (['replay', '--help'], 0, '--keyframe-interval'),
            (['--version'], 0, 'lingbot_ros 0.'), ([], 2, 'required: COMMAND'),
            (['dance'], 2, "invalid choice: 'dance'")):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        out = capsys.readouterr()
        assert caught.value.code == code and expected in out.out + out.err
        assert out.err.count('\n') <= 1


def test_ctrl_c_keeps_what_there_is(tmp_path):
    frames = tmp_path / 'frames'
    frames.mkdir()
    data = cv2.imencode('.png', picture(0, (480, 640, 3)))[1].tobytes()
    for index in range(3000):
        (frames / f'{index}.png').write_bytes(data)
    out = tmp_path / 'traj.tum'
    command = [sys.executable, '-m', 'lingbot_ros', 'replay', str(frames), *SMALL, '--output',
               str(out)]
    environment = {**os.environ, 'PYTHONPATH': str(ROOT), 'OMP_NUM_THREADS': '1'}
    process = subprocess.Popen(command, env=environment, start_new_session=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (
            not out.exists() or out.read_text().count('\n') < 20):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 130, stderr
    assert 'Traceback' not in stderr and 'interrupted' in stdout
    summary = json.loads(out.with_suffix('.json').read_text())
    assert summary['interrupted'] is True
    assert 10 < summary['poses'] == len(read_tum(out)) < 3000
    assert out.with_suffix('.png').stat().st_size > 1000
