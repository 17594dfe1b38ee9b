"""`unmess cache`: what the cache folder holds."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import click

from unmess.cli.session import Session, command
from unmess.core.artifacts import SIZE, artifact_folder, size_limit
from unmess.core.cache import cache_folder


@click.command()
@click.option("--clear", is_flag=True, help="Delete it all.")
@command
def cache(session: Session, clear: bool) -> None:
    """Show what is kept between runs, and how much of it.

    \b
    compiled  object code of the reference runner; UNMESS_CACHE_MB bounds it, 0 turns it off
    ops       what `unmess ops` has found out
    repro     files that reproduce failures

    The folder is UNMESS_CACHE, or by default the system's for caches.
    """
    kinds = {
        "compiled": artifact_folder(),
        "ops": cache_folder() / "ops",
        "repro": cache_folder() / "repro",
    }
    if clear:
        for folder in kinds.values():
            shutil.rmtree(folder, ignore_errors=True)
    held = []
    for kind, folder in kinds.items():
        sizes = list(_sizes(folder))
        held.append({"kind": kind, "folder": str(folder), "files": len(sizes), "bytes": sum(sizes)})
    if session.json:
        session.write_json({"limit": size_limit(), "held": held})
        return
    for each in held:
        session.write(
            f"{each['kind']:8}  {each['files']:6} files  {each['bytes'] / 2**20:8.1f} MB  "
            f"{each['folder']}"
        )
    session.write(f"compiled programs take at most {size_limit() >> 20} MB ({SIZE})")


def _sizes(folder: Path) -> Iterator[int]:
    for path in folder.glob("*"):
        # Another process may remove it at the same time.
        with contextlib.suppress(FileNotFoundError):
            yield path.stat().st_size
