"""Old names of pixi tasks run the new task and print one line about it on stderr."""

import subprocess
import tomllib

import pytest

from unmess.environment.locked import ROOT


@pytest.mark.parametrize(
    ("old", "new"), [("exits", "output-dialects"), ("operator-exits", "operator-dialects")]
)
def test_deprecated_task(tmp_path, old, new):
    tasks = tomllib.loads((ROOT / "pixi.toml").read_text())["tasks"]
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "$@"\n')
    python.chmod(0o755)

    def run(task):
        return subprocess.run(
            ["sh", "-c", f"{tasks[task]['cmd']} --again failed"],
            env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        )

    done = run(old)
    assert done.stderr == f"the task {old} is deprecated: run the task {new}\n"
    assert done.stdout == run(new).stdout
    assert done.stdout.endswith("_dialects.py --again failed\n")
