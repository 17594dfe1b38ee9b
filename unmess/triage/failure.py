"""Identifies failures: a smaller program reproduces a failure if its own failure is equal.

This module does not import PyTorch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from unmess.row import Row

# Text of exceptions and native libraries that had no memory left.
_MEMORY = re.compile(
    r"out of memory|can't allocate memory|cannot allocate memory|MemoryError|bad_alloc"
    r"|RESOURCE_EXHAUSTED|crashed with SIGKILL",
    re.IGNORECASE,
)
_TRIED = re.compile(r"\(tried: [^)]*\)")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_LOCATION = re.compile(r"\S*[/\\]\S+|\S+\.py\S*")
_SSA = re.compile(r"%[\w.$-]+(#\d+)?")
_SYMBOL = re.compile(r"\b[suz]\d+\b")
# PyTorch numbers the names of values.
_SUFFIX = re.compile(r"_\d+\b")
_TYPE = re.compile(r"!?\w*(?:tensor|memref|vector)<[^>]*>+")
_NUMBER = re.compile(r"[-+]?\b\d[\w.]*(?:e[-+]?\d+)?\b|\b(?:inf|nan)\b")
_PARENTHESES = re.compile(r"\([^()]*\)")
# An operator of PyTorch, or an operation of a dialect.
_OPERATOR = re.compile(r"\b(?:aten|prims|torchvision|quantized_decomposed)(?:\.|::)\w+")
_OPERATION = re.compile(r"\b[a-z_]\w*\.[a-z_][\w.]*")


@dataclass(frozen=True)
class Failure:
    """Why a check of a program failed.

    Two failures are equal if their stages, kinds and normalized messages are.

    Attributes:
        stage: see `unmess.core.errors.stages`.
        kind: `error`, `crash`, `hang`, `out of memory`, `wrong result`, `wrong dtype`,
            `wrong shape` or `wrong structure`.
        message: the cause without numbers, names of values, and places.
    """

    stage: str
    kind: str
    message: str

    @classmethod
    def of(cls, row: Row) -> Failure | None:
        """Returns the failure in a row; None if the check passed."""
        if row.ok:
            return None
        cause = row.error or ""
        kind = _kind(row.stage, cause)
        # A comparison words its message by the values that it finds.
        alike = kind in ("hang", "out of memory") or row.stage == "compare"
        return cls(row.stage, kind, "" if alike else normalized(cause))

    def __str__(self) -> str:
        return f"{self.kind} at {self.stage}"


def _kind(stage: str, cause: str) -> str:
    if ran_out_of_memory(cause):
        return "out of memory"
    if "timed out after" in cause:
        return "hang"
    if re.search(r"\bcrash(?:ed|es) with SIG|the process ended with status", cause):
        return "crash"
    is_wrong = stage == "compare" or "garbage output" in cause
    if is_wrong and re.search(r"\bdtype\b", cause):
        return "wrong dtype"
    if is_wrong and re.search(r"\bshape\b|\brank\b", cause):
        return "wrong shape"
    if is_wrong and re.search(r"\bstructure\b|number of results", cause):
        return "wrong structure"
    return "wrong result" if stage == "compare" else "error"


def ran_out_of_memory(text: str) -> bool:
    """Returns whether a message says that there was no memory left."""
    return _MEMORY.search(text) is not None


def normalized(cause: str) -> str:
    """Returns a message without numbers, names of values, types and places."""
    text = _TRIED.sub("", cause)
    text = _TYPE.sub("T", text)
    text = _QUOTED.sub(_unquoted, text)
    text = _LOCATION.sub("FILE", text)
    text = _SSA.sub("%", text)
    text = _SYMBOL.sub("N", text)
    text = _SUFFIX.sub("", text)
    text = _NUMBER.sub("N", text)
    # Parentheses may be nested.
    while (shorter := _PARENTHESES.sub("", text)) != text:
        text = shorter
    return " ".join(text.split())


def _unquoted(match: re.Match[str]) -> str:
    text = match[1] or match[2] or ""
    # Names of operations are part of the cause; those of values are not.
    return text if _OPERATION.fullmatch(text) else "X"


def operator_in(cause: str) -> str | None:
    """Returns the operator of PyTorch that a message names, such as `aten.histc`, or None."""
    found = _OPERATOR.search(cause)
    return found[0].replace("::", ".") if found else None
