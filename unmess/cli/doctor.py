"""`unmess doctor`: checks that the environment is the locked one and that it works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from unmess.cli.session import Session, command

if TYPE_CHECKING:
    from unmess.environment.doctor import Finding

# The longest name of a package in the lock has 24 characters.
_NAME_WIDTH = 24


@click.command()
@command
def doctor(session: Session) -> int:
    """Check the environment: locked versions, imports, tools, devices, disk.

    Each line is printed as soon as its check is done. The exit status is 1 if a check fails; the
    line below it says what to do.
    """
    from unmess.environment.doctor import as_json, examine

    findings = []
    with session.progress.showing():
        session.progress.begin("checking the environment")
        for finding in examine():
            if not session.json:
                is_new_group = not findings or findings[-1].group != finding.group
                _write(session, finding, is_new_group)
            findings.append(finding)
    if session.json:
        session.write_json(as_json(findings))
    return 0 if all(finding.ok for finding in findings) else 1


def _write(session: Session, finding: Finding, is_new_group: bool) -> None:
    if is_new_group:
        session.write(finding.group)
    mark = "ok " if finding.ok else "OFF"
    session.write(f"  {mark}  {finding.name:{_NAME_WIDTH}}  {finding.detail}")
    if finding.remedy:
        session.write(f"       {'':{_NAME_WIDTH}}  remedy: {finding.remedy}")
