"""Checks that a program makes at run time, and the error if one fails."""

from __future__ import annotations

import re
from dataclasses import dataclass

from unmess.core.errors.error import Error
from unmess.core.errors.portable_paths import local_path, portable_path

# Prefix of the messages of assertions that unmess adds for values that an operator rejects in
# eager PyTorch. Output dialects without assertions omit these checks.
VALUE_PREFIX = "invalid value: "
_HINT = "an index, a size or a divisor is out of range: run this call in eager PyTorch"
# PyTorch's message for a condition on numbers that depend on data, such as those that draft export
# assumes.
_RANGE = re.compile(r"Runtime assertion failed for expression (?P<condition>.+?) on node")
_RANGE_HINT = (
    "run this call in eager PyTorch; if it succeeds there, the capture fixed this number to the "
    "example's: capture the model with these arguments"
)
_SPELLED = re.compile(
    r"check failed: (?P<message>.*?)(?: \[(?P<where>[^\[\]\n]+:\d+)\])?(?:; |\n|$)"
)


@dataclass(frozen=True)
class Check:
    """A condition that holds in every call that succeeds.

    Attributes:
        message: what is wrong if the condition does not hold; None for an allocation.
        where: the user's source line, with a portable path: checkouts share compiled code.
    """

    message: str | None
    where: str | None

    @classmethod
    def at(cls, message: str | None, line: str | None) -> Check:
        """Returns the check of a source line, which has a path on this machine."""
        return cls(message, line and portable_path(line))

    def error(self, amount: int = 0) -> Error:
        """Returns the error for the user.

        Args:
            amount: size in bytes of the allocation that failed.
        """
        if self.message is None:
            cause = f"out of memory: cannot allocate {amount:,} bytes"
            hint = "run the model on smaller inputs; eager PyTorch may need as much memory"
        else:
            message, hint = self.message, _HINT
            if found := _RANGE.match(message):
                condition = found["condition"]
                message = f"a number that depends on data does not meet the condition {condition}"
                hint = _RANGE_HINT
            cause = f"a check in the program failed: {message}"
        return Error("run", cause, where=self.where and local_path(self.where), hint=hint)

    def spelled(self) -> str:
        """Returns message and line as one text, for code that carries text. See `failed_check`."""
        message = " ".join((self.message or "").replace(";", ",").split())
        line = f" [{self.where}]" if self.where else ""
        return f"check failed: {message}{line}"


def failed_check(text: str) -> Check | None:
    """Returns the check whose `spelled` text is in an error message; None if there is none."""
    match = _SPELLED.search(text)
    return match and Check(match["message"], match["where"])
