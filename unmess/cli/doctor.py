"""`unmess doctor`: is the environment the locked one, and does it work?"""

from __future__ import annotations

import itertools

import click

from unmess.cli.session import Session, command


@click.command()
@command
def doctor(session: Session) -> int:
    """Examine the environment: versions against the lock, imports, tools, devices, disk.

    The exit status is 1 where something is off; a remedy stands below each such line.
    """
    with session.progress.showing():
        session.progress.begin("examining the environment")
        from unmess.environment.doctor import as_json, examine

        findings = examine()
    if session.json:
        session.write_json(as_json(findings))
    else:
        width = max(len(finding.name) for finding in findings)
        for group, members in itertools.groupby(findings, lambda finding: finding.group):
            session.write(group)
            for finding in members:
                mark = "ok " if finding.ok else "OFF"
                session.write(f"  {mark}  {finding.name:{width}}  {finding.detail}")
                if finding.remedy:
                    session.write(f"       {'':{width}}  remedy: {finding.remedy}")
    return 0 if all(finding.ok for finding in findings) else 1
