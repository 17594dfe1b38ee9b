"""Gets the program for a request from the cache, or captures it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unmess.core.errors.error import Error
from unmess.core.options.names import IR_SUFFIXES
from unmess.program_cache.entry import Entry, Missing, find
from unmess.program_cache.request import Request

if TYPE_CHECKING:
    from unmess.core.program.program import Program
    from unmess.core.program.programs import Programs

_PYTHON = ".py"
# The tokenizer's file in the entry of a decoder.
TOKENIZER = "tokenizer.json"


@dataclass(frozen=True)
class Need:
    """The needs of a command from a program, beyond lowering it.

    Attributes:
        results: eager's results of the example call.
        call: a program that can be called like the model.
        tokenizer: the model's tokenizer, in a form that does not need transformers.
        containers: results in the model's own containers.
    """

    results: bool = False
    call: bool = False
    tokenizer: bool = False
    containers: bool = False


@dataclass(frozen=True)
class Found:
    """A program and its origin.

    Attributes:
        entry: its cache entry; None if the program is not cached.
        note: its origin, or why it is not cached, in one line.
    """

    program: Program | Programs
    entry: Entry | None
    note: str


def look_up(request: Request, need: Need, *, use_cache: bool = True) -> Entry | Missing:
    """Returns the entry for a request, or why there is none. Imports neither PyTorch nor MLIR."""
    if not use_cache:
        return Missing("the cache is disabled")
    if request.model.endswith(IR_SUFFIXES):
        return Missing("IR is not captured")
    entry = find(request)
    if isinstance(entry, Missing):
        return entry
    return _unmet(entry, need) or entry


def program_for(
    request: Request,
    found: Entry | Missing,
    capture: Callable[[], Program | Programs],
    need: Need,
    about: Callable[[], tuple[Mapping[str, Any], Mapping[str, bytes]]] = lambda: ({}, {}),
    *,
    use_cache: bool = True,
) -> Found:
    """Returns the program of an entry; if there is none, captures and caches the program.

    Args:
        found: the result of `look_up`.
        capture: builds the model and captures the program.
        about: called after `capture`; returns further data for the entry, as JSON and as files.

    Raises:
        Error: the stage that failed.
    """
    from unmess.program_cache.stored import read

    if isinstance(found, Entry):
        # Another process may remove the entry at the same time.
        with contextlib.suppress(OSError, Error):
            return Found(read(found), found, origin_note(found))
        found = Missing("its files in the cache cannot be read")
    if not use_cache or request.model.endswith(IR_SUFFIXES):
        return Found(capture(), None, found.reason)
    return _captured(request, found, capture, need, about)


def _captured(
    request: Request,
    missing: Missing,
    capture: Callable[[], Program | Programs],
    need: Need,
    about: Callable[[], tuple[Mapping[str, Any], Mapping[str, bytes]]],
) -> Found:
    from unmess.program_cache.stored import Unkept, keep, read
    from unmess.program_cache.watch import Watch

    with Watch() as watch:
        runs_user_code = _PYTHON in request.model
        with watch.calls_of_users() if runs_user_code else contextlib.nullcontext():
            program = capture()
        for path in (*request.files(), *request.folders()):
            watch.add(path)
    dependencies = watch.dependencies()
    if dependencies is None:
        return Found(program, None, f"not stored: {watch.reason}")
    try:
        more, files = about()
        entry = keep(request, program, dependencies, results=need.results, more=more, files=files)
        kept = read(entry)
    except Unkept as problem:
        return Found(program, None, f"not stored: {problem}")
    except OSError as problem:
        return Found(program, None, f"not stored: {problem.strerror or problem}")
    if unmet := _unmet(entry, need):
        return Found(program, None, f"captured, because {unmet.reason}")
    kept.seconds.update(program.seconds)
    return Found(kept, entry, f"captured, because {missing.reason}")


def _unmet(entry: Entry, need: Need) -> Missing | None:
    """Returns why an entry does not meet the needs of a command; None if it does."""
    if need.results and not entry.about["results"]:
        return Missing("eager's results were not recorded")
    if need.call and entry.about["assembled"]:
        return Missing("its result is assembled by the model's own code")
    if need.tokenizer and TOKENIZER not in entry.about["files"]:
        return Missing("its tokenizer needs transformers")
    if need.containers and not entry.about["own_containers"]:
        return Missing("its arguments or results have containers of another library")
    return None


def origin_note(entry: Entry) -> str:
    """Returns, as text, when the program of an entry was captured and where the entry is."""
    captured = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.about["made"]))
    return f"captured on {captured}, loaded from {entry.folder}"
