"""`unmess-session FILE`: runs the lines of a file that begin with `$ unmess`, in one process.

Prints each line, then the command's output on both streams without progress, then the exit status
if it is not 0. `%S` is the file's folder, and `%t` is a folder for this test only.
"""

import shlex
import sys
from pathlib import Path

from unmess.__main__ import main

_PROMPT = "$ unmess "


def run(file: Path, own: Path) -> None:
    own.mkdir(parents=True, exist_ok=True)
    sys.stderr = sys.stdout
    for line in file.read_text().splitlines():
        if not line.startswith(_PROMPT):
            continue
        print(line)
        command = line.removeprefix(_PROMPT).replace("%S", str(file.parent))
        status = main([*shlex.split(command.replace("%t", str(own))), "--quiet"])
        if status:
            print(f"exit status {status}")


if __name__ == "__main__":
    run(Path(sys.argv[1]), Path(sys.argv[2]))
