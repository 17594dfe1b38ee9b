"""The check whether a wrong result is due to a preset of IREE's compiler."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PlainCheck:
    """The repetition of a comparison with the preset `plain`.

    Attributes:
        preset: the preset that the wrong result was computed with.
        ok: whether the result matches eager with `plain`; None if there is no result with it.
        error: what differs with `plain`, or why there is no result; one line.
    """

    preset: str
    ok: bool | None
    error: str | None = None

    def __str__(self) -> str:
        if self.ok:
            return (
                f"the preset {self.preset} causes the difference: with plain, the result "
                "matches eager"
            )
        if self.ok is None:
            return (
                f"the preset {self.preset} cannot be compared with plain, which gives no "
                f"result: {self.error}"
            )
        return f"the preset {self.preset} does not cause the difference: with plain, {self.error}"
