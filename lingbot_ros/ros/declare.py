# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Declares the parameter table on a node, refuses bad values, reads values back."""

from __future__ import annotations

from collections.abc import Sequence

from lingbot_ros.errors import ConfigError
from lingbot_ros.ros.parameters import Dynamic, Parameter, TABLE
from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

_ROWS = {row.name: row for row in TABLE}


def _descriptor(row: Parameter) -> ParameterDescriptor:
    unit = f' Unit: {row.unit}.' if row.unit else ''
    descriptor = ParameterDescriptor(
        name=row.name, description=row.text + unit, additional_constraints=row.allowed,
        read_only=not row.dynamic)
    # rclpy ends the node on `1` for a static double; dynamic typing lets our own check accept it.
    descriptor.dynamic_typing = row.kind == 'double'
    if row.kind == 'integer' and row.low is not None and row.high is not None:
        descriptor.integer_range = [IntegerRange(
            from_value=0 if row.automatic else int(row.low), to_value=int(row.high), step=0)]
    if row.kind == 'double' and row.low is not None and row.high is not None:
        descriptor.floating_point_range = [FloatingPointRange(
            from_value=0.0 if row.automatic else float(row.low), to_value=float(row.high),
            step=0.0)]
    return descriptor


def _validate(parameters: Sequence[RosParameter]) -> SetParametersResult:
    try:
        for parameter in parameters:
            if parameter.name in _ROWS:
                _ROWS[parameter.name].check(parameter.value)
    except ConfigError as error:
        return SetParametersResult(successful=False, reason=str(error))
    return SetParametersResult(successful=True)


def declare_parameters(node: Node) -> dict[str, bool | int | float | str]:
    """
    Declare every row of the table and refuse bad values from now on.

    Parameters
    ----------
    node : Node
        Holds the overrides from the command line and the parameter files.

    Returns
    -------
    dict
        Checked values by name, as they are at start.

    Raises
    ------
    ConfigError
        If an override has a wrong type or is out of range.

    """
    node.add_on_set_parameters_callback(_validate)
    values = {}
    for row in TABLE:
        try:
            node.declare_parameter(row.name, row.default, _descriptor(row))
        except ParameterException as error:
            raise ConfigError(f'parameter {row.name}: {error}') from None
        values[row.name] = row.check(node.get_parameter(row.name).value)
    return values


def read_dynamic(node: Node) -> Dynamic:
    """
    Read the dynamic parameters; safe from any thread, because rclpy replaces values whole.

    Parameters
    ----------
    node : Node
        Has the table declared.

    Returns
    -------
    Dynamic

    """
    def value(name: str) -> bool | int | float | str:
        return _ROWS[name].check(node.get_parameter(name).value)

    return Dynamic(
        window=int(value('window')), publish_tf=bool(value('publish_tf')),
        path_max_length=int(value('path_max_length')),
        position_stddev=float(value('position_stddev')),
        rotation_stddev=float(value('rotation_stddev')))
