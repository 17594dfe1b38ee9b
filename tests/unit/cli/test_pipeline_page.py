"""docs/pipelines.md shows the output of `unmess pipeline` as the command prints it."""

import re
from pathlib import Path

from unmess.__main__ import main

PAGE = Path(__file__).parents[3] / "docs" / "pipelines.md"
BLOCK = re.compile(r"```console\n\$ unmess (pipeline \w+)\n(.*?)\n```", re.DOTALL)


def test_the_page_shows_what_the_command_prints(capsys):
    """A line of three dots stands for steps that the page leaves out."""
    command, shown = BLOCK.search(PAGE.read_text()).groups()
    assert main(command.split()) == 0
    printed = capsys.readouterr().out.strip()
    start, _, end = shown.partition("\n...\n")
    assert printed.startswith(start)
    assert printed.endswith(end)
