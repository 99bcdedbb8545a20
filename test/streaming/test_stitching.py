# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joins of two worlds that saw the same frames, the judgement of bad ones, and fading steps."""

from hypothesis import given, settings
from hypothesis import strategies as st
from lingbot_ros.geometry.rigid import invert_transform, make_transform
from lingbot_ros.geometry.rotation import matrix_from_rotation_vector, rotation_angle
from lingbot_ros.geometry.similarity import Similarity
from lingbot_ros.streaming.continuity import Continuity, FADE_FRAMES
from lingbot_ros.streaming.stitching import join, sampled, Sight
import numpy as np
import pytest
import torch

scalars = st.floats(-2, 2)


def sights(frames, seed=0):
    rng = np.random.default_rng(seed)
    out = []
    for index in range(frames):
        pose = make_transform(matrix_from_rotation_vector(0.1 * rng.standard_normal(3)),
                              [0.3 * index, 0.05 * rng.standard_normal(), 0])
        depth = torch.from_numpy(rng.uniform(1, 5, 200)).float()
        out.append(Sight(pose, depth, torch.from_numpy(rng.uniform(1, 9, 200)).float()))
    return out


def seen_in(world, frames, rng=None, depth_noise=0.0):
    """The same frames in another world: `world` maps that to the one of the frames."""
    inverse = world.inverse
    out = []
    for sight in frames:
        depth = sight.depth / world.scale
        if rng is not None:
            depth = depth * torch.from_numpy(
                np.exp(depth_noise * rng.standard_normal(len(depth)))).float()
        out.append(Sight(inverse.pose(sight.pose), depth, sight.confidence))
    return out


@settings(deadline=None, max_examples=25)
@given(scale=st.floats(0.2, 5), turn=st.tuples(scalars, scalars, scalars),
       shift=st.tuples(scalars, scalars, scalars))
def test_a_join_finds_the_world_of_the_new_segment(scale, turn, shift):
    world = Similarity(scale, matrix_from_rotation_vector(turn), np.array(shift))
    old = sights(6)
    found, report = join(old, seen_in(world, old), 'segment', 3, 99, 7, scale)
    assert found.scale == pytest.approx(scale, rel=1e-5)
    for sight, again in zip(old, seen_in(world, old), strict=True):
        np.testing.assert_allclose(found.pose(again.pose), sight.pose, atol=1e-4)
    assert not report.bad and report.shared_frames == 6 and report.inlier_fraction == 1
    assert (report.kind, report.segment, report.frame_index, report.stamp_ns) == (
        'segment', 3, 99, 7)
    assert report.scale_change == pytest.approx(1, rel=1e-5)


WORLD = Similarity(2.0, matrix_from_rotation_vector([0.1, 0.2, 0.3]), np.array([1.0, 2, 3]))


def test_first_anchors_keep_their_unit_and_lie_where_the_first_frame_lies():
    old = sights(4)
    new = seen_in(WORLD, old)
    found, report = join(old, new, 'anchors', 1, 10, 0, 1.0)
    assert found.scale == 1 == report.scale
    np.testing.assert_allclose(found.pose(new[0].pose), old[0].pose, atol=1e-9)


def bad(change, **kwargs):
    old = sights(6)
    new = seen_in(WORLD, old)
    change(old, new, np.random.default_rng(1))
    return join(old, new, 'segment', 1, 0, 0, kwargs.get('before', 2.0))[1].bad


def turned(degrees):
    def change(old, new, rng):
        for index, sight in enumerate(new):
            pose = sight.pose.copy()
            pose[:3, :3] = pose[:3, :3] @ matrix_from_rotation_vector(
                np.radians(degrees) * rng.standard_normal(3))
            new[index] = Sight(pose, sight.depth, sight.confidence)
    return change


def moved(length):
    def change(old, new, rng):
        for index, sight in enumerate(new):
            pose = sight.pose.copy()
            pose[:3, 3] += length * rng.standard_normal(3)
            new[index] = Sight(pose, sight.depth, sight.confidence)
    return change


def spread(old, new, rng):
    new[:] = seen_in(WORLD, old, rng, depth_noise=0.6)


def nothing(old, new, rng):
    pass


def few(old, new, rng):
    del old[2:], new[2:]


@pytest.mark.parametrize(('change', 'before', 'said'), [
    (nothing, 2.0, ''), (turned(0.2), 2.0, ''), (moved(0.01), 2.0, ''),
    (turned(5), 2.0, 'rotations differ by'), (moved(0.4), 2.0, 'of the motion'),
    (spread, 2.0, 'depth ratios spread by'), (few, 2.0, 'only 2 shared frames'),
    (nothing, 0.9, 'the scale changes by a factor of 2.22'),
    (nothing, 4.5, 'the scale changes by a factor of 0.44')])
def test_bad_joins_are_flagged(change, before, said):
    found = bad(change, before=before)
    assert said in found if said else found == ''


def test_wild_frames_do_not_move_a_join():
    old = sights(9)
    new = seen_in(WORLD, old)
    for index in (1, 4, 6):
        pose = new[index].pose.copy()
        pose[:3, 3] += 7
        new[index] = Sight(pose, 3 * new[index].depth, new[index].confidence)
    found, report = join(old, new, 'segment', 1, 0, 0, 2.0)
    assert found.scale == pytest.approx(2, rel=1e-3)
    np.testing.assert_allclose(found.pose(new[0].pose), old[0].pose, atol=1e-2)
    assert report.inlier_fraction == pytest.approx(6 / 9)


def test_where_nothing_fits_the_last_frame_is_carried_over():
    old = sights(3)
    new = [Sight(np.full((4, 4), np.nan), s.depth, s.confidence) for s in old[:-1]]
    new.append(Sight(np.diag([1.0, 1, 1, 1]), old[-1].depth, old[-1].confidence))
    with pytest.MonkeyPatch.context() as patch:
        from lingbot_ros.errors import AlignmentError
        from lingbot_ros.streaming import stitching

        def refuse(*_args, **_kwargs):
            raise AlignmentError('nothing finite is shared')

        patch.setattr(stitching, 'robust_similarity', refuse)
        found, report = join(old, new, 'segment', 1, 0, 0, 1.5)
    np.testing.assert_allclose(found.pose(np.eye(4)), old[-1].pose, atol=1e-9)
    assert report.bad == 'nothing finite is shared' and found.scale == 1.5


def test_sampled_pixels_are_the_same_for_every_image_of_a_size():
    depth = torch.arange(84 * 112, dtype=torch.float32).view(84, 112)
    values, confidence = sampled(depth, -depth)
    assert 900 < len(values) < 1200 and torch.equal(values, -confidence)
    small, _ = sampled(depth[:10, :10], depth[:10, :10])
    assert len(small) == 100


def test_a_step_fades_and_never_jumps():
    """Far from the origin too: the correction is of the camera's own axes."""
    rng = np.random.default_rng(0)
    pose = make_transform(matrix_from_rotation_vector(rng.standard_normal(3)), [500.0, -300, 40])
    published = pose @ make_transform(matrix_from_rotation_vector([0, 0.05, 0]), [0.1, 0, 0.05])
    continuity = Continuity()
    continuity.meet(pose, published)
    last = published
    for _ in range(FADE_FRAMES):
        now = continuity.apply(pose)
        step = invert_transform(last) @ now
        assert np.linalg.norm(step[:3, 3]) < 1.2 * 0.12 / FADE_FRAMES
        assert rotation_angle(step[:3, :3]) < 1.1 * 0.05 / FADE_FRAMES
        continuity.advance()
        last = now
    np.testing.assert_allclose(last, pose, atol=1e-9)
    assert continuity.apply(pose) is pose
