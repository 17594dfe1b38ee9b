"""The error for files that can run code."""

from __future__ import annotations

from unmess.core.error import Error


def needs_trust(path: object, what: str, where: str | None = None) -> Error:
    """Returns the Error (`source`) for a file that can run code, which the user has not allowed.

    Args:
        what: the part of the file that can run code, such as "pickled Python objects".
        where: its source line, if there is one.
    """
    return Error(
        "source",
        f"{path} holds {what}, which could run any code",
        where=where,
        hint="if you trust whoever made it: --trust, or trust=True in Python",
    )
