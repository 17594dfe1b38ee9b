"""`unmess repairs`: lists the repairs and decompositions that may be applied to programs."""

from __future__ import annotations

import itertools
from dataclasses import asdict

import click

from unmess.cli.session import Session, command
from unmess.core.errors.error import Error
from unmess.core.options.names import did_you_mean


@click.command()
@click.option("--issue", metavar="NAME", help="Print the text of an issue of another project.")
@command
def repairs(session: Session, issue: str | None) -> None:
    """List the repairs and decompositions that programs may get.

    Each is applied only where it matches, and is then listed in the program's notes (`check -v`).
    Most work around an issue of another project: --issue prints its text, with a program that
    reproduces it.
    """
    from importers.repair_list import recorded_repairs
    from unmess.upstream_issues import issues_by_affected, upstream_issues

    if issue is not None:
        issues = upstream_issues()
        if issue not in issues:
            raise Error(
                "usage",
                f"there is no issue {issue!r}",
                hint=did_you_mean(issue, issues, "`unmess repairs` names the issues"),
            )
        session.write(issues[issue].text())
        return
    by_name = issues_by_affected()
    listed = [(entry, by_name.get(entry.name)) for entry in recorded_repairs()]
    if session.json:
        session.write_json(
            [
                {
                    **asdict(entry),
                    "upstream": each.link if each else None,
                    "issue": each.name if each else None,
                }
                for entry, each in listed
            ]
        )
        return
    lines = []
    for kind, entries in itertools.groupby(listed, lambda pair: pair[0].kind):
        lines.append(f"{kind}:")
        for entry, each in entries:
            lines.append(f"  {entry.name}: {entry.mends}")
            lines.append(f"    {entry.stage}: {entry.reason}")
            if each:
                lines.append(f"    {each.address}")
    session.write("\n".join(lines))
