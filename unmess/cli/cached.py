"""Gets a command's program from the cache, or captures it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unmess.cli.session import Session
from unmess.core.cache.artifacts import switched_off
from unmess.core.errors.quiet import quiet_libraries
from unmess.program_cache.capturing import Found, Need, look_up, origin_note, program_for
from unmess.program_cache.entry import Entry, Missing
from unmess.program_cache.request import Request

if TYPE_CHECKING:
    from unmess.core.program.program import Program
    from unmess.core.program.programs import Programs

# The needs of a command that only lowers the program.
ANY = Need()
# The suffix of a Hugging Face model string that selects the decoder with its key-value cache.
GENERATE = "#generate"


@dataclass
class Cached:
    """A command's request, and the cache entry for it.

    Attributes:
        entry: the cache entry, or the reason why there is none.
    """

    session: Session
    request: Request
    need: Need
    use_cache: bool
    entry: Entry | Missing
    _found: Found | None = None

    def program(self) -> Program | Programs:
        """Returns the program, from the cache or captured.

        Raises:
            Error: the stage that failed.
        """
        return self.found().program

    def found(
        self,
        capture: Callable[[], Program | Programs] | None = None,
        about: Callable[[], tuple[Mapping[str, Any], Mapping[str, bytes]]] = lambda: ({}, {}),
    ) -> Found:
        """Returns the program and its origin.

        Args:
            capture, about: as for `program_for`; by default, captures the requested model.
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
        """Prints, with `--verbose`, when the entry was captured and where it is."""
        self.session.say_notes([f"cache: {origin_note(self.entry)}"])

    def _capture(self) -> Program | Programs:
        asked = self.request
        if asked.decoder is not None:
            import unmess
            from importers.sources import decoder_of

            programs = unmess.capture_generation(
                decoder_of(asked.model) or asked.model,
                batch=asked.decoder.batch,
                max_length=asked.decoder.max_length,
                strategy=asked.strategy,
                cache="state",
                trust=asked.trust,
            )
            if not (asked.quantize or asked.integer or asked.calibrate):
                return programs
            # Imported here to save start-up time.
            from unmess.quantization import quantized_for

            return quantized_for(programs, asked.quantize, asked.integer, asked.calibrate)
        from unmess.captured import captured

        options = {name: value for name, value in vars(asked).items() if name != "decoder"}
        return captured(**options)


@contextlib.contextmanager
def working(
    session: Session,
    request: Request,
    need: Need = ANY,
    *,
    no_cache: bool = False,
    print_after: tuple[str, ...] = (),
    from_pytorch: bool = False,
) -> Iterator[Cached]:
    """Like `Session.working`, for a command whose program may be in the cache.

    `--no-cache` turns the cache off. So do `--print-after` and `--debug`, which need every step.
    With `from_pytorch`, the model is always captured: a program from the cache has no operators of
    PyTorch.
    """
    use_cache = not (no_cache or print_after or from_pytorch or session.debug)
    with (
        session.working(request.model, print_after, pytorch=False),
        switched_off() if no_cache else contextlib.nullcontext(),
    ):
        entry = look_up(request, need, use_cache=use_cache)
        yield Cached(session, request, need, use_cache, entry)
