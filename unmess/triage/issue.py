"""Writes the text of an issue for the tool that fails.

This module does not import PyTorch.
"""

from __future__ import annotations

from unmess.environment.versions import versions
from unmess.row import Row
from unmess.triage.finding import Finding
from unmess.triage.forms import Form
from unmess.upstream_issues import issues_by_affected

# Longer IR is in its file only.
_MOST_LINES = 60


def issue_text(finding: Finding, form: Form, model: Row) -> str:
    """Returns an issue in Markdown, from the files that are in the folder already.

    Args:
        form: the form of `repro.py`.
        model: the check of the whole model.
    """
    folder = finding.folder
    parts = [
        f"# {_title(finding)}",
        _summary(finding, model),
        f"## Reproducer\n\n`python repro.py` needs {form.packages}.{_caveat(finding)}\n\n"
        f"```python\n{(folder / 'repro.py').read_text()}```",
        f"## Error\n\n```\n{finding.stage}: {finding.cause}\n```",
    ]
    if (ir := folder / "repro.mlir").exists():
        lines = ir.read_text().splitlines()
        if len(lines) <= _MOST_LINES:
            parts.append("## IR\n\n```mlir\n" + "\n".join(lines) + "\n```")
        else:
            parts.append(f"## IR\n\nSee the attached repro.mlir ({len(lines):,} lines).")
    table = "\n".join(f"| {name} | {version} |" for name, version in versions().items())
    parts.append(f"## Versions\n\n| | |\n| --- | --- |\n{table}")
    if finding.limit is not None:
        link = finding.limit.limit.link or _issue_address(finding.limit.of)
        parts.append(f"## Known limit\n\n`{finding.limit.of}` fails in the same way: {link}.")
    return "\n\n".join(parts) + "\n"


def _title(finding: Finding) -> str:
    cause = finding.cause if len(finding.cause) <= 100 else finding.cause[:99] + "…"
    about = f"{finding.operator}: " if finding.operator else ""
    if finding.kind == "error":
        return f"{finding.tool}: {cause}"
    return f"{finding.tool}: {about}{finding.kind} at {finding.stage}"


def _summary(finding: Finding, model: Row) -> str:
    rows = [
        ("stage", finding.stage),
        ("kind", finding.kind),
        ("operator", finding.operator),
        ("line of the model", finding.where),
        ("first wrong value", finding.value),
        ("cause", finding.origin),
        ("dispatch", finding.dispatch),
        ("model", model.model),
        ("runner", model.place),
        ("module that fails alone", finding.module),
    ]
    if finding.after is not None:
        rows.append(("operators", f"{finding.after}, reduced from {finding.before}"))
    table = "\n".join(f"| {name} | {value} |" for name, value in rows if value)
    return f"| | |\n| --- | --- |\n{table}"


def _issue_address(limited: str) -> str:
    issue = issues_by_affected().get(limited)
    return issue.address if issue else "no upstream issue is known"


def _caveat(finding: Finding) -> str:
    if finding.reproduces is not False:
        return ""
    return " It did not show the failure when it was run by itself."
