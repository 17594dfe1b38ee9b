"""Programs for commands, from the cache where they can be."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unmess.cli.session import Session
from unmess.core.artifacts import switched_off
from unmess.core.quiet import quiet_libraries
from unmess.program_cache.capturing import Found, Need, age_of, look_up, program_for
from unmess.program_cache.entry import Entry, Missing
from unmess.program_cache.request import Request

if TYPE_CHECKING:
    from unmess.core.program import Program
    from unmess.core.programs import Programs

# A program that is only lowered.
ANY = Need()
# Behind a model string of Hugging Face: the decoder with its key-value cache.
GENERATE = "#generate"


@dataclass
class Cached:
    """What a command asks for, and what the cache has for it.

    Attributes:
        entry: of the cache, or why there is none.
    """

    session: Session
    request: Request
    need: Need
    use_cache: bool
    entry: Entry | Missing
    _found: Found | None = None

    def program(self) -> Program | Programs:
        """The program; captured and kept where the cache lacks it.

        Raises:
            Error: the stage that failed.
        """
        return self.found().program

    def found(
        self,
        capture: Callable[[], Program | Programs] | None = None,
        about: Callable[[], tuple[Mapping[str, Any], Mapping[str, bytes]]] = lambda: ({}, {}),
    ) -> Found:
        """The program, and where it is from.

        Args:
            capture, about: as for `program_for`; by default what the request says.
        """
        if self._found is None:
            if isinstance(self.entry, Missing) and not (self.session.verbose or self.session.debug):
                quiet_libraries()
            self._found = program_for(
                self.request,
                self.entry,
                capture or self._capture,
                self.need,
                about,
                use_cache=self.use_cache,
            )
            self.session.say_notes([f"cache: {self._found.note}"])
        return self._found

    def say_found(self) -> None:
        """Tells, with `--verbose`, that the entry is used as it is."""
        self.session.say_notes([f"cache: {age_of(self.entry)}"])

    def _capture(self) -> Program | Programs:
        asked = self.request
        if asked.decoder is not None:
            import unmess
            from importers.sources import decoder_of

            return unmess.capture_generation(
                decoder_of(asked.model) or asked.model,
                max_length=asked.decoder.max_length,
                strategy=asked.strategy,
                cache="state",
                trust=asked.trust,
            )
        from unmess.captured import captured

        return captured(
            asked.model,
            asked.inputs,
            asked.dynamic,
            asked.strategy,
            asked.backend_legal_ops,
            trust=asked.trust,
        )


@contextlib.contextmanager
def working(
    session: Session,
    request: Request,
    need: Need = ANY,
    *,
    no_cache: bool = False,
    print_after: tuple[str, ...] = (),
) -> Iterator[Cached]:
    """As `Session.working`, for a command whose program may be in the cache.

    The cache is not used with `--no-cache`, and where every step is to be seen.
    """
    use_cache = not (no_cache or print_after or session.debug)
    with (
        session.working(request.model, print_after, pytorch=False),
        switched_off() if no_cache else contextlib.nullcontext(),
    ):
        entry = look_up(request, need, use_cache=use_cache)
        yield Cached(session, request, need, use_cache, entry)
