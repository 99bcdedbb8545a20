# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Policies of keyframes and anchors: numbers in, decisions out."""

from lingbot_ros import AnchorConfig, KeyframeConfig, SegmentConfig, StreamConfig
from lingbot_ros.errors import ConfigError
from lingbot_ros.streaming.anchors import AnchorChoice
from lingbot_ros.streaming.keyframes import KeyframePolicy
import pytest

SECOND_NS = 1_000_000_000


def kept(policy, motions, room_used=4):
    out = []
    for motion in motions:
        keep = policy.after(motion, room_used)
        policy.count(keep)
        out.append(keep)
    return out


def make(name, **changes):
    return KeyframePolicy(StreamConfig(
        anchor_frames=2, keyframes=KeyframeConfig(name, 0.1, max_gap=4), **changes))


def test_interval_decides_beforehand_and_never_after():
    policy = KeyframePolicy(StreamConfig(keyframe_interval=3))
    assert [policy.before(i) for i in range(5)] == [
        'keyframe', 'transient', 'transient', 'keyframe', 'transient']
    assert not policy.after(1.0, 0)


def test_motion_or_a_gap_makes_a_keyframe():
    policy = make('motion')
    assert policy.before(0) == 'transient'
    assert kept(policy, [0.05, 0.11, 0.0, 0.0, 0.0, 0.0, 0.09]) == [
        False, True, False, False, False, True, False]


def test_auto_lets_a_camera_rest_and_counts_the_gap_while_it_moves():
    policy = make('auto', segments=SegmentConfig(40, 2))
    assert kept(policy, [0.0] * 20) == [False] * 20
    assert kept(policy, [0.03, 0.03]) == [True, False], 'long since the last one'
    assert kept(policy, [0.11]) == [True]


def test_auto_without_segments_never_uses_up_the_room():
    policy = make('auto', max_keyframes=10)
    assert policy.after(0.11, 0) and not policy.after(0.11, 5)
    assert policy.after(0.21, 5) and not policy.after(0.21, 6)
    assert policy.after(1.0, 9) and not policy.after(1.0, 10)


def test_a_motion_that_is_no_number_is_far():
    assert make('motion').after(float('nan'), 0)
    assert not AnchorChoice(StreamConfig()).offer(float('nan'), 0)


def test_anchors_need_motion_and_close_after_a_wait_since_the_first_one():
    choice = AnchorChoice(StreamConfig(
        anchor_frames=3, anchors=AnchorConfig('motion', 0.02, wait_s=5)))
    choice.start()
    assert not choice.offer(0.01, 0) and not choice.complete(1000 * SECOND_NS)
    assert choice.offer(0.03, 1000 * SECOND_NS)
    assert not choice.complete(1004 * SECOND_NS) and choice.complete(1005 * SECOND_NS)
    assert choice.offer(0.03, 1001 * SECOND_NS) and choice.complete(1001 * SECOND_NS)
    assert not choice.offer(0.5, 1002 * SECOND_NS), 'there are enough'


@pytest.mark.parametrize(('part', 'values', 'said'), [
    (AnchorConfig, {'policy': 'last'}, "anchor policy must be 'first' or 'motion', got 'last'"),
    (AnchorConfig, {'wait_s': -1}, 'anchor wait_s must be a number from 0 to 3600, got -1'),
    (KeyframeConfig, {'policy': ''}, "must be 'interval', 'motion' or 'auto', got ''"),
    (KeyframeConfig, {'motion': 2}, 'keyframe motion must be a number from 0 to 1, got 2'),
    (KeyframeConfig, {'motion': float('nan')}, 'must be a number from 0 to 1, got nan'),
    (KeyframeConfig, {'max_gap': 0}, 'keyframe max_gap must be an integer >= 1, got 0'),
    (SegmentConfig, {'keyframes': True}, 'segment_keyframes must be an integer >= 2, got True'),
    (SegmentConfig, {'overlap': 0}, 'overlap_keyframes must be an integer >= 1, got 0')])
def test_settings_out_of_range_are_refused(part, values, said):
    with pytest.raises(ConfigError, match=said):
        part(**values)


def test_a_segment_must_hold_more_than_its_overlap():
    with pytest.raises(ConfigError, match='at least twice overlap_keyframes'):
        StreamConfig(segments=SegmentConfig(12, 8), anchor_frames=2)


def test_without_end_keeps_what_is_set():
    mine = StreamConfig(keyframes=KeyframeConfig('motion', 0.2), window=5,
                        segments=SegmentConfig(100, 4)).without_end()
    assert mine.keyframes == KeyframeConfig('motion', 0.2) and mine.window == 5
    assert mine.segments == SegmentConfig(100, 4) and mine.anchors.policy == 'motion'
    assert mine.tracking is not None and mine.without_end() == mine
    assert StreamConfig.endless(window=5, segments=SegmentConfig(100, 4),
                                keyframes=KeyframeConfig('motion', 0.2)) == mine
