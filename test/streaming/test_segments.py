# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Streams over several segments: what a new one is, that poses go on, that nothing grows."""

from batch_oracle import Plan, run
from lingbot_ros import (
    AnchorConfig,
    KeyframeConfig,
    SegmentConfig,
    StreamConfig,
    StreamSession,
)
from lingbot_ros.errors import ConfigError
from lingbot_ros.geometry.rigid import invert_transform
from lingbot_ros.geometry.rotation import rotation_angle
from lingbot_ros.streaming.anchor_pass import slices_of
from lingbot_ros.streaming.cached_stream import stream_sizes
from lingbot_ros.streaming.continuity import FADE_FRAMES
import numpy as np
import pytest
import torch

SIZE = (28, 42)
FRAME_NS = 33_000_000


def images(count, seed=0):
    """Blend from picture to picture: successive frames are alike, as those of a video."""
    generator = torch.Generator().manual_seed(seed)
    corners = torch.rand(count // 10 + 2, 3, *SIZE, generator=generator)
    parts = torch.arange(count) / 10
    low = parts.long()
    mix = (parts - low)[:, None, None, None]
    return (1 - mix) * corners[low] + mix * corners[low + 1]


def config(**changes):
    return StreamConfig(**{'anchor_frames': 3, 'window': 2, 'camera_iterations': 2,
                           'image_size': 42, 'max_keyframes': 32, **changes})


def push_all(session, frames):
    return [e for i, frame in enumerate(frames) for e in session.push(frame, i * FRAME_NS)]


def encodings(estimates):
    return np.stack([e.pose_encoding for e in estimates])


def hand_overs(estimates):
    """Frames that both segments have answered: the last ones of a segment."""
    return [i for i in range(len(estimates) - 1)
            if estimates[i].segment != estimates[i + 1].segment]


@pytest.mark.parametrize('threshold', [0.0, 0.01, 1.0])
@pytest.mark.parametrize('window', [1, 3])
def test_frames_kept_for_their_motion_equal_one_masked_attention(calm_network, threshold, window):
    """Deciding after the pass changes what a keyframe itself sees, and nothing else."""
    frames = images(14)
    session = StreamSession(calm_network, config(
        window=window, keyframes=KeyframeConfig('motion', threshold, max_gap=4)))
    estimates = push_all(session, frames)
    kept = [e.is_keyframe for e in estimates]
    if threshold == 0:
        assert all(kept)
    elif threshold == 1:
        assert kept[3:] == ([False] * 3 + [True]) * 2 + [False] * 3, 'the gap alone'
    else:
        assert 3 < sum(kept) < 14
    poses, depths = run(calm_network, frames, Plan(3, kept, [window] * 14, late=True), 2)
    np.testing.assert_allclose(encodings(estimates), poses, atol=1e-4, rtol=0)
    assert torch.allclose(torch.stack([e.depth for e in estimates]), depths, rtol=1e-4)


def test_a_new_segment_is_a_stream_that_begins_with_the_last_keyframes(calm_network):
    frames, room, overlap = images(45), 20, 4
    session = StreamSession(calm_network, config(segments=SegmentConfig(room, overlap)))
    estimates = push_all(session, frames)
    changes = hand_overs(estimates)
    assert len(changes) == 2
    over = changes[0]
    # One slice a frame, one frame to fit, one to change over.
    begun = over - slices_of(4, overlap) - 2
    assert over < room
    fresh = StreamSession(calm_network, config(anchor_frames=overlap))
    again = push_all(fresh, [*frames[begun - overlap + 1:begun + 1], *frames[over:changes[1]]])
    np.testing.assert_allclose(encodings(estimates[over + 1:changes[1]]),
                               encodings(again[overlap + 1:]), atol=1e-4, rtol=0)


def test_poses_go_on_across_joins_and_depth_keeps_their_unit(calm_network):
    frames = images(60)
    session = StreamSession(calm_network, config(segments=SegmentConfig(20, 4)))
    estimates = push_all(session, frames)
    for over in hand_overs(estimates):
        before, at, after = (e.T_world_camera for e in estimates[over - 1:over + 2])
        steps = [invert_transform(a) @ b for a, b in ((before, at), (at, after))]
        turns = [rotation_angle(step[:3, :3]) for step in steps]
        # Not more than a usual step, and a part of the correction that fades.
        assert turns[1] < 2 * turns[0] + np.radians(30) / FADE_FRAMES
        lengths = [np.linalg.norm(step[:3, 3]) for step in steps]
        assert lengths[1] < 2 * lengths[0] + 1 / FADE_FRAMES
    scale = session.snapshot().scale
    assert scale != 1
    raw = push_all(StreamSession(calm_network, config(segments=SegmentConfig(20, 4),
                                                      depth=False)), frames[:5])
    assert raw[-1].depth is None


def test_frames_without_segments_are_those_of_the_reference(calm_network):
    """Until the first change over, segments change no number."""
    frames = images(12)
    plain = push_all(StreamSession(calm_network, config()), frames)
    segmented = push_all(StreamSession(calm_network, config(segments=SegmentConfig(20, 4))),
                         frames)
    np.testing.assert_allclose(encodings(plain), encodings(segmented), atol=1e-5, rtol=0)
    assert [e.frame_index for e in plain] == [e.frame_index for e in segmented]


def test_nothing_grows(calm_network):
    session = StreamSession(calm_network, config(segments=SegmentConfig(20, 4)))
    push_all(session, images(20))
    before = session.snapshot()
    push_all(session, images(100, seed=1))
    after = session.snapshot()
    assert after.cache_bytes == before.cache_bytes and after.pages_total == before.pages_total
    assert after.pages_used <= after.pages_total and after.keyframes <= 20
    assert after.segment == after.joins > 5


def test_anchors_wait_for_motion_and_a_still_camera_stays_still(calm_network):
    still = images(1).repeat(12, 1, 1, 1) + 0.002 * torch.rand(
        12, 3, *SIZE, generator=torch.Generator().manual_seed(1))
    session = StreamSession(calm_network, config(
        max_keyframes=80, anchors=AnchorConfig('motion', 0.01)))
    estimates = push_all(session, still)
    assert [e.frame_index for e in estimates] == list(range(12)), 'a pose for every frame'
    assert [e.is_anchor for e in estimates] == [True] + [False] * 11
    for estimate in estimates:
        np.testing.assert_array_equal(estimate.T_world_camera, estimates[0].T_world_camera)
    assert session.snapshot().initialising
    moving = [session.push(frame, (12 + i) * FRAME_NS)[0]
              for i, frame in enumerate(images(40, seed=2))]
    assert not session.snapshot().initialising
    assert {e.segment for e in moving} == {0, 1}
    assert session.snapshot().last_join.kind == 'anchors'
    assert session.snapshot().last_join.scale == 1


def test_anchors_do_not_wait_for_ever(calm_network):
    """Two views and then nothing new: after the time limit two anchors must do."""
    a, b = images(30)[0], images(30)[25]
    session = StreamSession(calm_network, config(
        anchor_frames=8, anchors=AnchorConfig('motion', 0.0001, wait_s=0.5)))
    push_all(session, [a, b])
    assert session.snapshot().initialising
    for index in range(2, 40):
        session.push(b, index * FRAME_NS)
    assert not session.snapshot().initialising
    assert session.snapshot().last_join.shared_frames < 8


def test_auto_keyframes_never_use_up_the_room(calm_network):
    session = StreamSession(calm_network, config(
        max_keyframes=12, keyframes=KeyframeConfig('auto', 0.001)))
    estimates = push_all(session, images(60))
    assert len(estimates) == 60 and 4 < session.keyframes <= 12


def test_a_segment_too_short_for_its_anchors_is_refused(calm_network):
    with pytest.raises(ConfigError, match='segment_keyframes must be at least 13 for this network'
                                          '.* got 12'):
        StreamSession(calm_network, config(segments=SegmentConfig(12, 4)))


def test_no_frame_does_the_work_of_four(calm_network):
    """Blocks and depth heads that run in one push, by the frames that go through them."""
    work = [0, 0]

    def through_block(_module, inputs, _output):
        work[0] += inputs[0].shape[1] // (6 + 6)

    def through_depth(_module, inputs, _output):
        work[1] += len(inputs[0][0])

    hooks = [block.register_forward_hook(through_block)
             for block in calm_network.aggregator.global_blocks]
    hooks.append(calm_network.depth_head.register_forward_hook(through_depth))
    try:
        session = StreamSession(calm_network, config(segments=SegmentConfig(40, 8)))
        done = []
        for index, frame in enumerate(images(120)):
            work[:] = 0, 0
            session.push(frame, index * FRAME_NS)
            done.append(tuple(work))
    finally:
        for hook in hooks:
            hook.remove()
    assert session.snapshot().joins >= 3
    later = np.array(done[3:])
    assert np.median(later, axis=0).tolist() == [4, 1]
    assert later[:, 0].max() <= 3 * 4 and later[:, 1].max() <= 3


def test_bytes_are_known_before_they_are_allocated(calm_network):
    settings = config(segments=SegmentConfig(40, 8), window=3)
    session = StreamSession(calm_network, settings)
    main, aside = stream_sizes(calm_network, settings, SIZE, 3)
    push_all(session, images(3))
    assert session.cache_bytes == main.total_bytes + aside.total_bytes
    assert aside.total_bytes < main.total_bytes, 'anchors alone'
    plain = StreamSession(calm_network, config())
    main, aside = stream_sizes(calm_network, config(), SIZE, 2)
    push_all(plain, images(3))
    assert aside is None and plain.cache_bytes == main.total_bytes
