"""Mutation tests of the pipelines: removes or moves one step, and runs the lit tests.

For each mutation, `python tools/mutations.py` runs the tests of the pipeline's stage and prints the
ones that fail. The exit status is 1 if no test fails for a mutation. No file is edited: the tools
in the tests start through this script, which changes the pipeline in their process.
"""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
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
    "no-builtin-results": Mutation(
        "linalg", *_without("builtin-results"), "linalg/unsigned_constants.mlir"
    ),
    "no-narrowed-constants": Mutation(
        "linalg", *_without("linalg-narrowed-constants"), "linalg/narrowed_constants.mlir"
    ),
    "no-narrow-sums": Mutation(
        "linalg", *_without("linalg-narrow-sums"), "linalg/narrow_sums.mlir"
    ),
    "no-tensor-branches": Mutation(
        "linalg", *_without("linalg-tensor-branches"), "linalg/branches_to_tensors.mlir"
    ),
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
        "stablehlo/strict_sizes.mlir",
    ),
}


# The configuration of a lit suite that runs the tests with a mutation.
_SUITE = """
config.mutation = {name!r}
lit_config.load_config(config, {file!r})
"""


def failing(selected: Mapping[str, str]) -> dict[str, list[str]]:
    """Runs lit tests with mutations, all in one lit process, and returns those that fail.

    Args:
        selected: for each mutation, a folder or file below `tests/filecheck/`.

    Returns:
        for each mutation, the names of the tests that fail.

    Raises:
        RuntimeError: lit did not run a test for each mutation.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name in selected:
            suite = Path(folder, name)
            suite.mkdir()
            file = str(ROOT / "tests" / "filecheck" / "lit.cfg.py")
            (suite / "lit.cfg.py").write_text(_SUITE.format(name=name, file=file))
        # lit looks for a test in the folder that the suite's configuration names.
        paths = [Path(folder, name, tests) for name, tests in selected.items()]
        lit = [Path(sys.executable).with_name("lit"), "-j1", "--no-progress-bar", "--show-all"]
        done = subprocess.run([*lit, *paths], capture_output=True, text=True)
    found = re.findall(r"^(\w+): unmess-(\S+) :: (\S+) \(\d+ of \d+\)", done.stdout, re.M)
    if {name for _, name, _ in found} != selected.keys():
        raise RuntimeError(f"lit did not run: {done.stdout}{done.stderr}")
    return {
        name: [test for result, suite, test in found if (result, suite) == ("FAIL", name)]
        for name in selected
    }


@click.group(invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Run the tests of each mutation's stage, and print which of them fail."""
    if context.invoked_subcommand is not None:
        return
    found = failing({name: mutation.pipeline for name, mutation in MUTATIONS.items()})
    for name, tests in found.items():
        mutation = MUTATIONS[name]
        click.echo(f"| {mutation.pipeline} | {mutation.what} | {', '.join(tests) or 'nothing'} |")
    context.exit(0 if all(found.values()) else 1)


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
