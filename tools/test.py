"""Runs the tests, part by part, and prints how long each part took.

./pixiw run test            everything
./pixiw run test --fast     lint, lit, unit tests, and one end-to-end test of each kind
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
# Tasks of pixi.toml, in the order in which they run.
ALL = ("lint", "vulkan", "browser", "lit", "unit", "e2e", "operators", "property")
FAST = ("lint", "lit", "unit")
# One test for each kind of source, runner and verb, and one of the set-up of an environment.
FAST_END_TO_END = (
    "test_bundles.py::test_entry_points_share_weights_and_state",
    "test_cli.py::test_check_gives_each_model_and_runner_one_row",
    "test_control_flow.py::test_condition_in_a_loop",
    "test_dynamic_shapes.py::test_attention_with_two_dynamic_dimensions",
    "test_output_dialects.py::test_transformer_layer",
    "test_exported_files.py::test_entry_points_and_what_they_share",
    "test_generation.py::test_logits_and_cache_match_eager",
    "test_lazy.py::test_mlp",
    "test_onnx.py::test_attention_block",
    "test_pixiw.py::test_a_wrong_hash",
    "test_quantized.py::test_products_of_8_bit_integers",
    "test_runners.py::test_operation",
    "test_runners.py::test_state_advances_like_the_models_own",
    "test_sources.py::test_saved_exported_program",
    "test_sources.py::test_torchvision",
    "test_torchscript.py::test_state",
    "test_training_step.py::test_functional_step",
)


@click.command()
@click.option("--fast", is_flag=True, help="Lint, lit, unit tests, a few end-to-end tests.")
def main(fast: bool) -> None:
    """Run the tests, all parts; the exit status is that of the first part that fails."""
    tasks = tomllib.loads((ROOT / "pixi.toml").read_text())["tasks"]
    parts = {name: tasks[name]["cmd"] for name in (FAST if fast else ALL)}
    if fast:
        # Use the processes of the unit tests: starting others takes as long as these tests.
        end_to_end = shlex.join(f"tests/e2e/{test}" for test in FAST_END_TO_END)
        parts["unit and e2e"] = f"{parts.pop('unit')} {end_to_end}"
    seconds: dict[str, float] = {}
    failed: dict[str, int] = {}
    for name, command in parts.items():
        print(f"test: {name}: {command}", flush=True)
        start = time.monotonic()
        status = subprocess.run(command, shell=True, cwd=ROOT).returncode
        seconds[name] = time.monotonic() - start
        if status:
            print(f"test: {name} failed with exit status {status}", flush=True)
            failed[name] = status
    took = ", ".join(f"{name} {value:.0f} s" for name, value in seconds.items())
    print(f"test: {took}; {sum(seconds.values()) / 60:.1f} min in all", flush=True)
    if failed:
        print(f"test: failed: {', '.join(failed)}", flush=True)
    sys.exit(next(iter(failed.values()), 0))


if __name__ == "__main__":
    main()
