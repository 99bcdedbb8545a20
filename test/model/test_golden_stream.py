# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The reference's streams, frame by frame, at the tolerances the model facts state."""

import golden
from lingbot_ros import StreamConfig, StreamSession
import numpy as np
import pytest


def run(network, name):
    case = golden.load(name)
    session = StreamSession(network, StreamConfig(
        anchor_frames=int(case['scale_frames']), window=int(case['sliding_window']),
        keyframe_interval=int(case['keyframe_interval']),
        camera_iterations=int(case['camera_iterations']), max_keyframes=len(case['frames'])))
    estimates = []
    for index, frame in enumerate(golden.pixels(case['frames'])):
        estimates += session.push(frame, index)
    return case, estimates


@pytest.mark.slow
@pytest.mark.parametrize('name', golden.STREAMS)
def test_stream_equals_reference(golden_network, name):
    case, estimates = run(golden_network, name)
    assert [e.frame_index for e in estimates] == list(range(len(case['frames'])))
    assert [e.is_keyframe for e in estimates] == case['is_keyframe'].tolist()
    poses = np.stack([e.pose_encoding for e in estimates])
    np.testing.assert_allclose(poses, case['pose_enc'], rtol=0, atol=2e-4)
    for key, values in (('depth', [e.depth for e in estimates]),
                        ('depth_conf', [e.depth_confidence for e in estimates])):
        np.testing.assert_allclose(np.stack(values), case[key], rtol=1e-3)


def test_stages_equal_reference(golden_network):
    """Where a stream differs, this says at which stage."""
    stages = golden.load('stages_every_frame')
    frames = golden.pixels(golden.load('stream_every_frame')['frames'])
    network = golden_network
    config = StreamConfig(anchor_frames=4, window=6)
    from lingbot_ros.streaming.cached_stream import CachedStream
    stream = CachedStream(network, config, (56, 84), 6, 'sdpa')
    tokens = stream.encode(frames[:4])
    np.testing.assert_allclose(tokens, stages['patch_tokens_first4'], atol=1e-4)

    taps = []
    aggregate = network.aggregator.register_forward_hook(lambda *call: taps.append(call[2]))
    stream.run(tokens, 'anchor')
    stream.commit()
    stream.run(stream.encode(frames[4:5]), 'keyframe')
    aggregate.remove()
    for layer in (0, 3):
        np.testing.assert_allclose(taps[0][layer], stages[f'scale_layer{layer}'], atol=1e-4)
        np.testing.assert_allclose(taps[1][layer], stages[f'frame4_layer{layer}'], atol=1e-4)
