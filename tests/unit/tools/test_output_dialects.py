"""Tests the table of output_dialects."""

import pytest

from tools import output_dialects
from unmess.row import Row


def row(runner, dialect, stage="done", error=None):
    return Row("hf:bert", runner, stage == "done", stage, error, via=dialect)


def results(*rows):
    return {(row.model, row.via, row.runner): row for row in rows}


def test_list_has_20_existing_models_of_each_library():
    from importers.recipes import list_recipes

    assert len(output_dialects.MODELS) == len(set(output_dialects.MODELS)) == 40
    assert sum(name.startswith("hf:") for name in output_dialects.MODELS) == 20
    assert set(output_dialects.MODELS) <= {recipe.model for recipe in list_recipes()}


@pytest.mark.parametrize(
    "stage, lowers",
    [("tosa", False), ("torch", False), ("linalg", True), ("compile", True), ("compare", True)],
)
def test_failures_after_the_output_dialect_count_as_lowered(stage, lowers):
    found = results(row("reference", "tosa", stage, "no"))
    assert output_dialects.lowers(found, "hf:bert", "tosa") is lowers
    assert output_dialects.lowers(found, "hf:bert", "stablehlo") is None


def test_each_failure_is_listed_with_its_cause():
    found = results(
        row("reference", "linalg"),
        row("iree-cpu", "linalg"),
        row("reference", "tosa", "tosa", "no lowering for a|b"),
        row("reference", "stablehlo"),
        row("iree-cpu", "stablehlo", "compile", "refused"),
        row("torch-mlir", "tosa", "tosa", "no"),
        row("upstream MLIR", "linalg", "linalg", "unknown there"),
        row("upstream MLIR", "tosa"),
    )
    page = output_dialects.page(found)
    assert (
        "| `hf:bert` | right | no (1) | lowers; iree-cpu no (2) | no (3) | reads "
        "| not run | no | not run |" in page
    )
    assert r"1. `hf:bert`, tosa: tosa: no lowering for a\|b" in page
    assert "2. `hf:bert`, stablehlo on iree-cpu: compile: refused" in page
    assert "3. `hf:bert`, linalg in upstream MLIR: linalg: unknown there" in page
    assert "| linalg | 1 | 1 | 1 | 1 | 0 | 0 |" in page
    assert (
        "| tosa | 1 | 0 | 0 | 0 | 0 | 1 |" in page
        and "| stablehlo | 1 | 1 | 1 | 0 | 0 | 0 |" in page
    )
