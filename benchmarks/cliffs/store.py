"""The rows that the search stores, one for each recipe and each measurement, and their files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unmess.core.cache.folder import cache_folder, make_private


@dataclass(frozen=True)
class Collected:
    """The configurations of a recipe.

    Attributes:
        model: the recipe.
        configurations: the operator and the arguments of each distinct one.
        failure: why there are none; None if it was captured.
    """

    model: str
    configurations: list[tuple[str, dict[str, Any]]]
    failure: str | None = None


@dataclass(frozen=True)
class Measurement:
    """A measurement of a configuration.

    Attributes:
        key: of the configuration.
        runners: the names of the runners that were to be timed.
        call: the times of the shortest call, as `times`.
        repeated: whether it repeats the one before, whose ratio was high.
        times: by side, the least elapsed and CPU seconds of a call (`elapsed`, `cpu`).
        failures: by runner, why it was not timed.
        skipped: why nothing was timed.
    """

    key: str
    runners: list[str]
    call: dict[str, dict[str, float]]
    repeated: bool = False
    times: dict[str, dict[str, float]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    skipped: str | None = None


def store(name: str) -> Path:
    """Returns the path of a file of rows in the cache folder, and creates its folder."""
    folder = cache_folder() / "benchmarks" / "cliffs"
    make_private(folder)
    return folder / name
