# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the node says about itself on /diagnostics."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from lingbot_ros.ros.engine import Engine
from lingbot_ros.ros.qos import pose_qos
from lingbot_ros.ros.tracker import Counters
import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

STALE_S = 5.0
"""Without an image for this long the state is `no_images`."""

_PLAUSIBLE_LATENCY_S = 3600.0
# Drops that mean something is wrong; `busy` is the plan, `reset` was asked for.
_FAULTS = ('out_of_order', 'bad_image', 'non_finite', 'error')


@dataclass
class Status:
    """
    Facts the node collects for the report.

    Attributes
    ----------
    checkpoint, image_topic : str
        As set, and as resolved.
    counters : Counters
        What happened to the frames.
    engine : Engine or None
        None while the network loads.
    waiting : int
        Anchor frames without a pose yet.
    last_image_s : float or None
        Steady time of the last image, seconds.
    processing_s, latency_s : deque of float
        Of the last poses: received to published (steady clock), and publish minus stamp (node
        clock).

    """

    checkpoint: str
    image_topic: str
    counters: Counters = field(default_factory=Counters)
    engine: Engine | None = None
    waiting: int = 0
    last_image_s: float | None = None
    processing_s: deque[float] = field(default_factory=lambda: deque(maxlen=100))
    latency_s: deque[float] = field(default_factory=lambda: deque(maxlen=100))


def state_of(status: Status, now_s: float) -> str:
    """
    State in one word: loading, no_images, or that of the last frame.

    Parameters
    ----------
    status : Status
        Facts.
    now_s : float
        Steady time, seconds.

    Returns
    -------
    str

    """
    if status.engine is None:
        return 'loading'
    if status.last_image_s is None or now_s - status.last_image_s > STALE_S:
        return 'no_images'
    tracking = status.engine.session.snapshot().tracking
    if tracking is not None:
        return str(tracking.state)
    if status.waiting or not status.counters.processed:
        return 'initialising'
    return 'tracking'


def _milliseconds(samples: deque[float], percentile: float) -> str:
    values = [value for value in list(samples) if abs(value) < _PLAUSIBLE_LATENCY_S]
    return f'{np.percentile(values, percentile) * 1e3:.1f}' if values else 'unknown'


def report(status: Status, now_s: float) -> dict[str, str]:
    """
    Every key of the report with its value.

    Parameters
    ----------
    status : Status
        Facts.
    now_s : float
        Steady time, seconds.

    Returns
    -------
    dict of str to str

    """
    engine, counters = status.engine, status.counters
    snapshot = engine.session.snapshot() if engine else None
    tracking = snapshot.tracking if snapshot else None
    join = snapshot.last_join if snapshot else None
    return {
        'state': state_of(status, now_s),
        'image_topic': status.image_topic,
        'frames_in': str(counters.frames_in),
        'frames_processed': str(counters.processed),
        'frames_waiting': str(status.waiting),
        **{f'dropped_{reason}': str(count) for reason, count in counters.dropped.items()},
        'processing_ms_p50': _milliseconds(status.processing_s, 50),
        'processing_ms_p95': _milliseconds(status.processing_s, 95),
        'latency_ms_p50': _milliseconds(status.latency_s, 50),
        'latency_ms_p95': _milliseconds(status.latency_s, 95),
        'checkpoint': status.checkpoint,
        'random_weights': str(engine.is_random).lower() if engine else 'unknown',
        'device': engine.device if engine else 'unknown',
        'dtype': engine.dtype if engine else 'unknown',
        'backend': engine.backend if engine else 'unknown',
        'settings': engine.settings if engine else 'unknown',
        'tracking_score': f'{tracking.score:.3f}' if tracking else 'unknown',
        'tracking_reason': tracking.reason if tracking else '',
        'window': str(snapshot.window) if snapshot else 'unknown',
        'cache_bytes': str(snapshot.cache_bytes) if snapshot else '0',
        'pages_used': str(snapshot.pages_used) if snapshot else '0',
        'pages_total': str(snapshot.pages_total) if snapshot else '0',
        'segment': str(snapshot.segment) if snapshot else '0',
        'keyframes': str(snapshot.keyframes) if snapshot else '0',
        'joins': str(snapshot.joins) if snapshot else '0',
        'bad_joins': str(snapshot.bad_joins) if snapshot else '0',
        'last_join': join.summary if join else '',
        'stage_ms': ', '.join(f'{stage} {1e3 * seconds:.1f}' for stage, seconds
                              in snapshot.stage_seconds.items()) if snapshot else '',
        'resets': str(counters.resets),
        'last_reset_reason': counters.last_reset_reason,
        'metric_scale': 'false',
    }


class DiagnosticsPublisher:
    """
    Publishes the report once a second.

    The timer runs on the steady clock: with use_sim_time and no /clock a timer of the node's
    clock never fires, and then nothing would say why nothing comes out.

    Parameters
    ----------
    node : Node
        Owns publisher and timer.
    status : Status
        Facts, kept up to date by the node.

    """

    def __init__(self, node: Node, status: Status) -> None:
        self._node = node
        self._status = status
        self._faults = 0
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', pose_qos())
        self._timer = node.create_timer(1.0, self.publish, clock=self._steady)

    def publish(self) -> None:
        """Publish the report now."""
        values = report(self._status, self._steady.now().nanoseconds / 1e9)
        level, message = self._judge(values)
        status = DiagnosticStatus(
            level=level, name=f'{self._node.get_fully_qualified_name().lstrip("/")}: stream',
            message=message, hardware_id=values['device'].split()[0],
            values=[KeyValue(key=key, value=value) for key, value in values.items()])
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)

    def _judge(self, values: Mapping[str, str]) -> tuple[bytes, str]:
        faults = sum(self._status.counters.dropped[reason] for reason in _FAULTS)
        new_faults, self._faults = faults - self._faults, faults
        warnings = []
        if values['state'] == 'no_images':
            publishers = self._node.count_publishers(self._status.image_topic)
            warnings.append(f'no images on {self._status.image_topic} ({publishers} publishers)')
        if values['state'] in ('degraded', 'lost'):
            warnings.append(f'{values["state"]}: {values["tracking_reason"]}')
        if new_faults:
            warnings.append(f'{new_faults} frames refused in the last second')
        if values['random_weights'] == 'true':
            warnings.append('random weights: poses mean nothing')
        if warnings:
            return DiagnosticStatus.WARN, '; '.join(warnings)
        return DiagnosticStatus.OK, values['state']
