"""`unmess report`: writes one HTML page about the results of a matrix."""

from __future__ import annotations

from pathlib import Path

import click

from unmess.cli.session import Session, command
from unmess.core.files.writing import write_text, writing_to


@click.command()
@click.argument("folder", metavar="DIR")
@click.option("-o", "--output", metavar="FILE", help="Default: report.html in DIR.")
@command
def report(session: Session, folder: str, output: str | None) -> None:
    """Write one HTML page about the results of `unmess matrix` in DIR.

    The page has the matrix with filters, plots of errors, times and memory, and the coverage by
    family and by operator. A click on a cell shows its stage, cause, source line and reproducer.
    The page needs no other file and no network.
    """
    # Imported here, because `--help` does not need them.
    from unmess.matrix.folder import read_matrix
    from unmess.matrix_report.page import page

    path = Path(folder)
    results = read_matrix(path)
    # One file of rows is accepted, too. Its reproducers are beside it.
    place = path if path.is_dir() else path.parent
    file = Path(output) if output is not None else place / "report.html"
    with writing_to(file):
        write_text(file, page(results, place))
    if session.json:
        session.write_json({"file": str(file), "cells": len(results)})
    else:
        session.write(f"{file}: {len(results)} cells")
