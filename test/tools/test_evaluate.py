# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`lingbot_ros evaluate` on trajectory files: what it prints, writes and refuses."""

from __future__ import annotations

import json
import re
import subprocess
import sys

from lingbot_ros.cli import main
from lingbot_ros.geometry.rotation import matrix_from_quat_xyzw
from lingbot_ros.streaming.trajectory import Trajectory, write_kitti, write_tum
import numpy as np
import pytest

pytest.importorskip('evo')

COUNT = 150


def poses():
    """Return a curve of about 200 m that fills three dimensions."""
    angle = np.linspace(0, 4, COUNT)
    curve = np.tile(np.eye(4), (COUNT, 1, 1))
    curve[:, :3, 3] = np.stack([50 * np.sin(angle), 3 * angle, 50 * np.cos(angle)], axis=1)
    quat = np.stack([0 * angle, np.sin(angle / 2), 0 * angle, np.cos(angle / 2)], axis=1)
    curve[:, :3, :3] = matrix_from_quat_xyzw(quat)
    return curve


def trajectory(curve, offset_s=0.0, step_ns=100_000_000):
    result = Trajectory()
    for index, pose in enumerate(curve):
        result.append(1_700_000_000_000_000_000 + round(offset_s * 1e9) + step_ns * index, pose)
    return result


def estimate(noise=0.1):
    """Return the curve with noise, at a fifth of its size, in another world."""
    curve = poses()
    curve[:, :3, 3] += np.random.default_rng(0).normal(scale=noise, size=(COUNT, 3))
    curve[:, :3, 3] *= 0.2
    T = np.eye(4)
    T[:3, :3] = matrix_from_quat_xyzw([0.3, -0.5, 0.1, 0.8])
    T[:3, 3] = (5, 6, 7)
    return T @ curve


@pytest.fixture
def files(tmp_path):
    write_tum(tmp_path / 'truth.tum', trajectory(poses()))
    write_tum(tmp_path / 'estimate.tum', trajectory(estimate()))
    write_kitti(tmp_path / 'truth.txt', trajectory(poses()))
    write_kitti(tmp_path / 'estimate.txt', trajectory(estimate()))
    return tmp_path


def evaluate(folder, *options, estimate='estimate.tum', truth='truth.tum'):
    return main(['evaluate', str(folder / estimate), '--truth', str(folder / truth),
                 *map(str, options)])


def figures(folder, *options, **names):
    assert evaluate(folder, '--json', folder / 'out.json', *options, **names) == 0
    return json.loads((folder / 'out.json').read_text())


def test_table_and_json_say_the_same(files, capsys):
    record = figures(files, '--baselines')
    out = capsys.readouterr().out
    row = next(line.split() for line in out.splitlines() if line.startswith('ATE, Sim(3)'))
    assert row[2:4] == ['m', f'{record["ate"]["sim3"]["rmse"]:#.4g}']
    assert record['ate']['sim3']['rmse'] == pytest.approx(0.1 * np.sqrt(3), rel=0.1)
    assert record['ate']['se3']['rmse'] > 10
    assert record['score']['scale'] == pytest.approx(5, rel=1e-3)
    assert record['poses'] == {'matched': COUNT, 'estimate': COUNT, 'truth': COUNT, 'repeated': 0,
                               'largest_stamp_difference_s': 0.0}
    assert set(record['rpe']) == {'1 f', '8 f', '10 m', '1 s'}
    assert record['rpe']['1 s']['translation']['count'] == COUNT - 10 + 1
    assert record['drift']['segments'] == record['drift_by_length']['100']['segments'] + \
        record['drift_by_length']['200']['segments']
    for name in ('standing still', 'constant velocity'):
        assert record['baselines'][name]['ate_percent'] > record['score']['ate_percent']
        assert name in out
    assert record['estimate'].endswith('estimate.tum') and record['version']


def test_kitti_files(files):
    record = figures(files, estimate='estimate.txt', truth='truth.txt')
    stamped = figures(files)
    for part in ('score', 'ate', 'drift'):
        for key, value in stamped[part].items():
            if isinstance(value, float):
                assert record[part][key] == pytest.approx(value, rel=1e-4, abs=1e-4), (
                    part, key)
    assert record['rpe']['1 s']['translation'] is None


def test_stamps_for_kitti_files(files, capsys):
    (files / 'times.txt').write_text('\n'.join(f'{0.1 * i:e}' for i in range(COUNT)))
    names = {'estimate': 'estimate.txt', 'truth': 'truth.txt'}
    record = figures(files, '--times', files / 'times.txt', **names)
    assert record['rpe']['1 s']['translation']['count'] == COUNT - 10 + 1
    # A stamped estimate against KITTI's poses, which begin at 0 s.
    record = figures(files, '--times', files / 'times.txt', '--offset', '-1700000000',
                     truth='truth.txt')
    assert record['poses']['matched'] == COUNT
    (files / 'times.txt').write_text('0\n1\n')
    assert evaluate(files, '--times', files / 'times.txt', **names) == 2
    assert f'expected a stamp for each of {COUNT} frames, got 2' in capsys.readouterr().err


def test_options_reach_the_figures(files):
    raw = figures(files, '--align', 'none', '--rpe', '5f', '--consecutive', '--lag', '3',
                  '--segments', '20,50', '--segment-step', '1')
    assert list(raw['rpe']) == ['5 f'] and raw['rpe']['5 f']['translation']['count'] == 29
    assert set(raw['ate']) == {'sim3', 'se3', 'none'} and raw['alignment']['scale'] == 1
    assert raw['rpe']['5 f']['translation']['mean'] > 1
    assert set(raw['drift_by_length']) == {'20', '50'}
    assert raw['motion']['frames'] == 3 and raw['motion']['rotation_deg']['count'] == COUNT - 3
    assert figures(files, '--rpe', '5f')['rpe']['5 f']['translation']['mean'] < 1
    along = figures(files, '--align', 'none', '--rpe', '10m', '--pairs-from', 'estimate')
    assert along['rpe']['10 m']['translation']['count'] != raw['rpe']['5 f']['translation'][
        'count']
    assert along['rpe_pairs'] == {'all': True, 'from': 'estimate'}


def test_offset_difference_and_interpolation(files, capsys):
    write_tum(files / 'late.tum', trajectory(estimate(0), 0.04))
    assert evaluate(files, estimate='late.tum') == 2
    assert 'the nearest two are 0.040000 s apart. Raise --max-difference' in \
        capsys.readouterr().err
    assert figures(files, '--offset', '-0.04', estimate='late.tum')['ate']['sim3'][
        'rmse'] == pytest.approx(0, abs=1e-6)
    record = figures(files, '--max-difference', '0.05', estimate='late.tum')
    assert record['poses']['largest_stamp_difference_s'] == pytest.approx(0.04, abs=1e-6)
    # Every second pose of the truth, interpolated where the others were.
    write_tum(files / 'sparse.tum', trajectory(poses()[::2], 0, 200_000_000))
    shifted = figures(files, '--max-difference', '0.11', '--interpolate', estimate='sparse.tum')
    assert shifted['ate']['sim3']['rmse'] < 1e-6 and shifted['interpolate']


def test_few_matches_are_said(files, caplog):
    write_tum(files / 'half.tum', trajectory(poses(), 9.0))
    assert evaluate(files, estimate='half.tum') == 0
    assert 'only 60 of 150 poses have a partner' in caplog.text


def test_repeated_stamps_are_counted(files, capsys):
    lines = (files / 'truth.tum').read_text().splitlines()
    (files / 'truth.tum').write_text('\n'.join(lines[:5] + lines[4:]))
    assert figures(files)['poses']['repeated'] == 1
    assert '1 repeated and left out' in capsys.readouterr().out


def test_plot_and_page(files):
    assert evaluate(files, '--plot', files / 'new' / 'a.svg', '--html', files / 'a.html') == 0
    assert '<svg' in (files / 'new' / 'a.svg').read_text()
    page = (files / 'a.html').read_text()
    assert page.startswith('<!DOCTYPE html>') and page.count('data:image/png;base64,') == 1
    assert 'estimate.tum against truth.tum' in page and 'RPE over 8 f' in page
    # Nothing is fetched from anywhere.
    assert not re.search(r'<script|<link|https?://|@import|src="(?!data:)', page)


def test_names_are_escaped(files):
    (files / 'estimate.tum').rename(files / '<b>&.tum')
    assert evaluate(files, '--html', files / 'a.html', estimate='<b>&.tum') == 0
    page = (files / 'a.html').read_text()
    assert '<b>' not in page and '&lt;b&gt;&amp;.tum' in page


@pytest.mark.parametrize('options, message', [
    (['--truth', 'none.tum'], 'cannot read none.tum: No such file'),
    (['--format', 'kitti'], 'expected 12 numbers'),
    (['--truth-format', 'euroc'], '1.700000 to 1.700000 s in truth.tum'),
    (['--rpe', '8'], "like 8f, 10m or 0.5s, got '8'"),
    (['--segments', '100,x'], "--segments: expected lengths separated by commas, got '100,x'"),
    (['--segments', '-1'], 'segment lengths must be above 0'),
    (['--plot', 'a.txt'], '--plot must end in one of .png, .svg, .pdf, got a.txt'),
    (['--json', 'a', '--html', 'a'], 'output files must differ'),
    (['--times', 'times.txt'], '--times is for KITTI files, and neither file is one'),
    (['--checkpoint', 'x'], '--checkpoint does nothing without --dataset; leave it out'),
    (['--stride', '2'], '--stride does nothing without --dataset'),
    (['--max-difference', '0'], 'number > 0'),
    (['--max-difference', 'nan'], 'number > 0'),
    (['--offset', 'nan'], 'finite number'),
    (['--offset', 'inf'], 'finite number'),
    (['--lag', '0'], 'integer >= 1'),
    (['--json', 'truth.tum'], 'cannot write truth.tum: it is an input'),
    (['--json', '.'], 'cannot write .: it is a folder or protected'),
])
def test_refusals(files, capsys, monkeypatch, options, message):
    monkeypatch.chdir(files)
    (files / 'times.txt').write_text('0\n')
    try:
        code = main(['evaluate', 'estimate.tum', '--truth', 'truth.tum', *options])
    except SystemExit as error:  # the parser's own
        code = error.code
    assert code == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count('\n') == 1
    assert (files / 'truth.tum').read_text().startswith('# timestamp')


def test_truth_is_needed(files, capsys):
    assert main(['evaluate', str(files / 'estimate.tum')]) == 2
    assert 'give --truth FILE, or --dataset' in capsys.readouterr().err


def test_help_and_refusal_without_evo(files):
    code = ('import sys; sys.modules["evo"] = None; from lingbot_ros.cli import main; '
            'sys.exit(main(sys.argv[1:]))')
    shown = subprocess.run([sys.executable, '-c', code, 'evaluate', '--help'],
                           capture_output=True, text=True, check=True)
    assert '--baselines' in shown.stdout
    refused = subprocess.run(
        [sys.executable, '-c', code, 'evaluate', files / 'estimate.tum', '--truth',
         files / 'truth.tum'], capture_output=True, text=True)
    assert refused.returncode == 2 and refused.stderr.count('\n') == 1
    assert "pip install 'lingbot_ros[evaluate]'" in refused.stderr
