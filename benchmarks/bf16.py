"""BERT-base in bf16 and in f32: both runners and eager PyTorch, in one process.

The input is one text of 128 tokens, and the weights are random. A side makes six calls in a row;
the last four count. The times are medians. The error is the largest difference from eager PyTorch
in f32, relative to the largest magnitude. The ratio needs a processor with bf16 instructions
(`avx512_bf16`, AMX).
"""

from __future__ import annotations

import copy

import torch
import transformers

import unmess
from benchmarks.iree_models import difference_of, in_a_row

RUNNERS = ("reference", "iree-cpu")


def main() -> None:
    torch.manual_seed(0)
    model = transformers.BertModel(transformers.BertConfig()).eval()
    narrow = copy.deepcopy(model).bfloat16()
    ids = torch.randint(1000, 20000, (1, 128))
    calls, errors = {}, {}
    with torch.no_grad():
        expected = model(ids).last_hidden_state
        for dtype, own in (("f32", model), ("bf16", narrow)):
            program = unmess.capture(own, (ids,))
            calls[f"eager {dtype}"] = own
            for runner in RUNNERS:
                calls[f"{runner} {dtype}"] = unmess.load(program, on=runner)
        for side, call in calls.items():
            errors[side] = difference_of(call(ids).last_hidden_state.float(), expected)
        times = in_a_row(calls, (ids,))
    print(f"{torch.get_num_threads()} threads")
    print("| | f32, ms | bf16, ms | ratio | error of bf16 |\n| --- | --- | --- | --- | --- |")
    for side in ("eager", *RUNNERS):
        single, half = times[f"{side} f32"], times[f"{side} bf16"]
        print(
            f"| {side} | {single * 1e3:.1f} | {half * 1e3:.1f} | {single / half:.2f} | "
            f"{errors[f'{side} bf16']:.1e} |"
        )


if __name__ == "__main__":
    main()
