"""Known limits of models, recorded in `limits.yaml`, and models that are not built.

A model that its source cannot build is not a limit of the compilers. Such models are in
`not_built.yaml`, in the same form.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

from unmess.core.files.writing import write_text

FILE = Path(__file__).with_name("limits.yaml")
NOT_BUILT = Path(__file__).with_name("not_built.yaml")


@dataclass(frozen=True)
class Limit:
    """The stage at which a model fails, and the cause.

    Attributes:
        stage: the stage, as in `unmess.Error`; `compare` for a wrong result.
        cause: the cause, in one line.
        runner: the runner, or None if the limit is the same on every runner.
        link: the address of the upstream issue.
    """

    stage: str
    cause: str
    runner: str | None = None
    link: str | None = None

    def __str__(self) -> str:
        place = f"{self.stage} on {self.runner}" if self.runner else self.stage
        return f"{place}: {self.cause}" + (f" ({self.link})" if self.link else "")

    def holds_for(self, runner: str) -> bool:
        """Returns True if the model is expected to fail on `runner`."""
        return self.runner in (None, runner)


def known_limits(path: Path = FILE) -> dict[str, tuple[Limit, ...]]:
    """Reads the limits by model string."""
    # The C loader takes 10 ms, the Python loader 0.1 s.
    entries = yaml.load(path.read_text(), yaml.CSafeLoader) or {}
    return {model: tuple(Limit(**limit) for limit in limits) for model, limits in entries.items()}


def record_limits(found: Mapping[str, Iterable[Limit]], path: Path = FILE) -> None:
    """Replaces the limits of the models in `found`.

    Limits of other models, links and the leading comment lines are kept.

    Args:
        found: limits by model string; empty for a model that no longer has any.
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
