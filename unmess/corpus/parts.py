"""The results of each model, kept in files until all models are finished.

A part has the results of one model, static or dynamic. It is written whole when the model is
finished, so an interrupted run goes on with the other models. Parts of several machines can be
copied to one folder. A part has no times and no paths: two runs write the same bytes.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unmess.core.errors.error import Error
from unmess.core.files.writing import replacing, writing_to

FOLDER = "parts"
# The format of parts. Increase it when the content of parts changes.
_FORMAT = 2


@dataclass
class Part:
    """The results of a model, static or dynamic.

    Attributes:
        model: the model string.
        variant: `static` or `dynamic`.
        seed: of weights and inputs.
        versions: of the libraries.
        facts: arguments and expected results; None if the model was not captured.
        failure: the stage and the cause, if the model was not captured; None otherwise.
        results: text, operations and kernels of each stage, or `failure`.
    """

    model: str
    variant: str
    seed: int
    versions: dict[str, str]
    facts: dict[str, Any] | None = None
    failure: dict[str, str] | None = None
    results: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether all stages have IR, and eager has a result."""
        return (
            self.failure is None
            and self.facts is not None
            and self.facts["expected_failure"] is None
            and not any("failure" in each for each in self.results.values())
        )

    def missing(self, stages: list[str]) -> list[str]:
        """Returns the stages without a result."""
        return [] if self.failure else [each for each in stages if each not in self.results]


class Parts:
    """The parts in the folder of a corpus.

    Args:
        path: the folder of the corpus.
        seed: of weights and inputs.
        versions: of the libraries that run now.
    """

    def __init__(self, path: Path, seed: int, versions: dict[str, str]):
        self._folder = path / FOLDER
        self._seed = seed
        self._versions = versions

    def read(self, model: str, variant: str) -> Part:
        """Returns the part of a model: a new one if there is none, or if it is damaged.

        Raises:
            Error: stage `usage`; the part has another seed, is of other versions, or cannot be
                read.
        """
        part = Part(model, variant, self._seed, self._versions)
        file = self._file(model, variant)
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            return part
        except OSError as problem:
            raise Error(
                "usage",
                f"cannot read {file}: {problem.strerror}",
                hint="choose another folder with -o",
            ) from problem
        with contextlib.suppress(zlib.error, ValueError, TypeError, KeyError):
            document = json.loads(zlib.decompress(content))
            if document.pop("format") == _FORMAT:
                part = Part(**document)
                _with_data(part)
        self._check(part)
        return part

    def _check(self, part: Part) -> None:
        names = sorted(part.versions.keys() | self._versions.keys())
        changed = [
            f"{name} {part.versions.get(name)}"
            for name in names
            if part.versions.get(name) != self._versions.get(name)
        ]
        if part.seed != self._seed:
            changed.append(f"seed {part.seed}")
        if changed:
            raise Error(
                "usage",
                f"{self._folder.parent} has results of {', '.join(changed)}, which differs now",
                hint="choose another folder with -o",
            )

    def write(self, part: Part) -> None:
        """Writes a part, whole or not at all.

        Raises:
            Error: stage `usage`; it cannot be written.
        """
        document = {"format": _FORMAT, **vars(part)}
        text = json.dumps(document, default=_encoded, sort_keys=True)
        file = self._file(part.model, part.variant)
        with writing_to(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            with replacing(file) as unfinished:
                unfinished.write_bytes(zlib.compress(text.encode(), 6))

    def _file(self, model: str, variant: str) -> Path:
        # Different model strings have different digests.
        digest = hashlib.sha256(model.encode()).hexdigest()[:12]
        readable = re.sub(r"[^\w.-]+", "-", model)[-60:]
        return self._folder / f"{readable}-{variant}-{digest}.json.z"


def _encoded(value: Any) -> str:
    return base64.b64encode(value).decode()


def _with_data(part: Part) -> None:
    """Replaces the encoded elements of arguments by bytes."""
    for argument in part.facts["arguments"] if part.facts else ():
        if argument["data"] is not None:
            argument["data"] = base64.b64decode(argument["data"])
