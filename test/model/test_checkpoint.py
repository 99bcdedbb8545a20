# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of every accepted kind load exactly; everything else is refused with its name."""

import json
import logging
import os
import pickle
import re
import subprocess
import sys

import golden
from lingbot_ros import CameraHeadConfig, load_network, Network, NetworkConfig
from lingbot_ros.errors import CheckpointError, ConfigError
from lingbot_ros.model.network import TINY
from lingbot_ros.model.sizes import infer_config
import numpy as np
import pytest
from safetensors.torch import save_file
import torch


@pytest.fixture(scope='module')
def tensors(tiny_network):
    return {name: p.detach().clone() for name, p in tiny_network.named_parameters()}


def save(path, tensors, wrap=False):
    if path.suffix == '.safetensors':
        save_file(tensors, path)
    else:
        torch.save({'model': tensors, 'epoch': 3} if wrap else tensors, path)
    return path


def assert_same(network, tensors):
    loaded = dict(network.named_parameters())
    assert loaded.keys() == tensors.keys()
    for name, value in tensors.items():
        assert torch.equal(loaded[name], value), name
        assert not loaded[name].requires_grad


@pytest.mark.parametrize('name, wrap', [('a.pt', False), ('a.pt', True), ('a.pth', True),
                                        ('a.safetensors', False)])
def test_every_format_loads_exactly(tmp_path, tensors, name, wrap):
    network = load_network(save(tmp_path / name, tensors, wrap), 'cpu', 'fp32')
    assert network.config == TINY
    assert not network.is_random
    assert_same(network, tensors)


@pytest.mark.parametrize('dtype', [torch.bfloat16, torch.float16])
def test_half_precision_keeps_heads_and_norms_in_fp32(tmp_path, tensors, dtype):
    network = load_network(save(tmp_path / 'a.safetensors', tensors), 'cpu', dtype)
    assert network.dtype == dtype
    for name, parameter in network.named_parameters():
        matrix = name.startswith('aggregator.') and 'norm' not in name and any(
            part in name for part in ('qkv', 'proj', 'fc'))
        assert parameter.dtype == (dtype if matrix else torch.float32), name


def test_half_precision_file_loads_as_fp32(tmp_path, tensors):
    halves = {name: value.half() for name, value in tensors.items()}
    network = load_network(save(tmp_path / 'a.safetensors', halves), 'cpu', 'fp32')
    assert_same(network, {name: value.float() for name, value in halves.items()})


def test_loaded_tensors_do_not_alias_the_file(tmp_path, tensors):
    path = save(tmp_path / 'a.safetensors', tensors)
    network = load_network(path, 'cpu', 'fp32')
    path.write_bytes(b'\0' * path.stat().st_size)
    assert_same(network, tensors)


@pytest.mark.parametrize('suffix', ['pt', 'safetensors'])
def test_misfits_are_named(tmp_path, tensors, suffix):
    broken = dict(tensors)
    del broken['camera_head.embed_pose.bias']
    broken['aggregator.stranger'] = torch.zeros(2)
    broken['camera_head.token_norm.weight'] = torch.zeros(3)
    with pytest.raises(CheckpointError) as caught:
        load_network(save(tmp_path / f'a.{suffix}', broken), 'cpu', 'fp32')
    message = str(caught.value)
    assert '1 missing: camera_head.embed_pose.bias' in message
    assert '1 unexpected: aggregator.stranger' in message
    assert 'camera_head.token_norm.weight (expected [256], got [3])' in message


def test_long_lists_are_cut(tmp_path, tensors):
    few = {name: value for name, value in tensors.items() if not name.startswith('depth_head.s')}
    with pytest.raises(CheckpointError, match=r'missing: .* and \d+ more'):
        load_network(save(tmp_path / 'a.pt', few), 'cpu', 'fp32')


@pytest.mark.parametrize('suffix', ['pt', 'safetensors'])
def test_point_head_is_ignored_with_one_log_line(tmp_path, tensors, suffix, caplog):
    extra = {'point_head.norm.weight': torch.ones(3), 'point_head.a.b': torch.ones(2)}
    path = save(tmp_path / f'a.{suffix}', {**tensors, **extra})
    with caplog.at_level(logging.INFO, 'lingbot_ros'):
        network = load_network(path, 'cpu', 'fp32')
    assert_same(network, tensors)
    assert [r.getMessage() for r in caplog.records if r.module == 'checkpoint'] == [
        f'{path}: ignoring 2 tensors of point_head.*']


class Payload:
    """Creates a file when unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (self.path,))


@pytest.mark.parametrize('writer', ['torch', 'pickle'])
def test_loading_never_executes_code(tmp_path, tensors, writer):
    mark = tmp_path / 'executed'
    path = tmp_path / 'evil.pt'
    content = {'model': tensors, 'extra': Payload(str(mark))}
    if writer == 'torch':
        torch.save(content, path)
    else:
        path.write_bytes(pickle.dumps(content))
    with pytest.raises(CheckpointError, match='refused|not a readable'):
        load_network(path, 'cpu', 'fp32')
    assert not mark.exists()


@pytest.mark.parametrize('name', ['a.pt', 'a.safetensors'])
@pytest.mark.parametrize('damage', ['empty', 'text', 'cut'])
def test_damaged_files_are_refused(tmp_path, tensors, name, damage):
    path = save(tmp_path / name, tensors)
    content = {'empty': b'', 'text': b'<html>not found</html>',
               'cut': path.read_bytes()[:path.stat().st_size // 2]}[damage]
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match='not a readable'):
        load_network(path, 'cpu', 'fp32')


def test_any_bytes_end_in_one_error(tmp_path, tensors):
    """Whatever stands in the file: a pickle of noise, a zip with noise in it, text."""
    rng = np.random.default_rng(0)
    whole = save(tmp_path / 'whole.pt', tensors).read_bytes()
    path = tmp_path / 'noise.pt'
    for index in range(300):
        noise = rng.bytes(int(rng.integers(1, 300)))
        place = int(rng.integers(0, 3000))
        path.write_bytes([noise, b'\x80\x02' + noise, b'root:x:0:0\n' + noise,
                          whole[:place] + noise + whole[place + len(noise):]][index % 4])
        try:
            load_network(path, 'cpu', 'fp32')
        except CheckpointError as error:
            assert str(path) in str(error)


def test_other_content_is_refused(tmp_path):
    for index, content in enumerate([[1, 2], {}, {'a': 1}, {'model': {'a': 'b'}}]):
        path = tmp_path / f'{index}.pt'
        torch.save(content, path)
        with pytest.raises(CheckpointError, match='expected a dict of tensors'):
            load_network(path, 'cpu', 'fp32')


def test_sparse_and_meta_tensors_are_refused(tmp_path, tensors):
    name = 'camera_head.embed_pose.bias'
    for index, value in enumerate((tensors[name].to_sparse(), tensors[name].to('meta'))):
        path = save(tmp_path / f'{index}.pt', {**tensors, name: value})
        with pytest.raises(CheckpointError, match=str(path)):
            load_network(path, 'cpu', 'fp32')


def test_integer_weights_are_refused(tmp_path, tensors):
    name = 'camera_head.embed_pose.bias'
    path = save(tmp_path / 'a.pt', {**tensors, name: tensors[name].int()})
    with pytest.raises(CheckpointError, match=f'{name}: expected floating point'):
        load_network(path, 'cpu', 'fp32')


@pytest.mark.parametrize('missing', ['', 'no/such/file.pt', '~nobody-here/a.pt', 5000 * 'a', '.'])
def test_missing_file_says_what_to_set(missing):
    with pytest.raises(CheckpointError, match="no checkpoint at .*'random'"):
        load_network(missing, 'cpu', 'fp32')


def test_unknown_device_and_dtype_are_refused():
    with pytest.raises(ConfigError, match="device must be .* got 'tpu'"):
        load_network('random', 'tpu')
    with pytest.raises(ConfigError, match="dtype must be .* got 'int8'"):
        load_network('random', 'cpu', 'int8')
    with pytest.raises(ConfigError, match='sees .* CUDA devices'):
        load_network('random', 'cuda:99')


def test_random_weights_say_so(caplog):
    with caplog.at_level(logging.WARNING, 'lingbot_ros'):
        assert load_network('random', 'cpu', 'fp32').is_random
    assert 'poses mean nothing' in caplog.text


def manifest():
    return json.loads((golden.FOLDER / 'checkpoint_manifest.json').read_text())


def test_released_names_and_shapes_are_ours():
    with torch.device('meta'):
        network = Network(NetworkConfig())
    ours = {name: list(p.shape) for name, p in network.named_parameters()}
    assert ours == manifest()
    assert infer_config({n: tuple(s) for n, s in manifest().items()}) == NetworkConfig()


@pytest.mark.parametrize('gone', [
    r'aggregator\.(frame|global)_blocks\.23\.', r'aggregator\.(frame|global)_blocks\.2[0-3]\.',
    r'camera_head\.trunk\.3\.', r'aggregator\.patch_embed\.blocks\.23\.'])
def test_released_checkpoint_without_some_blocks_is_no_smaller_network(gone):
    shapes = {n: tuple(s) for n, s in manifest().items() if not re.match(gone, n)}
    assert len(shapes) < len(manifest())
    assert infer_config(shapes) == NetworkConfig()


def test_absurd_block_numbers_and_shapes_do_not_hang(tiny_network):
    shapes = {name: tuple(p.shape) for name, p in tiny_network.named_parameters()}
    assert infer_config({**shapes, 'aggregator.frame_blocks.99999999.x': (1,)}) == TINY
    for name in ('aggregator.camera_token', 'aggregator.global_blocks.0.attn.q_norm.weight'):
        for shape in ((), (0,)):
            assert infer_config({**shapes, name: shape}) == NetworkConfig()


def test_golden_sizes_are_read_off_the_shapes(golden_network):
    shapes = {name: tuple(p.shape) for name, p in golden_network.named_parameters()}
    assert infer_config(shapes) == golden.CONFIG


def test_unknown_taps_are_refused(golden_network):
    shapes = {name: tuple(p.shape) for name, p in golden_network.named_parameters()
              if '_blocks.3.' not in name}
    with pytest.raises(CheckpointError, match='multiple of 4 aggregator blocks'):
        infer_config(shapes)


@pytest.mark.slow
def test_released_checkpoint_loads_completely(tmp_path):
    """All 1,342 tensors at full size; each is one stored number, so the file stays small."""
    path = tmp_path / 'lingbot-map.pt'
    values = {name: torch.full((1,), i / 2048, dtype=torch.float16).expand(shape)
              for i, (name, shape) in enumerate(manifest().items())}
    torch.save({'model': values}, path)
    network = load_network(path, 'cpu', 'bf16')
    assert network.config == NetworkConfig()
    assert sum(p.numel() for p in network.parameters()) == 1_157_943_540
    for name, parameter in network.named_parameters():
        first = parameter.flatten()[0].float()
        assert first == values[name].flatten()[0].to(parameter.dtype).float(), name


SCRIPT = r"""
import re, sys
from lingbot_ros import load_network
def peak(): return 1024 * int(re.search(r'VmHWM:\s+(\d+)', open('/proc/self/status').read())[1])
load_network('random', 'cpu', 'fp32')  # imports and allocator warmed up
before = peak()
network = load_network(sys.argv[1], 'cpu', sys.argv[2])
print((peak() - before) / sum(p.nbytes for p in network.parameters()))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != 'linux', reason='reads /proc')
@pytest.mark.parametrize('suffix', ['pt', 'safetensors'])
def test_memory_while_loading(tmp_path, suffix):
    config = NetworkConfig(width=512, blocks=8, heads=8, taps=(1, 3, 5, 7), encoder=TINY.encoder,
                           camera=CameraHeadConfig(blocks=2, heads=8), depth=TINY.depth)
    with torch.device('meta'):
        shapes = {name: p.shape for name, p in Network(config).named_parameters()}
    values = {name: torch.ones(shape) for name, shape in shapes.items()}
    path = save(tmp_path / f'big.{suffix}', values)
    assert sum(v.nbytes for v in values.values()) > 300e6
    done = subprocess.run([sys.executable, '-c', SCRIPT, str(path), 'fp32'], check=True,
                          capture_output=True, text=True)
    assert float(done.stdout) < 1.3
