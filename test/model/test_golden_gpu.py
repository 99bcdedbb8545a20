# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The reference's streams on a GPU: fp32 to the stated tolerance, bf16 near it."""

import golden
from lingbot_ros import load_network, StreamConfig, StreamSession
import numpy as np
import pytest
import torch

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(),
                                                  reason='needs a CUDA device')]


@pytest.fixture(scope='module', params=['fp32', 'bf16'])
def network(request):
    return load_network('random', 'cuda', request.param, golden.CONFIG)


@pytest.mark.parametrize('backend', ['sdpa', 'flashinfer_fa2', 'flashinfer_fa3'])
@pytest.mark.parametrize('name', golden.STREAMS)
def test_stream_equals_reference(network, name, backend):
    exact = network.dtype == torch.float32
    if backend != 'sdpa':
        pytest.importorskip('flashinfer')
        if exact:
            pytest.skip('flashinfer has no fp32')
    case = golden.load(name)
    session = StreamSession(network, StreamConfig(
        anchor_frames=int(case['scale_frames']), window=int(case['sliding_window']),
        keyframe_interval=int(case['keyframe_interval']),
        camera_iterations=int(case['camera_iterations']), max_keyframes=64), backend)
    estimates = list(session.stream((f, 0) for f in golden.pixels(case['frames'])))
    poses = np.stack([e.pose_encoding for e in estimates])
    depths = np.stack([e.depth.cpu().numpy() for e in estimates])
    # bf16 keeps 8 bits; through four blocks of random weights that leaves a few per cent.
    np.testing.assert_allclose(poses, case['pose_enc'], rtol=0, atol=2e-4 if exact else 0.1)
    error = np.abs(depths / case['depth'] - 1)
    assert error.max() < 1e-3 if exact else np.median(error) < 0.05
