"""`unmess cache`: lists, prunes and clears the cache folder."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

import click

from unmess.cli.session import Session, command
from unmess.core.cache.artifacts import (
    SIZE,
    artifact_folder,
    list_artifacts,
    size_limit,
)
from unmess.core.cache.eviction import Item, evict, items_in
from unmess.core.cache.folder import cache_folder, weights_folder
from unmess.core.errors.error import Error
from unmess.program_cache.entry import SIZE as PROGRAMS_SIZE
from unmess.program_cache.entry import entries, programs_folder, programs_limit

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
# The number of programs of each kind that `ls` shows without `--all`.
_SHOWN = 20
_AGES = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


@click.group()
def cache() -> None:
    """List or remove the files that are stored between runs: ls, prune, clear.

    \b
    compiled  compiled programs, by runner; UNMESS_CACHE_MB is their limit, 0 disables them
    programs  captured models; UNMESS_PROGRAMS_MB is their limit, 0 disables them
    weights   weights for IREE's programs; UNMESS_WEIGHTS_MB is their limit, 0 disables them
    ops       results of `unmess ops`
    repro     reproducers of failures

    The folder is UNMESS_CACHE, or by default the system's cache folder.
    """


@cache.command()
@click.option("--all", "is_all", is_flag=True, help="List all programs. --json always does.")
@command
def ls(session: Session, is_all: bool) -> None:
    """List the programs that were used last, and the total size of each kind of file."""
    limit, listed = size_limit(), _listed()
    totals = [
        {
            "kind": kind,
            "folder": str(folder),
            "files": sum(item.files for item in listed[kind]),
            "bytes": sum(item.size for item in listed[kind]),
        }
        for kind, folder in _folders().items()
    ]
    most = None if is_all or session.json else _SHOWN
    programs = list_artifacts(most, listed["compiled"])
    captured = entries(most, listed["programs"])
    if session.json:
        about = [
            {
                "key": one.key,
                "runner": one.runner,
                "model": one.model,
                "bytes": one.bytes,
                "used": one.used,
            }
            for one in programs
        ]
        models = [
            {"key": one.key, "model": one.model, "bytes": one.bytes, "used": one.used}
            for one in captured
        ]
        session.write_json({"limit": limit, "held": totals, "programs": about, "captured": models})
        return
    now = time.time()
    for one in captured:
        size, age = f"{one.bytes / 1e6:.2f} MB", f"{_age(now - one.used)} ago"
        session.write(f"{one.key[:12]}  {'captured':12}  {size:>10}  {age:>8}  {one.model}")
    for one in programs:
        size, age = f"{one.bytes / 1e6:.2f} MB", f"{_age(now - one.used)} ago"
        session.write(f"{one.key[:12]}  {one.runner:12}  {size:>10}  {age:>8}  {one.model}")
    if most in (len(captured), len(programs)):
        session.write(f"at most {most} programs of each kind are shown: --all lists the others")
    for each in totals:
        session.write(
            f"{each['kind']:8}  {each['files']:6} files  {each['bytes'] / 1e6:8.1f} MB  "
            f"{each['folder']}"
        )
    session.write(f"compiled programs: at most {limit >> 20} MiB ({SIZE})")
    session.write(f"captured programs: at most {programs_limit() >> 20} MiB ({PROGRAMS_SIZE})")


@cache.command()
@click.option(
    "--max-size",
    required=True,
    metavar="SIZE",
    help="Maximum size of what is left, for instance 500MB (k, M, G and T are powers of 1000).",
)
@command
def prune(session: Session, max_size: str) -> None:
    """Remove the least recently used programs and weights."""
    try:
        files = [artifact_folder(), weights_folder()]
        freed = evict(files, _bytes(max_size), entries=[programs_folder()]).freed
    except OSError as problem:
        raise Error("usage", f"cannot remove {problem.filename}: {problem.strerror}") from problem
    if session.json:
        session.write_json({"freed": freed})
    else:
        session.write(f"{freed / 1e6:.1f} MB freed")


@cache.command()
@command
def clear(session: Session) -> None:
    """Remove all files from the cache."""
    freed = sum(item.size for items in _listed().values() for item in items)
    for folder in _folders().values():
        shutil.rmtree(folder, ignore_errors=True)
    if session.json:
        session.write_json({"freed": freed})
    else:
        session.write(f"{freed / 1e6:.1f} MB freed")


def _folders() -> dict[str, Path]:
    return {
        "compiled": artifact_folder(),
        "weights": weights_folder(),
        "programs": programs_folder(),
        "ops": cache_folder() / "ops",
        "repro": cache_folder() / "repro",
    }


def _listed() -> dict[str, list[Item]]:
    return {kind: items_in(folder) for kind, folder in _folders().items()}


def _bytes(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)B?", text.strip(), re.IGNORECASE)
    if match is None:
        raise Error("usage", f"{text!r} is not a size", hint="write it like 500MB, 2GB, or 0")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def _age(seconds: float) -> str:
    unit, length = next(((u, n) for u, n in _AGES if seconds >= n), _AGES[-1])
    return f"{max(seconds, 0) / length:.0f} {unit}"
