# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
from pathlib import Path
import re

from lingbot_ros.config import StreamConfig
from lingbot_ros.errors import ConfigError
from lingbot_ros.ros.parameters import stream_config, TABLE
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
    stream_config(checked)
    if path.name != 'stream.yaml':
        assert all(value != ROWS[name].default for name, value in values.items())


def test_defaults_are_those_of_the_core():
    core = StreamConfig()
    assert stream_config({row.name: row.default for row in TABLE}) == StreamConfig(depth=False)
    for name in vars(core):
        if name != 'depth':
            assert ROWS[name].default == vars(core)[name]


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
        for wrong in (row.low - 1, row.high + 1):
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
    ('window', 0, 'window must be 1 to 4096, got 0'),
    ('image_size', 519, 'image_size must be 56 to 1036 step 14, got 519'),
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
    ('odom_frame', 'o'), ('image_size', 518)])
def test_accepted(name, value):
    assert ROWS[name].check(value) == value


def test_contradicting_values_are_refused():
    values = {row.name: row.default for row in TABLE}
    with pytest.raises(ConfigError, match='max_keyframes must be at least anchor_frames'):
        stream_config({**values, 'max_keyframes': 4})
