# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Launch files: what can be checked without ROS 2's launch, and with it where it is installed."""

import ast
import importlib.util
from pathlib import Path
import re

from lingbot_ros.ros.parameters import TABLE
import pytest
import yaml

ROOT = Path(__file__).parents[2]
STREAM, REPLAY = (ROOT / 'launch' / f'{name}.launch.py' for name in ('stream', 'replay'))
# PyPI's `launch` is another program; launch_ros is only there with the real one.
needs_launch = pytest.mark.skipif(importlib.util.find_spec('launch_ros') is None,
                                  reason='ROS 2 launch is not installed')


def strings_of_calls(tree, name):
    return [node.args[0].value for node in ast.walk(tree) if isinstance(node, ast.Call)
            and getattr(node.func, 'id', '') == name and isinstance(node.args[0], ast.Constant)]


def test_parameters_of_the_launch_file_exist_with_their_types():
    tree = ast.parse(STREAM.read_text())
    table = next(node.value for node in tree.body if isinstance(node, ast.Assign)
                 and node.targets[0].id == 'PARAMETERS')
    kinds = {'string': 'str', 'integer': 'int', 'double': 'float', 'bool': 'bool'}
    wanted = {row.name: kinds[row.kind] for row in TABLE}
    found = {key.value: value.id for key, value in zip(table.keys, table.values, strict=True)}
    assert found and found.items() <= wanted.items()
    assert set(found) <= set(strings_of_calls(tree, 'argument'))


@pytest.mark.parametrize('path', [STREAM, REPLAY], ids=lambda path: path.name)
def test_every_value_used_is_an_argument(path):
    tree = ast.parse(path.read_text())
    declared = set(strings_of_calls(tree, 'argument'))
    declared |= set(strings_of_calls(tree, 'DeclareLaunchArgument'))
    used = {node.slice.value for node in ast.walk(tree) if isinstance(node, ast.Subscript)
            and getattr(node.value, 'id', '') == 'value' and isinstance(node.slice, ast.Constant)}
    assert used and used <= declared
    assert declared - used <= {'checkpoint', 'image_transport', 'camera_frame', 'device', 'window'}


@pytest.mark.parametrize('path', [STREAM, REPLAY], ids=lambda path: path.name)
def test_files_named_are_there(path):
    found = re.findall(r"'(config|rviz|launch)', '([\w.]+\.\w+)'", path.read_text())
    assert found
    for folder, name in found:
        assert (ROOT / folder / name).is_file()


def test_docs_name_every_argument():
    text = (ROOT / 'docs' / 'ros_interface.md').read_text()
    for path, call in ((STREAM, 'argument'), (REPLAY, 'DeclareLaunchArgument')):
        for name in strings_of_calls(ast.parse(path.read_text()), call):
            assert f'`{name}`' in text, name


def test_rviz_shows_topics_the_node_has():
    document = yaml.safe_load((ROOT / 'rviz' / 'stream.rviz').read_text())
    manager = document['Visualization Manager']
    topics = {display['Topic']['Value'] for display in manager['Displays']
              if 'Topic' in display}
    assert topics == {'/lingbot/path', '/lingbot/odometry', '/camera/image_raw'}
    launch = STREAM.read_text()
    assert all(f"'{topic}'" in launch for topic in topics)
    assert manager['Global Options']['Fixed Frame'] == next(
        row.default for row in TABLE if row.name == 'odom_frame')


def node_of(**arguments):
    """Run the launch file's function with arguments; return the actions it builds."""
    from launch import LaunchContext
    spec = importlib.util.spec_from_file_location('stream_launch', STREAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    context = LaunchContext()
    for action in module.arguments():
        default = ''.join(part.perform(context) for part in action.default_value)
        context.launch_configurations[action.name] = arguments.get(action.name, default)
    return module.actions(context)


@needs_launch
def test_defaults_do_not_override_the_file(monkeypatch):
    monkeypatch.setenv('FASTDDS_DEFAULT_PROFILES_FILE', '/mine.xml')
    monkeypatch.setenv('FASTRTPS_DEFAULT_PROFILES_FILE', '/mine.xml')
    actions = node_of()
    assert len(actions) == 1  # neither RViz nor an environment variable
    assert len(actions[0]._Node__parameters) == 1


@needs_launch
def test_description_can_be_built():
    for path in (STREAM, REPLAY):
        spec = importlib.util.spec_from_file_location('a_launch_file', path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert module.generate_launch_description().entities
