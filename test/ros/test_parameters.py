# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from pathlib import Path
import re

from lingbot_ros.config import StreamConfig
from lingbot_ros.errors import ConfigError
from lingbot_ros.ros.parameters import describe, stream_config, TABLE, value_of
from lingbot_ros.stream_parts import SegmentConfig
import pytest
import yaml

ROOT = Path(__file__).parents[2]
ROWS = {row.name: row for row in TABLE}
YAML_VALUE = {'bool': lambda value: str(value).lower(), 'string': lambda value: f"'{value}'",
              'integer': str, 'double': str}


def docs_row(row):
    default = YAML_VALUE[row.kind](row.default)
    kind = row.kind + (f', {row.unit}' if row.unit else '')
    when = 'next frame' if row.dynamic else 'start'
    return f'| `{row.name}` | {kind} | `{default}` | {row.allowed} | {when} | {row.text} |'


def yaml_lines(row):
    facts = '; '.join(filter(None, [
        row.unit, row.allowed, f'default {YAML_VALUE[row.kind](row.default)}',
        'takes effect at the next frame' if row.dynamic else '']))
    return facts, f'{row.name}: {YAML_VALUE[row.kind](row.default)}'


def test_stream_yaml_equals_the_table():
    text = (ROOT / 'config' / 'stream.yaml').read_text()
    document = yaml.safe_load(text)
    assert list(document) == ['/**'] and list(document['/**']) == ['ros__parameters']
    assert document['/**']['ros__parameters'] == {row.name: row.default for row in TABLE}
    for name, value in document['/**']['ros__parameters'].items():
        assert type(value) is type(ROWS[name].default), name
    lines = [line.strip() for line in text.splitlines()]
    for row in TABLE:
        facts, setting = yaml_lines(row)
        assert setting in lines
        assert lines[lines.index(setting) - 1] == f'# [{facts}]'
        assert words_of(row.text) in words_of(' '.join(line.lstrip('# ') for line in lines))


def words_of(text):
    return ' '.join(text.split())


def test_docs_equal_the_table():
    text = (ROOT / 'docs' / 'ros_interface.md').read_text()
    rows = re.findall(r'^\| `[a-z_]+` \| (?:bool|integer|double|string).*$', text, re.MULTILINE)
    assert rows == [docs_row(row) for row in TABLE]


@pytest.mark.parametrize('path', sorted((ROOT / 'config').glob('*.yaml')), ids=lambda p: p.name)
def test_files_hold_values_that_are_accepted(path):
    values = yaml.safe_load(path.read_text())['/**']['ros__parameters']
    checked = {row.name: row.default for row in TABLE}
    for name, value in values.items():
        checked[name] = ROWS[name].check(value)
    stream_config(checked, StreamConfig())
    if path.name != 'stream.yaml':
        assert all(value != ROWS[name].default for name, value in values.items())


DEFAULTS = {row.name: row.default for row in TABLE}
TRAINED = StreamConfig(image_size=256, window=12, anchor_frames=4, segments=SegmentConfig(96, 6))


def test_defaults_are_those_of_the_weights():
    endless = TRAINED.without_end()
    assert stream_config(DEFAULTS, TRAINED) == replace(endless, depth=False)
    assert stream_config({**DEFAULTS, 'publish_depth': True}, TRAINED) == endless
    assert endless.segments == SegmentConfig(96, 6) and endless.keyframes.policy == 'auto'
    for name in ('image_size', 'anchor_frames', 'window', 'keyframe_interval',
                 'camera_iterations', 'max_keyframes'):
        assert ROWS[name].automatic and ROWS[name].default == 0 and name in vars(StreamConfig())


def test_the_reference_runs_one_cache():
    config = stream_config({**DEFAULTS, 'endless': False}, TRAINED)
    assert config == replace(TRAINED, depth=False, segments=None)
    assert config.anchors.policy == 'first' and config.keyframes.policy == 'interval'


def test_explicit_values_win_over_the_weights():
    config = stream_config({**DEFAULTS, 'window': 30, 'image_size': 320}, TRAINED)
    assert config == replace(TRAINED.without_end(), depth=False, window=30, image_size=320)
    parts = stream_config({**DEFAULTS, 'segment_keyframes': 50, 'keyframe_policy': 'motion',
                           'keyframe_motion': 0.1, 'lost_frames': 3,
                           'frozen_frames': 0}, TRAINED)
    assert parts.segments == SegmentConfig(50, 6) and parts.tracking.lost_frames == 3
    assert parts.tracking.frozen_frames == 0
    assert (parts.keyframes.policy, parts.keyframes.motion) == ('motion', 0.1)
    text = describe({**DEFAULTS, 'window': 30}, config)
    assert 'window 30 (set)' in text and 'anchor_frames 4 (weights)' in text


def test_docs_name_the_settings_of_the_released_network():
    text = ' '.join((ROOT / 'docs' / 'ros_interface.md').read_text().split())
    for row in TABLE:
        if row.automatic:
            assert f'`{row.name}` {value_of(row, StreamConfig.endless())}' in text


@pytest.mark.parametrize('row', TABLE, ids=lambda row: row.name)
def test_every_row(row):
    assert row.check(row.default) == row.default
    assert row.text.endswith('.') and '|' not in row.text
    for wrong in (None, [1], b'x'):
        with pytest.raises(ConfigError, match=f'{row.name} must be of type {row.kind}'):
            row.check(wrong)
    if row.low is not None:
        assert row.check(row.low) == row.low
        assert row.check(row.high) == row.high
        for wrong in (row.low - 1 - row.automatic, row.high + 1):
            with pytest.raises(ConfigError, match='must be'):
                row.check(wrong)


def test_a_double_accepts_an_integer_but_not_the_reverse():
    value = ROWS['position_stddev'].check(1)
    assert value == 1.0 and isinstance(value, float)
    with pytest.raises(ConfigError, match='window must be of type integer, got 2.0'):
        ROWS['window'].check(2.0)
    with pytest.raises(ConfigError, match='window must be of type integer, got True'):
        ROWS['window'].check(True)


@pytest.mark.parametrize(('name', 'value', 'text'), [
    ('window', -1, r'window must be 0 \(as trained\) or 1 to 4096, got -1'),
    ('image_size', 55, r'image_size must be 0 \(as trained\) or 56 to 1036, got 55'),
    ('path_max_length', 0, 'path_max_length must be 1 to 100000, got 0'),
    ('position_stddev', float('nan'), 'position_stddev must be 0.001 to 1000.0, got nan'),
    ('backend', 'fast', "backend must be one of auto, sdpa, .*, got 'fast'"),
    ('device', 'gpu', "device must be auto, cpu, cuda, cuda:N, got 'gpu'"),
    ('odom_frame', '', "odom_frame must be a frame name .*, got ''"),
    ('odom_frame', '/odom', "odom_frame must be a frame name .*, got '/odom'"),
    ('camera_frame', 'a b', "camera_frame must be empty, or a frame name .*, got 'a b'"),
])
def test_refusals_say_why(name, value, text):
    with pytest.raises(ConfigError, match=text):
        ROWS[name].check(value)


@pytest.mark.parametrize(('name', 'value'), [
    ('device', 'cuda:1'), ('camera_frame', ''), ('camera_frame', 'left/optical'),
    ('odom_frame', 'o'), ('image_size', 518),
    ('image_size', 0), ('window', 0), ('window', 1)])
def test_accepted(name, value):
    assert ROWS[name].check(value) == value


def test_contradicting_values_are_refused():
    with pytest.raises(ConfigError, match='max_keyframes must be at least anchor_frames'):
        stream_config({**DEFAULTS, 'endless': False, 'max_keyframes': 4}, StreamConfig())
