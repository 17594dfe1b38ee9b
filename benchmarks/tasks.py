"""Other tasks than classification, and training steps: both runners, eager PyTorch and Inductor.

Each case runs in a separate process. The sides make six calls in a row in turns, and the last four
of each turn count; times are medians. Every result is compared with eager PyTorch. A case that
fails on a side has the reason below the table.

A training step is one call: forward, loss, backward, and the update of the parameters. On both
runners, it is one captured program. Inductor compiles the model with its loss, and the update.

Detection models need `nms` and `roi_align` of torchvision, which are Python functions in this
environment (docs/torchvision.md): eager PyTorch and Inductor are slower than with torchvision's
kernels.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

import unmess
from benchmarks.iree_models import in_a_row, model_of, right_calls

SIDES = ("eager", "Inductor", "iree-cpu", "reference")
# The largest allowed difference from eager, relative to the largest value of a result.
_TOLERANCE = 1e-3
# The number of turns of each side.
_TURNS = 5
# The number of calls whose results are compared.
_CHECKED = 3

Call = Callable[..., Any]


def main() -> None:
    warnings.filterwarnings("ignore")
    print(f"{torch.get_num_threads()} threads; milliseconds, calls in a row")
    heads = ("case", *SIDES, "better runner / Inductor")
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}", flush=True)
    problems = []
    for name in CASES:
        row = _measured(name)
        times = row["times"]
        cells = [f"{times[side] * 1e3:.1f}" if side in times else "" for side in SIDES]
        ours = [times[side] for side in SIDES[2:] if side in times]
        ratio = f"{min(ours) / times['Inductor']:.2f}" if ours and "Inductor" in times else ""
        print(f"| {' | '.join((name, *cells, ratio))} |", flush=True)
        problems += [f"{name}, {side}: {why}" for side, why in row["problems"].items()]
    print("\n".join(["", *problems]))


def _measured(name: str) -> dict[str, dict[str, Any]]:
    """Measures a case in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.tasks", name]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return {
            "times": {},
            "problems": {"the process": lines[-1] if lines else f"status {done.returncode}"},
        }
    return json.loads(done.stdout.splitlines()[-1])


def _measure(name: str) -> dict[str, dict[str, Any]]:
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    builds, args = CASES[name]()
    expected = _first_results(builds["eager"](), args)
    calls, problems = right_calls(
        builds, lambda call: _first_results(call, args), expected, _TOLERANCE
    )
    return {"times": in_a_row(calls, args, _TURNS), "problems": problems}


def _first_results(call: Call, args: tuple) -> list[Any]:
    """Returns the results of the first calls: the second loss of a training shows the update."""
    return [call(*args) for _ in range(_CHECKED)]


Case = tuple[dict[str, Callable[[], Call]], tuple]


def _inference(model: nn.Module, args: tuple, kwargs: dict[str, Any] | None = None) -> Case:
    kwargs = kwargs or {}
    program = unmess.capture(model, args, kwargs)

    def without_gradients(call: Call) -> Call:
        @torch.no_grad()
        def run(*args):
            return call(*args, **kwargs)

        return run

    return {
        "eager": lambda: without_gradients(model),
        "Inductor": lambda: without_gradients(torch.compile(model)),
        "iree-cpu": lambda: without_gradients(unmess.load(program, on="iree-cpu")),
        "reference": lambda: without_gradients(unmess.load(program, on="reference")),
    }, args


def _torchvision(name: str) -> Case:
    model, args, kwargs = model_of(f"torchvision:{name}")
    return _inference(model, args, kwargs)


def _whisper() -> Case:
    """Whisper-base: 30 seconds of sound, and 32 tokens of text."""
    import transformers

    config = transformers.WhisperConfig(
        d_model=512,
        encoder_layers=6,
        decoder_layers=6,
        encoder_attention_heads=8,
        decoder_attention_heads=8,
        encoder_ffn_dim=2048,
        decoder_ffn_dim=2048,
        use_cache=False,
    )
    model = transformers.WhisperForConditionalGeneration(config).eval()
    features, ids = torch.randn(1, 80, 3000), torch.randint(0, 50000, (1, 32))
    return _inference(_Logits(model, "input_features"), (features, ids))


def _t5() -> Case:
    """T5-small: 128 tokens of input, and 32 of output."""
    import transformers

    model = transformers.T5ForConditionalGeneration(transformers.T5Config(use_cache=False)).eval()
    ids, own = torch.randint(0, 32000, (1, 128)), torch.randint(0, 32000, (1, 32))
    return _inference(_Logits(model, "input_ids"), (ids, own))


class _Logits(nn.Module):
    """An encoder and decoder with positional inputs, and the logits as the result."""

    def __init__(self, model: nn.Module, input_name: str):
        super().__init__()
        self.model, self.input_name = model, input_name

    def forward(self, inputs: torch.Tensor, decoder_ids: torch.Tensor) -> torch.Tensor:
        return self.model(**{self.input_name: inputs}, decoder_input_ids=decoder_ids).logits


class _Attention(nn.Module):
    def __init__(self, channels: int, heads: int, context: int | None = None):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(channels, channels, bias=False)
        self.key = nn.Linear(context or channels, channels, bias=False)
        self.value = nn.Linear(context or channels, channels, bias=False)
        self.out = nn.Linear(channels, channels)

    def forward(self, x: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        def divided(values: torch.Tensor) -> torch.Tensor:
            return values.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        query, key, value = self.query(x), self.key(context), self.value(context)
        result = functional.scaled_dot_product_attention(*map(divided, (query, key, value)))
        return self.out(result.transpose(1, 2).flatten(2))


class _DiffusionBlock(nn.Module):
    """The first block of Stable Diffusion's U-Net: a residual block, self- and cross-attention."""

    def __init__(self, channels: int = 320, time: int = 1280, context: int = 768, heads: int = 8):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(32, channels), nn.GroupNorm(32, channels)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.time = nn.Linear(time, channels)
        self.norm = nn.GroupNorm(32, channels)
        self.proj_in, self.proj_out = (nn.Conv2d(channels, channels, 1) for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(channels) for _ in range(3))
        self.self_attention = _Attention(channels, heads)
        self.cross_attention = _Attention(channels, heads, context)
        self.gates = nn.Linear(channels, 8 * channels)
        self.out = nn.Linear(4 * channels, channels)

    def forward(self, x: torch.Tensor, time: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        hidden = self.conv1(functional.silu(self.norm1(x)))
        hidden = hidden + self.time(functional.silu(time))[:, :, None, None]
        image = x + self.conv2(functional.silu(self.norm2(hidden)))
        rows = self.proj_in(self.norm(image)).flatten(2).transpose(1, 2)
        own = self.norms[0](rows)
        rows = rows + self.self_attention(own, own)
        rows = rows + self.cross_attention(self.norms[1](rows), text)
        values, gates = self.gates(self.norms[2](rows)).chunk(2, -1)
        rows = rows + self.out(values * functional.gelu(gates))
        return image + self.proj_out(rows.transpose(1, 2).reshape(image.shape))


def _diffusion() -> Case:
    args = torch.randn(1, 320, 64, 64), torch.randn(1, 1280), torch.randn(1, 77, 768)
    return _inference(_DiffusionBlock().eval(), args)


class _Step(nn.Module):
    """A training step, as `unmess.capture` takes it."""

    def __init__(self, model: nn.Module, optimizer: Callable[[Any], torch.optim.Optimizer]):
        super().__init__()
        self.model = model
        self.optimizer = optimizer(model.parameters())

    def forward(self, *batch: torch.Tensor) -> torch.Tensor:
        self.optimizer.zero_grad()
        loss = self.model(*batch)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def _training(model: nn.Module, optimizer: Callable[..., torch.optim.Optimizer], args) -> Case:
    """A model that returns its loss. Every side trains a copy of the model."""

    def inductor() -> Call:
        own = copy.deepcopy(model)
        update, compiled = optimizer(own.parameters()), torch.compile(own)
        step = torch.compile(update.step)

        def run(*args):
            update.zero_grad()
            loss = compiled(*args)
            loss.backward()
            step()
            return loss.detach()

        return run

    program = unmess.capture(_Step(copy.deepcopy(model), optimizer), args)
    return {
        "eager": lambda: _Step(copy.deepcopy(model), optimizer),
        "Inductor": inductor,
        "iree-cpu": lambda: unmess.load(program, on="iree-cpu"),
        "reference": lambda: unmess.load(program, on="reference"),
    }, args


class _Loss(nn.Module):
    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(self.model(x).flatten(0, -2), target.flatten())


def _resnet_training() -> Case:
    """ResNet-18, eight images of 224 by 224, SGD with momentum."""
    import torchvision

    def optimizer(parameters):
        return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)

    args = torch.randn(8, 3, 224, 224), torch.randint(0, 1000, (8,))
    return _training(_Loss(torchvision.models.resnet18()), optimizer, args)


class _Transformer(nn.Module):
    """A language model of four layers."""

    def __init__(self, words: int = 8000, width: int = 256, length: int = 128):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(
            width, 4, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.head = nn.Linear(width, words)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.words(ids) + self.places.weight
        return self.head(self.layers(x, mask=self.mask, is_causal=True))


def _transformer_training() -> Case:
    """A transformer of four layers and width 256, eight texts of 128 tokens, AdamW."""

    def optimizer(parameters):
        return torch.optim.AdamW(parameters, lr=1e-3)

    ids = torch.randint(0, 8000, (8, 129))
    args = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
    return _training(_Loss(_Transformer()), optimizer, args)


CASES: dict[str, Callable[[], Case]] = {
    "SSDlite320": lambda: _torchvision("ssdlite320_mobilenet_v3_large"),
    "Faster R-CNN (ResNet-50)": lambda: _torchvision("fasterrcnn_resnet50_fpn"),
    "DeepLabV3 (MobileNetV3)": lambda: _torchvision("deeplabv3_mobilenet_v3_large"),
    "R3D-18": lambda: _torchvision("r3d_18"),
    "MViT V2-S": lambda: _torchvision("mvit_v2_s"),
    "RAFT large": lambda: _torchvision("raft_large"),
    "Whisper-base": _whisper,
    "T5-small": _t5,
    "diffusion block": _diffusion,
    "training step, ResNet-18": _resnet_training,
    "training step, transformer": _transformer_training,
}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as _folder:
        os.environ["UNMESS_CACHE"] = _folder
        print(json.dumps(_measure(sys.argv[1])))
