"""The tables of a corpus: their columns, and their rows from the parts.

| table | a row is |
| --- | --- |
| `models` | a model, static or dynamic: how its arguments are made, and eager's results |
| `programs` | the IR of such a model at one stage |
| `kernels` | a distinct linalg operation |
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from importers.recipes import list_recipes
from unmess.corpus.parts import Part

# The licenses of the libraries that define the models. Weights are random.
LICENSES = {"torchvision": "BSD-3-Clause", "hf": "Apache-2.0"}
DONE, FAILED = "done", "failed"

# The columns: name, type and description. A list of columns is a structure, `[type]` a list of it.
Columns = tuple[tuple[str, Any, str], ...]

_ARGUMENT: Columns = (
    ("kind", "string", "input, weight or state"),
    ("name", "string", "name of the input, or name in the state dict"),
    ("shape", ["int64"], "shape of the tensor"),
    ("sizes", ["string"], "the same shape in the IR: numbers, or expressions of dynamic sizes"),
    ("dtype", "string", "NumPy's name of the dtype, or bfloat16"),
    ("made", "string", "JSON: how the elements are made"),
    ("seed", "int64", "seed of the elements"),
    ("data", "binary", "the elements, little endian, compressed with zlib, if they are not made"),
)
_RESULT: Columns = (
    ("kind", "string", "output or state"),
    ("name", "string", "name of the state"),
    ("result", "int64", "index among the results of the IR; null if there is none like it"),
    ("shape", ["int64"], "shape of the tensor"),
    ("dtype", "string", "NumPy's name of the dtype, or bfloat16"),
    ("sha256", "string", "SHA-256 of the elements, little endian, in C order"),
    ("min", "double", "smallest element that is not NaN"),
    ("max", "double", "largest element that is not NaN"),
    ("mean", "double", "mean of the elements that are not NaN"),
    ("std", "double", "standard deviation of the elements that are not NaN"),
    ("nan", "int64", "number of NaN"),
    ("rounding", "double", "largest difference from the same result in float64; null if unknown"),
)
_COUNT: Columns = (
    ("name", "string", "name of the operation"),
    ("count", "int64", "how often it occurs"),
)
_OCCURRENCE: Columns = (
    ("model", "string", "the model"),
    ("variant", "string", "static or dynamic"),
    ("count", "int64", "how often the kernel occurs in it"),
)
_OUTCOME: Columns = (
    ("status", "string", "done or failed"),
    ("failed_stage", "string", "the stage that failed"),
    ("cause", "string", "why it failed"),
)
_MODEL: Columns = (
    ("model", "string", "model string, as unmess takes it"),
    ("variant", "string", "static or dynamic"),
)

TABLES: dict[str, Columns] = {
    "models": (
        *_MODEL,
        ("source", "string", "the library that defines the model; null for a file"),
        ("task", "string", "the task of the model"),
        ("license", "string", "SPDX identifier of the library's license; null for a file"),
        ("versions", "string", "JSON: versions of the libraries"),
        ("seed", "int64", "the seed of all weights and inputs"),
        *_OUTCOME,
        ("entry", "string", "name of the entry function in the IR"),
        ("arguments", [_ARGUMENT], "arguments of the entry function, in order"),
        ("expected", [_RESULT], "results of eager PyTorch for these arguments"),
        ("expected_cause", "string", "why there are no expected results"),
    ),
    "programs": (
        *_MODEL,
        ("stage", "string", "torch, linalg, tosa or stablehlo"),
        ("license", "string", "SPDX identifier of the library's license; null for a file"),
        *_OUTCOME,
        ("text", "string", "the IR"),
        ("operations", [_COUNT], "operations by name, those in bodies included"),
    ),
    "kernels": (
        ("sha256", "string", "SHA-256 of the text"),
        ("text", "string", "a module with one function, kernel"),
        ("operation", "string", "name of the linalg operation"),
        ("body", ["string"], "names of the operations in its body"),
        ("dynamic", "bool", "whether a size is dynamic"),
        ("count", "int64", "how often it occurs in all models"),
        ("models", "int64", "in how many models it occurs"),
        ("occurrences", [_OCCURRENCE], "where it occurs"),
        ("licenses", ["string"], "licenses of these models"),
    ),
}


@dataclass(frozen=True)
class Summary:
    """Numbers of a corpus.

    Attributes:
        models, captured: models, and those that were captured in a variant.
        programs: the number of programs at each stage.
        failures: the number of failures at each stage.
        kernels: distinct kernels.
        occurrences: all linalg operations, including repeated ones.
    """

    models: int
    captured: int
    programs: dict[str, int]
    failures: dict[str, int]
    kernels: int
    occurrences: int


def rows_of(parts: Iterable[Part], stages: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Returns the rows of each table, sorted by their first columns."""
    recipes = {recipe.model: recipe for recipe in list_recipes()}
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    kernels: dict[str, dict[str, Any]] = {}
    for part in sorted(parts, key=lambda part: (part.model, part.variant)):
        recipe = recipes.get(part.model)
        license_of = None if recipe is None else LICENSES[recipe.source]
        rows["models"].append(
            {
                "model": part.model,
                "variant": part.variant,
                "source": recipe and recipe.source,
                "task": recipe and recipe.task,
                "license": license_of,
                "versions": json.dumps(part.versions, sort_keys=True),
                "seed": part.seed,
                **_outcome(part.failure),
                **_facts(part.facts),
            }
        )
        for stage in stages:
            rows["programs"].append(_program(part, stage, license_of))
        for kernel in part.results.get("linalg", {}).get("kernels", ()):
            if "linalg" in stages:
                _add_kernel(kernels, kernel, part, license_of)
    rows["kernels"] = [kernels[key] for key in sorted(kernels)]
    for kernel in rows["kernels"]:
        kernel["models"] = len({each["model"] for each in kernel["occurrences"]})
        kernel["licenses"] = sorted(kernel["licenses"])
    return rows


def _outcome(failure: dict[str, str] | None) -> dict[str, Any]:
    if failure is None:
        return {"status": DONE, "failed_stage": None, "cause": None}
    return {"status": FAILED, "failed_stage": failure["stage"], "cause": failure["cause"]}


def _facts(facts: dict[str, Any] | None) -> dict[str, Any]:
    if facts is None:
        return {"entry": None, "arguments": [], "expected": [], "expected_cause": None}
    arguments = [
        {**argument, "made": json.dumps(argument["made"], sort_keys=True)}
        for argument in facts["arguments"]
    ]
    return {
        "entry": facts["entry"],
        "arguments": arguments,
        "expected": facts["expected"],
        "expected_cause": facts["expected_failure"],
    }


def _program(part: Part, stage: str, license_of: str | None) -> dict[str, Any]:
    result = part.results.get(stage, {})
    operations = result.get("operations", {})
    return {
        "model": part.model,
        "variant": part.variant,
        "stage": stage,
        "license": license_of,
        **_outcome(part.failure or result.get("failure")),
        "text": result.get("text"),
        "operations": [{"name": name, "count": operations[name]} for name in sorted(operations)],
    }


def _add_kernel(
    kernels: dict[str, dict[str, Any]], kernel: dict[str, Any], part: Part, license_of: str | None
) -> None:
    constant = {key: kernel[key] for key in ("sha256", "text", "operation", "body", "dynamic")}
    found = kernels.setdefault(
        kernel["sha256"], {**constant, "count": 0, "occurrences": [], "licenses": set()}
    )
    found["count"] += kernel["count"]
    found["occurrences"].append(
        {"model": part.model, "variant": part.variant, "count": kernel["count"]}
    )
    if license_of is not None:
        found["licenses"].add(license_of)


def summary_of(rows: dict[str, list[dict[str, Any]]]) -> Summary:
    """Counts rows."""
    programs: dict[str, int] = {}
    failures: dict[str, int] = {}
    for row in rows["programs"]:
        if row["status"] == DONE:
            programs[row["stage"]] = programs.get(row["stage"], 0) + 1
        else:
            failures[row["failed_stage"]] = failures.get(row["failed_stage"], 0) + 1
    return Summary(
        len({row["model"] for row in rows["models"]}),
        len({row["model"] for row in rows["models"] if row["status"] == DONE}),
        programs,
        failures,
        len(rows["kernels"]),
        sum(row["count"] for row in rows["kernels"]),
    )
