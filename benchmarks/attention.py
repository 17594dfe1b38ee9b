"""Large attention on both runners, whole and in blocks of rows, and eager.

The sides alternate. Each result is compared with eager's.
"""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
from unittest import mock

import torch
from torch.nn import functional as F

import unmess
from benchmarks.iree_models import difference_of, in_a_row
from pipelines import attention_blocks

RUNNERS = ("reference", "iree-cpu")
# Images, heads, tokens, elements of a head, and whether a token sees only earlier ones.
CASES = (
    (1, 12, 197, 64, False),
    (8, 12, 197, 64, False),
    (1, 12, 1024, 64, False),
    (1, 12, 1024, 64, True),
    (1, 8, 1500, 64, False),
    (1, 32, 2048, 64, True),
    (1, 8, 4096, 40, False),
)
# No attention is large enough.
_NEVER = attention_blocks.Limits(least=1 << 62, block=1, count=1)
# The largest allowed difference from eager, relative to the largest magnitude.
_TOLERANCE = 1e-5


def main() -> None:
    print(f"{torch.get_num_threads()} threads; milliseconds")
    sides = [f"{runner}, {way}" for runner in RUNNERS for way in ("whole", "blocks")]
    print(f"| images × heads × tokens × elements | scores | eager | {' | '.join(sides)} |")
    print(f"|{' --- |' * (3 + len(sides))}", flush=True)
    for case in CASES:
        _row(*case)


def _row(images: int, heads: int, tokens: int, elements: int, is_causal: bool) -> None:
    torch.manual_seed(0)
    model = functools.partial(F.scaled_dot_product_attention, is_causal=is_causal)
    args = tuple(torch.randn(images, heads, tokens, elements) for _ in range(3))
    program = unmess.capture(model, args)
    calls = {"eager": model}
    for runner in RUNNERS:
        # The key of a compiled program does not contain the choice.
        whole = mock.patch.multiple(attention_blocks, IN_ORDER=_NEVER, IN_PARALLEL=_NEVER)
        for way, choice in (("whole", whole), ("blocks", contextlib.nullcontext())):
            with tempfile.TemporaryDirectory() as folder, choice:
                os.environ["UNMESS_CACHE"] = folder
                calls[f"{runner}, {way}"] = unmess.load(program, on=runner)
    with torch.no_grad():
        expected = model(*args)
        for side, call in calls.items():
            difference = difference_of(call(*args), expected)
            if difference > _TOLERANCE:
                raise SystemExit(f"{tokens} tokens, {side}: the result differs by {difference:.1e}")
        seconds = in_a_row(calls, args)
    cells = " | ".join(f"{1000 * seconds[side]:.2f}" for side in calls)
    name = f"{images}×{heads}×{tokens}×{elements}{', causal' if is_causal else ''}"
    scores = images * heads * tokens**2 * 4 / 1e6
    print(f"| {name} | {scores:.0f} MB | {cells} |", flush=True)


if __name__ == "__main__":
    main()
