"""Large attention on both runners, whole and in blocks of rows, and eager.

The sides alternate. Each result is compared with eager's.
"""

from __future__ import annotations

import contextlib
import functools
from unittest import mock

import torch
from torch.nn import functional as F

from benchmarks.rewrites import milliseconds, print_heading
from pipelines import attention_blocks

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


def main() -> None:
    print_heading(["images × heads × tokens × elements", "scores"], ("whole", "blocks"))
    for case in CASES:
        _row(*case)


def _row(images: int, heads: int, tokens: int, elements: int, is_causal: bool) -> None:
    torch.manual_seed(0)
    model = functools.partial(F.scaled_dot_product_attention, is_causal=is_causal)
    args = tuple(torch.randn(images, heads, tokens, elements) for _ in range(3))
    times = milliseconds(model, args, _whole)
    name = f"{images}×{heads}×{tokens}×{elements}{', causal' if is_causal else ''}"
    scores = images * heads * tokens**2 * 4 / 1e6
    print(f"| {name} | {scores:.0f} MB | {' | '.join(times)} |", flush=True)


def _whole() -> contextlib.AbstractContextManager[object]:
    return mock.patch.multiple(attention_blocks, IN_ORDER=_NEVER, IN_PARALLEL=_NEVER)


if __name__ == "__main__":
    main()
