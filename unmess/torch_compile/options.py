"""The options of the backend: `torch.compile(model, backend="unmess", options={…})`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Any

from pipelines.backends.table import check_runner
from unmess.core.errors.error import Error
from unmess.core.options.names import did_you_mean
from unmess.core.options.target_options import TargetOptions
from unmess.partition import PartitionOptions


@dataclass(frozen=True)
class Options:
    """Options of the backend.

    Attributes:
        on: the runner, as for `unmess.load`.
        fallback: `eager` to run operators that do not lower in eager PyTorch, None to refuse them.
        cache: whether to use the cache of compiled programs.
        partition: the other options, which are those of a partition.
    """

    on: str = "reference"
    fallback: str | None = "eager"
    cache: bool = True
    partition: PartitionOptions = field(default_factory=PartitionOptions)


# The types of the values of each option, and how messages call them.
_KINDS: dict[str, tuple[type | UnionType, str]] = {
    "on": (str, "the name of a runner"),
    "fallback": (str | None, "'eager' or None"),
    "cache": (bool, "True or False"),
    "target": (TargetOptions | None, "an unmess.TargetOptions or None"),
    "unchecked": (bool, "True or False"),
    "allow_ops": (str | list | tuple, "a list of names of operators"),
    "deny_ops": (str | list | tuple, "a list of names of operators"),
    "min_operators": (int, "a number"),
}


def read_options(options: Mapping[str, Any] | None, mode: str | None) -> Options:
    """Returns the options of a call of `torch.compile`.

    Raises:
        Error: stage `usage`; an option is unknown or has a wrong value.
    """
    if mode is not None:
        raise Error(
            "usage",
            f"the backend unmess has no mode {mode!r}",
            hint="leave out mode=; options={'on': …} selects the runner",
        )
    given = dict(options or {})
    for name, value in given.items():
        if name not in _KINDS:
            everything = f"the options are {', '.join(_KINDS)}"
            raise Error(
                "usage",
                f"the backend unmess has no option {name!r}",
                hint=did_you_mean(str(name), _KINDS, otherwise=everything),
            )
        kind, wanted = _KINDS[name]
        if not isinstance(value, kind) or (name == "fallback" and value not in ("eager", None)):
            raise Error(
                "usage",
                f"the option {name} of the backend unmess is {value!r}",
                hint=f"pass {wanted}",
            )
    lists = ("allow_ops", "deny_ops")
    if given.get("fallback", "eager") is None and any(given.get(name) for name in lists):
        raise Error(
            "usage", "allow_ops and deny_ops need a fallback", hint="pass {'fallback': 'eager'}"
        )
    own = {name: given.pop(name) for name in ("on", "fallback", "cache") if name in given}
    check_runner(own.get("on", Options.on))
    return Options(**own, partition=PartitionOptions(**given))
