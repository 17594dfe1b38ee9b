"""The error for files that can run code."""

from __future__ import annotations

from unmess.core.errors.error import Error


def needs_trust(path: object, what: str, where: str | None = None) -> Error:
    """Returns the Error (`source`) for a file that can run code, which the user has not allowed.

    Args:
        what: the part of the file that can run code, such as "pickled Python objects".
        where: its source line, if there is one.
    """
    return Error(
        "source",
        f"{path} contains {what}, which could run any code",
        where=where,
        hint="if you trust its author, pass --trust, or trust=True in Python",
    )
