"""Known limits: facts with an address, kept in `limits.yaml`."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

from unmess.core.writing import write_text

FILE = Path(__file__).with_name("limits.yaml")


@dataclass(frozen=True)
class Limit:
    """Where a model stops, and why.

    Attributes:
        stage: as in `unmess.Error`; `compare` for a wrong result.
        cause: one line.
        runner: None where it is the same on every runner.
        link: of the issue at the project that it is a limit of.
    """

    stage: str
    cause: str
    runner: str | None = None
    link: str | None = None

    def __str__(self) -> str:
        place = f"{self.stage} on {self.runner}" if self.runner else self.stage
        return f"{place}: {self.cause}" + (f" ({self.link})" if self.link else "")

    def holds_for(self, runner: str) -> bool:
        """Whether the model is expected to stop on `runner`."""
        return self.runner in (None, runner)


def known_limits(path: Path = FILE) -> dict[str, tuple[Limit, ...]]:
    """The limits by model string."""
    # The loader in C takes 10 ms, the one in Python 0.1 s.
    entries = yaml.load(path.read_text(), yaml.CSafeLoader) or {}
    return {model: tuple(Limit(**limit) for limit in limits) for model, limits in entries.items()}


def record_limits(found: Mapping[str, Iterable[Limit]], path: Path = FILE) -> None:
    """Replaces the limits of the models in `found`; the others', links, and the first lines stay.

    Args:
        found: limits by model string, empty for a model that has none any more.
    """
    known = known_limits(path)
    for model, limits in found.items():
        links = {(limit.stage, limit.runner): limit.link for limit in known.pop(model, ())}
        linked = tuple(
            Limit(limit.stage, limit.cause, limit.runner, links.get((limit.stage, limit.runner)))
            for limit in limits
        )
        if linked:
            known[model] = linked
    entries = {
        model: [
            {name: value for name, value in asdict(limit).items() if value is not None}
            for limit in limits
        ]
        for model, limits in sorted(known.items())
    }
    text = yaml.safe_dump(entries, sort_keys=False, width=100, allow_unicode=True)
    lines = path.read_text().splitlines(keepends=True)
    header = "".join(itertools.takewhile(lambda line: line.startswith("#"), lines))
    write_text(path, header + (text if entries else ""))
