"""Convolutions on iree-cpu, for CPUs with 16 vector registers and for those with more.

Compiles each classifier in two ways: as for CPUs with 32 vector registers, where convolutions with
more than 1 MB of weights become matrix products, and as for CPUs with 16 (x86-64 without AVX-512),
where those with more than 64 KB become products, also with a dynamic batch. The calls alternate,
and every result is compared with eager PyTorch. Run it on a CPU without AVX-512.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import torch

import unmess
from benchmarks.iree_models import by_turns, difference_of, model_of
from pipelines.backends.executable import Executable
from pipelines.iree.backend import Artifact, IreeBackend, artifact_for
from pipelines.iree.targets import target
from unmess.core.module.module import Module

STATIC = ("resnet18", "resnet50", "vgg11", "densenet121", "wide_resnet50_2")
DYNAMIC = ("resnet18", "vgg11")
IMAGES = (1, 8)


@dataclass(frozen=True)
class _Backend(IreeBackend):
    few_registers: bool = False

    def compile(self, module: Module, folder: Path) -> Artifact:
        chosen = replace(target(self.name), few_registers=self.few_registers)
        return artifact_for(module, self.name, chosen)


def main() -> None:
    print(f"{torch.get_num_threads()} threads")
    print("| model | batch | images | eager, ms | more, ms | 16 registers, ms | more / 16 |")
    print(f"|{' --- |' * 7}", flush=True)
    for name in STATIC:
        _rows(name, None, (1,))
    for name in DYNAMIC:
        _rows(name, torch.export.Dim("batch", max=64), IMAGES)


def _rows(name: str, batch: torch.export.Dim | None, counts: tuple[int, ...]) -> None:
    model, (image,), _ = model_of(f"torchvision:{name}")
    example = image if batch is None else image.expand(2, *image.shape[1:]).contiguous()
    dynamic_shapes = None if batch is None else ({0: batch},)
    module = unmess.capture(model, (example,), dynamic_shapes=dynamic_shapes).to_module()
    calls = {"eager": model}
    for side, few in (("more", False), ("16", True)):
        # The key of a compiled program does not contain the choice.
        with tempfile.TemporaryDirectory() as folder:
            os.environ["UNMESS_CACHE"] = folder
            calls[side] = Executable(module, _Backend("iree-cpu", few_registers=few))
    for count in counts:
        images = torch.randn(count, *image.shape[1:])
        with torch.no_grad():
            for side in ("more", "16"):
                difference = difference_of(calls[side](images), model(images))
                if not difference < 1e-3:
                    raise SystemExit(f"{side} of {name} differs from eager by {difference:.1e}")
            times, _ = by_turns(calls, (images,), {})
        cells = (name, "static" if batch is None else "dynamic", str(count))
        milliseconds = (f"{seconds * 1e3:.1f}" for seconds in times.values())
        ratio = f"{times['more'] / times['16']:.2f}"
        print(f"| {' | '.join((*cells, *milliseconds, ratio))} |", flush=True)


if __name__ == "__main__":
    main()
