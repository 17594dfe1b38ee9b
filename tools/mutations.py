"""Mutation tests of the pipelines: removes or moves one step, and runs the lit tests.

For each mutation, `python tools/mutations.py` runs the tests of the pipeline's stage and prints the
ones that fail. The exit status is 1 if no test fails for a mutation. No file is edited: lit's
parameter `mutation` makes the tools in the tests start through this script, which changes the
pipeline in their process.
"""

from __future__ import annotations

import runpy
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
# Changes a list of steps in place.
Change = Callable[[list], None]


@dataclass(frozen=True)
class Mutation:
    """A change of a pipeline: one step removed or moved.

    Attributes:
        pipeline: the name of the pipeline and of the folder of its tests.
        what: a description of the change.
        change: changes the list of the pipeline's steps in place.
        test: a test that fails under the mutation, below `tests/filecheck/`.
    """

    pipeline: str
    what: str
    change: Change
    test: str


def _place(steps: Sequence, name: str) -> int:
    """Returns the index of the first step of a name; raises ValueError if there is none."""
    return [step.name for step in steps].index(name)


def _without(name: str) -> tuple[str, Change]:
    return f"without {name}", lambda steps: steps.pop(_place(steps, name)) and None


def _before(name: str, other: str) -> tuple[str, Change]:
    """Moves a step that is after another one to before it."""

    def change(steps: list) -> None:
        there, here = _place(steps, other), _place(steps, name)
        if here < there:
            raise ValueError(f"{name} is before {other} already")
        steps.insert(there, steps.pop(here))

    return f"{name} before {other}", change


MUTATIONS = {
    "no-inline": Mutation("torch", *_without("inline"), "torch/inlines_subgraphs.mlir"),
    "no-quantized": Mutation(
        "torch", *_without("torch-match-quantized-custom-ops"), "torch/quantized.mlir"
    ),
    "no-variants": Mutation("torch", *_without("torch-reduce-op-variants"), "torch/in_place.mlir"),
    "recompose-first": Mutation(
        "torch",
        *_before("torch-recompose-complex-ops", "torch-decompose-complex-ops"),
        "torch/unbind.mlir",
    ),
    "no-tm-tensor": Mutation("linalg", *_without("convert-torch-to-tmtensor"), "linalg/sort.mlir"),
    "no-nan-order": Mutation("linalg", *_without("linalg-nan-order"), "linalg/sort.mlir"),
    "nan-order-first": Mutation(
        "linalg", *_before("linalg-nan-order", "convert-torch-to-tmtensor"), "linalg/sort.mlir"
    ),
    "no-cse": Mutation("linalg", *_without("cse"), "linalg/sizes.mlir"),
    "no-transposes": Mutation("tosa", *_without("tosa-reduce-transposes"), "tosa/transposes.mlir"),
    "no-chlo": Mutation(
        "stablehlo", *_without("chlo-legalize-to-stablehlo"), "stablehlo/composite.mlir"
    ),
    "sizes-first": Mutation(
        "stablehlo",
        *_before("stablehlo-strict-sizes", "convert-torch-to-stablehlo"),
        "stablehlo/dynamic_batch.py",
    ),
}


def failing(name: str, tests: str) -> list[str]:
    """Returns the lit tests below `tests/filecheck/TESTS` that fail under a mutation."""
    lit = [Path(sys.executable).with_name("lit"), "-j1", "--no-progress-bar"]
    done = subprocess.run(
        [*lit, f"--param=mutation={name}", ROOT / "tests" / "filecheck" / tests],
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    if not any(line.startswith("Total Discovered Tests") for line in lines):
        raise RuntimeError(f"lit did not run: {done.stdout}{done.stderr}")
    return [
        line.split(":: ")[1].split(" (")[0] for line in lines if line.startswith("FAIL: unmess ::")
    ]


@click.group(invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Run the tests of each mutation's stage, and print which of them fail."""
    if context.invoked_subcommand is not None:
        return
    unnoticed = 0
    for name, mutation in MUTATIONS.items():
        found = failing(name, mutation.pipeline)
        unnoticed += not found
        click.echo(f"| {mutation.pipeline} | {mutation.what} | {', '.join(found) or 'nothing'} |")
    context.exit(1 if unnoticed else 0)


@command.command(context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(name: str, arguments: tuple[str, ...]) -> None:
    """Run `-m MODULE ARGUMENTS`, as Python does, with the mutation NAME."""
    from pipelines.registry import PIPELINES

    mutation = MUTATIONS[name]
    pipeline = PIPELINES[mutation.pipeline]
    steps = list(pipeline.steps)
    mutation.change(steps)
    # Change the shared object in place, although it is frozen: others already refer to it.
    object.__setattr__(pipeline, "steps", tuple(steps))
    _, module, *sys.argv[1:] = arguments
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    command()
