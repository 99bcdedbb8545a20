# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The recipe of the embedded weights: targets, losses, optimiser, curriculum, state, export."""

from __future__ import annotations

import importlib
import math
import random

from lingbot_ros import load_network
from lingbot_ros.model.network import EMBEDDED, Network
from lingbot_ros.model.recommended import recommended_stream
import pytest
from small_network import SMALL
import torch

from training import export, pool
from training.curriculum import draw_lesson, STAGES
from training.forward import aggregate, Streaming
from training.initial import initialise
from training.losses import Auxiliary, AuxiliarySizes, depth_loss, matching_loss, pose_loss
from training.optimiser import make_optimisers, OptimiserConfig, rate_factor, StackedMuon
from training.pool import Pool, PoolConfig, SeedCounter
from training.state import load_state, save_state
from training.step import step_loss, Weights
from training.targets import correspondences, make_targets, patch_rays, world_points
from training.watch import BAD_STEPS, BadRunError, Watch
from training.worlds import Batch

HEIGHT, WIDTH, PATCH = 32, 48, 8
FOV_X = 1.2
DEPTH = 4.0


def wall(steps, frames=4):
    """Sample of a wall at a distance, the camera moving sideways by patches a frame."""
    focal = WIDTH / 2 / math.tan(FOV_X / 2)
    pose = torch.eye(4).repeat(1, frames, 1, 1)
    pose[0, :, 0, 3] = torch.arange(frames) * steps * PATCH * DEPTH / focal
    fov = torch.tensor([[2 * math.atan(HEIGHT / 2 / focal), FOV_X]])
    pattern = torch.rand(1, 3, HEIGHT, WIDTH + frames * PATCH,
                         generator=torch.Generator().manual_seed(1))
    shift = [round(i * steps * PATCH) for i in range(frames)]
    images = torch.stack([pattern[..., s:s + WIDTH] for s in shift], dim=1)
    depth = torch.full((1, frames, HEIGHT, WIDTH), DEPTH)
    return Batch(images, depth, pose, fov, torch.zeros_like(depth, dtype=torch.bool))


def targets_of(sample, anchors=2):
    return make_targets(sample, anchors, PATCH)


def test_targets_are_in_units_of_the_anchors_depth():
    sample = wall(1.0)
    targets = targets_of(sample)
    assert targets.depth.unique().tolist() == pytest.approx([1.0])
    torch.testing.assert_close(targets.translation[0, :, 0],
                               sample.T_world_camera[0, :, 0, 3] / DEPTH)
    points, there = world_points(targets)
    assert bool(there.all())
    torch.testing.assert_close(points[..., 2], torch.ones_like(points[..., 2]))
    torch.testing.assert_close(points[0, 0], patch_rays(targets)[0, 0])


@pytest.mark.parametrize('lag', [1, 2])
def test_correspondences_of_a_sideways_camera(lag):
    position, seen = correspondences(targets_of(wall(1.0)), lag)
    columns = WIDTH // PATCH
    column = torch.arange(columns, dtype=torch.float32).repeat(HEIGHT // PATCH)
    torch.testing.assert_close(position[0, 0, :, 0], column + lag, atol=1e-4, rtol=0)
    assert torch.equal(seen[0, 0], column + lag < columns - 0.4)


def test_what_moves_by_itself_and_the_sky_match_nothing():
    sample = wall(1.0)
    sample.moving[0, 1, :, :PATCH] = True
    sample.depth[0, 1, :, PATCH:2 * PATCH] = 0
    _, seen = correspondences(targets_of(sample, anchors=1), 1)
    grid = seen[0, 0].unflatten(0, (HEIGHT // PATCH, WIDTH // PATCH))
    assert not grid[:, :2].any()
    assert grid[:, 2:5].all()


def encodings(targets):
    frames = targets.translation.shape[1]
    quaternion = torch.tensor((0.0, 0.0, 0.0, 1.0)).expand(1, frames, 4)
    return torch.cat((targets.translation, quaternion,
                      targets.fov[:, None].expand(-1, frames, -1)), dim=-1)


def test_the_truth_has_the_least_pose_loss():
    targets = targets_of(wall(1.0))
    truth = encodings(targets)
    best, measures = pose_loss([truth, truth], targets)
    assert float(measures['rotation_1_deg']) < 0.2
    assert float(measures['direction_1_deg']) < 0.2
    for change in ((0, 0.1), (5, 0.1), (8, 0.1)):
        worse = truth.clone()
        worse[:, 1:, change[0]] += change[1]
        assert float(pose_loss([truth, worse], targets)[0]) > float(best) + 0.05
        earlier = float(pose_loss([worse, truth], targets)[0])
        assert float(best) < earlier < float(pose_loss([truth, worse], targets)[0])


def test_matching_loss_prefers_the_true_patch():
    torch.manual_seed(0)
    columns, rows = 6, 4
    key = torch.nn.functional.normalize(torch.randn(1, 1, rows * columns, 16), dim=-1)
    column = torch.arange(columns, dtype=torch.float32).repeat(rows)
    row = torch.arange(rows, dtype=torch.float32).repeat_interleave(columns)
    position = torch.stack((column, row), dim=-1)[None, None]
    seen = torch.ones(1, 1, rows * columns, dtype=torch.bool)
    true = matching_loss(key, key, position, seen, columns)
    assert float(true) < 0.1
    assert float(matching_loss(key.roll(1, 2), key, position, seen, columns)) > 5
    assert float(matching_loss(key.roll(1, 2), key, position, ~seen, columns)) == 0


def test_depth_confidence_is_bounded_and_pays_for_errors():
    truth = torch.full((1, 4, 4), 2.0)
    logits = torch.stack((truth.log(), torch.full_like(truth, 60.0)), dim=1).requires_grad_()
    depth_loss(logits, truth)[0].backward()
    assert bool(torch.isfinite(logits.grad).all())
    assert bool((logits.grad[:, 1] > 0).all()), 'called back from beyond the bound'
    wrong = torch.stack((truth.log() + 1, torch.zeros_like(truth)), dim=1).requires_grad_()
    depth_loss(wrong, truth)[0].backward()
    assert bool((wrong.grad[:, 1] > 0).all()), 'less sure where it is wrong'


@pytest.mark.skipif(not hasattr(torch.optim, 'Muon'), reason='torch before 2.9 has no Muon')
def test_stacked_muon_is_muon():
    torch.manual_seed(0)
    ours, theirs = ([torch.nn.Parameter(value.clone()) for value in values] for values in
                    [[torch.linspace(-1, 1, 48 * 16).view(48, 16) * i for i in (1, 2)]] * 2)
    stacked = StackedMuon(ours, lr=1e-2, weight_decay=0.1)
    single = torch.optim.Muon(theirs, lr=1e-2, weight_decay=0.1, adjust_lr_fn='match_rms_adamw')
    for _ in range(4):
        for a, b in zip(ours, theirs, strict=True):
            a.grad = torch.randn(48, 16)
            b.grad = a.grad.clone()
        stacked.step()
        single.step()
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, atol=3e-3, rtol=0)


def test_the_rate_rises_and_ends_at_zero():
    config = OptimiserConfig()
    assert rate_factor(0.0, config) == 0.0
    assert rate_factor(config.warmup, config) == 1.0
    assert rate_factor(1.0, config) == 0.0


def test_lengths_grow():
    rng = random.Random(0)
    early = {draw_lesson(0.1, rng).stage.frames for _ in range(50)}
    late = [draw_lesson(0.99, rng) for _ in range(200)]
    assert early == {STAGES[0].frames}
    assert {lesson.stage.frames for lesson in late} == {stage.frames for stage in STAGES}
    assert len({lesson.size for lesson in late}) == 4


def test_a_bad_run_is_stopped():
    watch = Watch()
    with pytest.raises(BadRunError, match='times the best'):
        for step in range(10_000):
            watch.see(1.0 if step < 200 else 2.0, 8, True)
    watch = Watch()
    with pytest.raises(BadRunError, match='finite'):
        for _ in range(BAD_STEPS + 1):
            watch.see(math.nan, 8, False)


def test_pool_uses_each_sequence_as_often_as_told(monkeypatch):
    rendered = []

    def fake(seeds, frames, height, width, device):
        rendered.extend(seeds)
        shape = (len(seeds), frames, height, width)
        images = torch.tensor(seeds, dtype=torch.uint8)[:, None, None, None, None].expand(
            len(seeds), frames, 3, height, width)
        pose = torch.eye(4).repeat(len(seeds), frames, 1, 1)
        return Batch(images, torch.ones(shape), pose, torch.ones(len(seeds), 2),
                     torch.zeros(shape, dtype=torch.bool))

    monkeypatch.setattr(pool, 'render', fake)
    seeds = SeedCounter(0, 1)
    stock = Pool(PoolConfig(sequences=12, chunk=4, reuse=4.0), seeds, (8, 8), 10,
                 torch.device('cpu'))
    generator = torch.Generator().manual_seed(0)
    for _ in range(40):
        sample = stock.sample(8, 5, generator)
        assert sample.images.shape == (8, 5, 3, 8, 8)
    assert len(set(rendered)) == len(rendered) == seeds.used
    assert 40 * 8 * 5 / 4 <= len(rendered) * 10 <= 40 * 8 * 5 / 4 + 2 * 4 * 10


def test_learns_a_wall():
    torch.manual_seed(0)
    network = Network(SMALL)
    initialise(network)
    auxiliary = Auxiliary(SMALL.width, AuxiliarySizes(0, 1, 3))
    optimisers = make_optimisers([network, auxiliary], OptimiserConfig())
    sample = wall(0.5)
    losses = []
    for _ in range(25):
        loss, measures = step_loss(network, auxiliary, sample, Streaming(2, 2), Weights(), 2)
        for optimiser in optimisers:
            optimiser.zero_grad()
        loss.backward()
        for optimiser in optimisers:
            optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.6 * losses[0]
    assert float(measures['match']) < 2


@pytest.mark.parametrize(('module', 'options', 'message'), [
    ('export', ['nowhere'], 'expected the folder of a run, got nowhere'),
    ('train', ['--seconds', '1', '--output', 'o', '--resume', 'nowhere'], '--resume must be'),
    ('train', ['--seconds', '1', '--output', 'o', '--until', '0'], '--until must lie between 0'),
    ('figures', ['nowhere', '--output', 'o.json'], 'no checkpoint at'),
])
def test_bad_arguments_end_in_one_line(tmp_path, monkeypatch, capsys, module, options, message):
    if module == 'figures':
        pytest.importorskip('evo', reason='evo is not installed (pip install .[evaluate])')
    program = importlib.import_module(f'training.{module}')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr('sys.argv', ['program', *options])
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code == 2
    assert message in capsys.readouterr().err.splitlines()[-1]
    assert not list(tmp_path.iterdir())


def test_state_and_export_go_through_half_precision(tmp_path, monkeypatch):
    torch.manual_seed(0)
    network, auxiliary = Network(EMBEDDED), Auxiliary(EMBEDDED.width, AuxiliarySizes(1, 3, 5))
    initialise(network)
    save_state(tmp_path / 'run', network, auxiliary, {'progress': 0.5, 'step': 3})
    other, extra = Network(EMBEDDED), Auxiliary(EMBEDDED.width, AuxiliarySizes(1, 3, 5))
    assert load_state(tmp_path / 'run', other, extra)['step'] == 3
    images = torch.rand(1, 2, 3, 32, 48)
    with torch.no_grad():
        a, b = (aggregate(n, images, Streaming(1, 1)).taps[-1] for n in (network, other))
    torch.testing.assert_close(a, b, atol=0.02, rtol=0.02)
    monkeypatch.setattr('sys.argv', ['export', str(tmp_path / 'run'),
                                     '--output', str(tmp_path / 'weights')])
    assert export.main() == 0
    loaded = load_network(tmp_path / 'weights' / 'embedded.safetensors', 'cpu')
    assert loaded.config == EMBEDDED
    assert recommended_stream(loaded).image_size == export.STREAM['image_size']
