"""Pipelines between named operations of linalg and `linalg.generic`."""

from __future__ import annotations

from pipelines.pipeline import Pipeline, Step

_HINT = "report this bug with the model"

GENERALIZE = Pipeline(
    name="generalize",
    stage="linalg",
    hint=_HINT,
    steps=(
        Step(
            "func.func(linalg-generalize-named-ops)",
            "replace named operations by linalg.generic",
        ),
    ),
)

SPECIALIZE = Pipeline(
    name="specialize",
    stage="linalg",
    hint=_HINT,
    steps=(
        Step(
            "func.func(linalg-specialize-generic-ops)",
            "replace each linalg.generic that is a named operation by that operation",
        ),
    ),
)
