# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`lingbot_ros evaluate --dataset`: every layout from its files to its figures."""

from __future__ import annotations

import json
import math
import signal

from excerpt import (
    camera_poses,
    COUNT,
    make_euroc,
    make_folder,
    make_kitti,
    make_seven_scenes,
    make_tanks,
    make_tum,
    random_transform,
)
from lingbot_ros.cli import main
from lingbot_ros.model import embedded
from lingbot_ros.records import PoseEstimate
from lingbot_ros.tools import evaluate_dataset
from lingbot_ros.tools.evaluate_dataset import interval_for
import numpy as np
import pytest
from spires import make_oxford_spires
from weights_maker import write_weights


def make(kind, root):
    """Write one sequence of a layout; return its name and how many frames it has."""
    if kind == 'tum':
        make_tum(root / 'rgbd_dataset_freiburg1_xyz', 40)
        return 'rgbd_dataset_freiburg1_xyz', 40
    if kind == 'kitti':
        make_kitti(root, camera='image_0')
        return '07', COUNT
    if kind == '7scenes':
        make_seven_scenes(root / 'chess')
        return 'chess/seq-03', COUNT
    if kind == 'euroc':
        make_euroc(root / 'MH_01_easy', random_transform(2))
        return 'MH_01_easy', COUNT
    if kind == 'oxford_spires':
        make_oxford_spires(root)
        return '2024-03-12-keble-college-02', 30
    if kind == 'tanks':
        make_tanks(root)
        return 'Barn', COUNT
    make_folder(root / 'mine')
    return 'mine', COUNT


KINDS = ['tum', 'kitti', '7scenes', 'euroc', 'oxford_spires', 'tanks', 'folder']


class Oracle:
    """
    A session that knows the truth, in a world and unit of its own, and tells it in pairs.

    It reads the frame's number off its colour, or counts where the pictures all look alike.
    """

    pose_of = staticmethod(lambda image, stamp_ns: camera_poses()[
        round(float(image[..., 2].mean()) / 20)])
    made: list[Oracle] = []

    def __init__(self, network, config, backend):
        self.network, self.config, self.backend_name = network, config, backend
        self.keyframes, self.waiting, self.shapes = 0, [], set()
        Oracle.made.append(self)

    def push(self, image, stamp_ns):
        self.keyframes += 1
        self.shapes.add(image.shape)
        pose = random_transform(9) @ self.pose_of(image, stamp_ns)
        pose[:3, 3] *= 0.2
        self.waiting.append(PoseEstimate(
            0, stamp_ns, pose, np.eye(3), (1, 1), False, True, np.zeros(9, np.float32)))
        return self.flush() if len(self.waiting) == 2 else []

    def flush(self):
        told, self.waiting = self.waiting, []
        return told


@pytest.fixture
def no_plots(monkeypatch):
    """Leave out the pictures, which take longer than all else here."""
    monkeypatch.setattr(evaluate_dataset, 'save_figure', lambda figure, path: None)


@pytest.fixture
def oracle(monkeypatch):
    monkeypatch.setattr(evaluate_dataset, 'StreamSession', Oracle)
    monkeypatch.setattr(Oracle, 'made', [])
    return Oracle


def run(kind, root, output, *options):
    return main(['evaluate', '--dataset', kind, str(root), '--checkpoint', 'random', '--output',
                 str(output), *options])


@pytest.mark.parametrize('kind', KINDS)
def test_a_perfect_network_scores_zero(tmp_path, no_plots, oracle, monkeypatch, capsys, kind):
    root, output = tmp_path / 'data', tmp_path / 'out'
    root.mkdir()
    name, frames = make(kind, root)
    if kind == 'tum':  # truth of its own clock: pose n at 100.04 s + n / 100
        dense = camera_poses(133)
        monkeypatch.setattr(oracle, 'pose_of', staticmethod(
            lambda image, stamp_ns: dense[max(0, round((stamp_ns - 100_040_000_000) / 1e7))]))
    elif kind == 'oxford_spires':
        monkeypatch.setattr(oracle, 'pose_of', staticmethod(lambda image, stamp_ns: camera_poses(
            30)[round((stamp_ns - 1_710_247_000_000_000_000) / 5e7) // 2 * 2]))
    assert run(kind, root, output, '--stride', '1') == 0
    record = json.loads((output / 'summary.json').read_text())
    (sequence,) = record['sequences']
    assert sequence['sequence'] == name and sequence['failed'] is None
    assert sequence['frames'] == {'read': frames, 'used': frames, 'refused': 0}
    score = sequence['score']
    # TUM: the first frame has no truth. 7-Scenes: the third one has none. Oxford Spires:
    # truth for every other frame, and the shorter side, the truth, finds a partner each.
    scored = {'tum': 39, '7scenes': COUNT - 1, 'oxford_spires': 15}.get(kind, frames)
    assert score['poses'] == scored
    assert score['ate_percent'] == pytest.approx(0, abs=1e-4)
    assert score['rotation_8_deg'] == pytest.approx(0, abs=1e-3)
    assert score['direction_8_deg'] == pytest.approx(0, abs=1e-2)
    assert score['scale'] == pytest.approx(5, rel=1e-4)
    stem = name.replace('/', '_')
    lines = (output / f'{stem}.tum').read_text().splitlines()
    assert sum(not line.startswith('#') for line in lines) == frames
    assert json.loads((output / f'{stem}.json').read_text()) == sequence
    assert name in capsys.readouterr().out


def test_pictures_and_page(tmp_path, oracle):
    for name in ('a', 'b'):
        make_folder(tmp_path / 'data' / name)
    assert run('folder', tmp_path / 'data', tmp_path / 'out', '--html',
               str(tmp_path / 'all.html')) == 0
    for name in ('a', 'b'):
        assert (tmp_path / 'out' / f'{name}.png').read_bytes().startswith(b'\x89PNG')
    page = (tmp_path / 'all.html').read_text()
    assert page.count('data:image/png;base64') == 2 and 'median' in page


@pytest.mark.parametrize('kind', KINDS)
def test_a_real_network_runs(tmp_path, no_plots, capsys, kind):
    root, output = tmp_path / 'data', tmp_path / 'out'
    root.mkdir()
    name, frames = make(kind, root)
    assert run(kind, root, output, '--stride', '1', '--anchors', '4', '--image-size', '56',
               '--iterations', '1', '--baselines') == 0
    record = json.loads((output / 'summary.json').read_text())
    assert record['summary'][name]['frames'] == frames
    assert record['checkpoint'] == {'path': 'random', 'is_random': True}
    assert record['settings']['stream']['anchor_frames'] == 4
    assert record['settings']['stream']['window'] == 64
    assert 0 < record['summary'][name]['ATE %'] < 100
    assert set(record['sequences'][0]['baselines']) == {'standing still', 'constant velocity'}
    out = capsys.readouterr().out
    assert 'const v %' in out and 'ATE %' in out
    assert (output / f'{name.replace("/", "_")}.tum').read_text().startswith('# RANDOM')


def test_the_published_settings(tmp_path, no_plots, oracle):
    root, output = tmp_path / 'data', tmp_path / 'out'
    root.mkdir()
    make('kitti', root)
    assert run('kitti', root, output) == 0
    (session,) = oracle.made
    config = session.config
    assert (config.anchor_frames, config.window, config.keyframe_interval) == (8, 64, 1)
    assert config.image_size == 504 and not config.depth
    assert session.shapes == {(38, 68, 3)}  # 504:280 of 124 x 38
    assert run('kitti', root, output, '--crop', 'none', '--image-size', '112', '--window', '16',
               '--keyframe-interval', '3', '--max-frames', '9') == 0
    config = oracle.made[1].config
    assert (config.window, config.keyframe_interval, config.image_size) == (16, 3, 112)
    assert oracle.made[1].shapes == {(38, 124, 3)}
    assert config.max_keyframes == 8 + 1
    assert json.loads((output / 'summary.json').read_text())['summary']['07']['frames'] == 9


def test_strides_of_the_published_evaluation(tmp_path, no_plots, oracle, monkeypatch):
    monkeypatch.setattr(oracle, 'pose_of', staticmethod(
        lambda image, stamp_ns: camera_poses(40)[round(stamp_ns * 3e-8) % 40]))
    make_seven_scenes(tmp_path / 'data' / 'chess', count=40)
    assert run('7scenes', tmp_path / 'data', tmp_path / 'out') == 0
    record = json.loads((tmp_path / 'out' / 'summary.json').read_text())
    assert record['sequences'][0]['frames']['used'] == 8
    assert record['settings']['selection']['stride'] == 5


@pytest.mark.parametrize('frames, interval', [
    (0, 1), (1, 1), (320, 1), (321, 2), (640, 2), (641, 3), (4541, 15)])
def test_keyframe_interval(frames, interval):
    assert interval_for(frames) == interval


def test_many_sequences_have_a_mean_and_a_median(tmp_path, no_plots, oracle, capsys):
    for name in ('a', 'b', 'c'):
        make_folder(tmp_path / 'data' / name)
    assert run('folder', tmp_path / 'data', tmp_path / 'out', '--sequence', 'a', '--sequence',
               'c') == 0
    rows = json.loads((tmp_path / 'out' / 'summary.json').read_text())['summary']
    assert list(rows) == ['a', 'c', 'mean', 'median']
    assert rows['mean']['frames'] == COUNT
    assert rows['mean']['path'] == pytest.approx((rows['a']['path'] + rows['c']['path']) / 2)
    assert 'median' in capsys.readouterr().out


def test_a_sequence_that_fails_does_not_stop_the_others(tmp_path, no_plots, oracle, capsys):
    for name in ('a', 'b'):
        make_folder(tmp_path / 'data' / name)
    truth = tmp_path / 'data' / 'a' / 'groundtruth.txt'
    truth.write_text('\n'.join(f'{900 + i} 0 0 0 0 0 0 1' for i in range(20)))
    assert run('folder', tmp_path / 'data', tmp_path / 'out') == 1
    record = json.loads((tmp_path / 'out' / 'summary.json').read_text())
    assert [one['failed'] is None for one in record['sequences']] == [False, True]
    assert 'at least 2 stamps that lie within' in record['sequences'][0]['failed']
    assert list(record['summary']) == ['b']
    assert 'a: not scored: expected at least 2' in capsys.readouterr().out
    (tmp_path / 'data' / 'b' / 'timestamps.txt').unlink()
    assert run('folder', tmp_path / 'data', tmp_path / 'out') == 1
    assert json.loads((tmp_path / 'out' / 'summary.json').read_text())['summary'] == {}


def test_an_interrupt_keeps_what_was_scored(tmp_path, no_plots, oracle, monkeypatch):
    for name in ('a', 'b', 'c'):
        make_folder(tmp_path / 'data' / name)
    told = []

    def pose_of(image, stamp_ns):
        told.append(stamp_ns)
        if len(told) == COUNT + 3:  # in the second sequence
            signal.raise_signal(signal.SIGINT)
        return camera_poses()[round(float(image[..., 2].mean()) / 20)]

    monkeypatch.setattr(oracle, 'pose_of', staticmethod(pose_of))
    before = signal.getsignal(signal.SIGINT)
    assert run('folder', tmp_path / 'data', tmp_path / 'out') == 128 + signal.SIGINT
    assert signal.getsignal(signal.SIGINT) == before
    record = json.loads((tmp_path / 'out' / 'summary.json').read_text())
    assert [one['failed'] for one in record['sequences']] == [None, 'ended early: interrupted']


@pytest.mark.parametrize('options, message', [
    (['--sequence', 'none'], 'expected one of the sequences a in'),
    (['--crop', '3'], "--crop: expected W:H, like 504:280, or none, got '3'"),
    (['--crop', '0:3'], '--crop: expected W:H'),
    (['--truth', 'x'], '--truth does nothing with --dataset; leave it out'),
    (['--offset', '1'], '--offset does nothing with --dataset'),
    (['--rpe', '1x'], 'like 8f, 10m or 0.5s'),
    (['--image-size', '57'], 'image_size must be a multiple'),
])
def test_refusals(tmp_path, capsys, options, message):
    make_folder(tmp_path / 'data' / 'a')
    assert run('folder', tmp_path / 'data', tmp_path / 'out', *options) == 2
    assert message in capsys.readouterr().err


def test_nothing_is_written_into_the_dataset(tmp_path, capsys):
    make_folder(tmp_path / 'data' / 'a')
    assert run('folder', tmp_path / 'data', tmp_path / 'data' / 'out') == 2
    assert 'it lies in the dataset' in capsys.readouterr().err
    assert not (tmp_path / 'data' / 'out').exists()


def test_without_options_the_weights_decide(tmp_path, no_plots, monkeypatch):
    folder = tmp_path / 'weights'
    folder.mkdir()
    monkeypatch.setattr(embedded, 'weights_folder', lambda: folder)
    write_weights(folder, metadata={'lingbot_ros': json.dumps({'stream': {
        'image_size': 70, 'window': 3, 'anchor_frames': 2, 'camera_iterations': 1}})})
    make_folder(tmp_path / 'data' / 'a')
    assert main(['evaluate', '--dataset', 'folder', str(tmp_path / 'data'), '--output',
                 str(tmp_path / 'out'), '--window', '4']) == 0
    record = json.loads((tmp_path / 'out' / 'summary.json').read_text())
    assert record['checkpoint'] == {'path': 'embedded', 'is_random': False}
    stream = record['settings']['stream']
    assert (stream['image_size'], stream['window'], stream['anchor_frames']) == (70, 4, 2)
    assert not (tmp_path / 'out' / 'a.tum').read_text().startswith('# RANDOM')


def test_summary_json_has_no_nan(tmp_path, no_plots, oracle):
    make_folder(tmp_path / 'data' / 'a', 4)  # too short for motion over 8 frames
    assert run('folder', tmp_path / 'data', tmp_path / 'out') == 0
    text = (tmp_path / 'out' / 'summary.json').read_text()
    row = json.loads(text, parse_constant=lambda name: pytest.fail(name))['summary']['a']
    assert row['rot 8'] is None and math.isfinite(row['ATE'])
