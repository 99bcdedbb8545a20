# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Choosing a back end by name: what 'auto' decides, and that nothing falls back silently."""

import importlib.util

from lingbot_ros.attention import BACKENDS, choose_backend, make_backend
from lingbot_ros.errors import BackendError
import pytest
import torch


@pytest.mark.parametrize(('head_dim', 'dtype', 'device', 'installed', 'name', 'reason'), [
    (64, torch.bfloat16, 'cpu', True, 'sdpa', "the device is 'cpu'"),
    (64, torch.float32, 'cuda', True, 'sdpa', 'the dtype is torch.float32'),
    (32, torch.bfloat16, 'cuda', True, 'sdpa', 'head_dim is 32'),
    (64, torch.bfloat16, 'cuda', False, 'sdpa', r'not installed .*lingbot_ros\[flashinfer\]'),
    (64, torch.bfloat16, 'cuda', True, 'flashinfer', 'an installed flashinfer'),
    (128, torch.float16, 'cuda:1', True, 'flashinfer', 'an installed flashinfer'),
])
def test_auto_decides_and_says_why(monkeypatch, head_dim, dtype, device, installed, name, reason):
    found = importlib.util.find_spec('torch') if installed else None
    monkeypatch.setattr(importlib.util, 'find_spec', lambda _: found)
    got, why = choose_backend(head_dim, dtype, device)
    assert got == name
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(why)


@pytest.mark.parametrize('name', ['auto', 'sdpa'])
def test_plain_torch_serves_the_cpu(name):
    assert make_backend(name, 2, 8, 4, torch.float32, 'cpu').name == 'sdpa'


def test_an_unknown_name_is_refused():
    with pytest.raises(BackendError, match="backend must be one of auto, sdpa, .*; got 'flash'"):
        make_backend('flash', 2, 8, 4, torch.float32, 'cpu')


@pytest.mark.parametrize('name', [x for x in BACKENDS if x.startswith('flashinfer')])
def test_flashinfer_off_a_gpu_is_refused(name):
    with pytest.raises(BackendError, match="needs a CUDA device, got 'cpu'; choose backend 'sdpa"):
        make_backend(name, 2, 64, 4, torch.bfloat16, 'cpu')


def test_what_flashinfer_cannot_serve_is_refused_before_it_is_imported():
    with pytest.raises(BackendError, match='got torch.float32; choose another dtype'):
        make_backend('flashinfer', 2, 64, 4, torch.float32, 'cuda:0')
    with pytest.raises(BackendError, match=r'takes head_dim \(64, 128\), got 32'):
        make_backend('flashinfer', 2, 32, 4, torch.bfloat16, 'cuda:0')


def test_fa3_on_another_gpu_and_a_missing_package_are_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, 'get_device_capability', lambda _: (8, 7))
    with pytest.raises(BackendError, match="needs compute capability 9.x, this device has 8.7; "
                                           "choose 'flashinfer_fa2'"):
        make_backend('flashinfer_fa3', 2, 64, 4, torch.bfloat16, 'cuda:0')
    monkeypatch.setitem(__import__('sys').modules, 'flashinfer', None)
    with pytest.raises(BackendError, match=r"pip install 'lingbot_ros\[flashinfer\]'"):
        make_backend('flashinfer', 2, 64, 4, torch.bfloat16, 'cuda:0')
