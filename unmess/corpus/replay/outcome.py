"""The result of replaying a kernel or a program."""

from __future__ import annotations

from dataclasses import dataclass

RIGHT, WRONG, NOT_CHECKABLE = "right", "wrong", "not checkable"


@dataclass(frozen=True)
class Replay:
    """The result of replaying a kernel or a program.

    Attributes:
        name: the SHA-256 of the kernel, or the model.
        result: `right`, `wrong` or `not checkable`.
        reason: why it is wrong or not checkable, or None.
        elements, of: the number of result elements that were compared, and that there are.
    """

    name: str
    result: str
    reason: str | None = None
    elements: int = 0
    of: int = 0
