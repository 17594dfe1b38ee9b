"""Constants that iree-cpu computes while it compiles, or when it loads the program.

The sides alternate; medians of three compilations. Both results are compared with eager.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Callable
from unittest import mock

import torch
import torchvision
import transformers
from torch.utils import _pytree as pytree

import unmess
from benchmarks.iree_models import in_a_row, seconds_of
from pipelines.iree import compiler
from pipelines.iree.targets import CONSTANTS_AT_LOAD

SIDES = ("while it compiles", "at load")
_COMPILATIONS = 3


class Constants(torch.nn.Module):
    """Returns 30 tensors, each of which is computed from no input."""

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        numbers = [torch.arange(count, 3 * count, 2, dtype=torch.float64) for count in range(1, 11)]
        return [
            x,
            *numbers,
            *(each.cos() for each in numbers),
            *(each.outer(each) for each in numbers),
        ]


def main() -> None:
    torch.manual_seed(0)
    image, ids = torch.randn(1, 3, 224, 224), torch.randint(0, 1000, (1, 128))
    t5 = transformers.T5EncoderModel(transformers.T5Config())
    gpt2 = transformers.GPT2Model(transformers.GPT2Config(use_cache=False))
    threads = torch.get_num_threads()
    print(f"{threads} threads; s for a load without cache, ms for one with it and for a call")
    print("| model | constants | without cache | from the cache | call |")
    print(f"|{' --- |' * 5}", flush=True)
    _rows("30 constants", Constants(), (torch.ones(1),))
    _rows("Swin-T", torchvision.models.swin_t(weights=None), (image,))
    _rows("T5 encoder", t5, (ids,))
    _rows("GPT-2", gpt2, (ids,))


def _rows(name: str, model: torch.nn.Module, args: tuple[torch.Tensor, ...]) -> None:
    """Prints a row for each side."""
    program = unmess.capture(model.eval(), args)
    first, again = ({side: [] for side in SIDES} for _ in range(2))
    calls: dict[str, Callable] = {}
    for _ in range(_COMPILATIONS):
        for side in SIDES:
            with (
                tempfile.TemporaryDirectory() as folder,
                mock.patch.dict(os.environ, UNMESS_CACHE=folder),
                _constants(side),
            ):
                first[side].append(seconds_of(lambda: unmess.load(program, on="iree-cpu")))
                again[side].append(seconds_of(lambda: unmess.load(program, on="iree-cpu")))
                calls[side] = unmess.load(program, on="iree-cpu")
    with torch.no_grad():
        expected = model(*args)
    for call in calls.values():
        ours, theirs = pytree.tree_leaves(call(*args)), pytree.tree_leaves(expected)
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-3)
    seconds = in_a_row(calls, args)
    for side in SIDES:
        cells = (
            f"{statistics.median(first[side]):.2f}",
            f"{1000 * statistics.median(again[side]):.0f}",
            f"{1000 * seconds[side]:.2f}",
        )
        print(f"| {name} | {side} | {' | '.join(cells)} |", flush=True)


def _constants(side: str) -> mock._patch:
    """Returns a context in which programs are compiled for a side."""
    compile_text = compiler.compile_text

    def compile(text: str, options: tuple[str, ...], name: str) -> bytes:
        if side == "while it compiles":
            options = tuple(option for option in options if option != CONSTANTS_AT_LOAD)
        return compile_text(text, options, name)

    return mock.patch.object(compiler, "compile_text", compile)
