# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Builds tf2_msgs/TFMessage for tests where ROS 2 comes from wheels, which lack tf2_msgs.

    python test/ros/build_tf2_msgs.py DIRECTORY

The result is an ordinary install prefix: put `lib/pythonX.Y/site-packages` on PYTHONPATH and
`lib` on LD_LIBRARY_PATH. The message's type hash is that of the real package, so both talk to
each other. A ROS installation has tf2_msgs already and needs none of this.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
import shutil
import subprocess
import sys
import sysconfig
import tempfile

import numpy as np

PACKAGE_XML = """<?xml version="1.0"?>
<package format="3">
  <name>tf2_msgs</name>
  <version>0.0.0</version>
  <description>TFMessage alone</description>
  <maintainer email="nobody@example.org">nobody</maintainer>
  <license>BSD</license>
  <buildtool_depend>rosidl_default_generators</buildtool_depend>
  <depend>geometry_msgs</depend>
  <member_of_group>rosidl_interface_packages</member_of_group>
</package>
"""

# The export files of the wheels name the include folders of the machine that built them, and
# CMake refuses folders that are not there: point them at this interpreter.
CMAKE_LISTS = """cmake_minimum_required(VERSION 3.20)
project(tf2_msgs C CXX)
find_package(ament_cmake REQUIRED)
find_package(rosidl_default_generators REQUIRED)
foreach(package builtin_interfaces service_msgs std_msgs geometry_msgs)
  find_package(${package} REQUIRED)
  set_target_properties(${package}::${package}__rosidl_generator_py PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${PYTHON_HEADERS}")
endforeach()
rosidl_generate_interfaces(tf2_msgs msg/TFMessage.msg DEPENDENCIES geometry_msgs)
ament_package()
"""

GENERATORS = ('ament_package', 'catkin_pkg', 'rosidl_generator_py', 'rosidl_adapter')


def missing_tools() -> str:
    """Name what the build lacks on this machine; empty when nothing."""
    programs = [name for name in ('cmake', 'ninja', 'c++') if _program(name) is None]
    modules = [name for name in GENERATORS if importlib.util.find_spec(name) is None]
    prefix = Path(sys.prefix, 'share', 'rosidl_default_generators')
    return ', '.join(programs + modules + ([] if prefix.is_dir() else [prefix.name]))


def build(prefix: Path) -> None:
    """Build and install into a folder; raises CalledProcessError with the output."""
    python = Path(sys.prefix)
    headers = f'{sysconfig.get_path("include")};{np.get_include()}'
    environment = dict(os.environ, AMENT_PREFIX_PATH=str(python),
                       PATH=f'{python / "bin"}:{os.environ["PATH"]}')
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder)
        (source / 'msg').mkdir()
        (source / 'msg' / 'TFMessage.msg').write_text(
            'geometry_msgs/TransformStamped[] transforms\n')
        (source / 'package.xml').write_text(PACKAGE_XML)
        (source / 'CMakeLists.txt').write_text(CMAKE_LISTS)
        cmake = str(_program('cmake'))
        for command in (
            [cmake, '-G', 'Ninja', '-B', 'build', '-S', '.', '-DCMAKE_BUILD_TYPE=Release',
             '-DBUILD_TESTING=OFF', f'-DCMAKE_MAKE_PROGRAM={_program("ninja")}',
             f'-DCMAKE_PREFIX_PATH={python}', f'-DCMAKE_INSTALL_PREFIX={prefix}',
             f'-DPython3_EXECUTABLE={sys.executable}', f'-DPYTHON_HEADERS={headers}'],
            [cmake, '--build', 'build'],
            [cmake, '--install', 'build'],
        ):
            subprocess.run(command, cwd=source, env=environment, check=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _program(name: str) -> str | None:
    return shutil.which(name, path=f'{Path(sys.prefix, "bin")}:{os.environ["PATH"]}')


if __name__ == '__main__':
    build(Path(sys.argv[1]).absolute())
