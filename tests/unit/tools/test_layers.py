"""The contracts in pyproject.toml report imports that break the layers."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

CONTRACTS = Path(__file__).resolve().parents[3] / "pyproject.toml"
# A package with one file in each layer, and its imports.
FILES = {
    "unmess/__init__.py": "",
    "unmess/__main__.py": "import unmess.cli",
    "unmess/api.py": "import importers.capture\nimport pipelines.lower",
    "unmess/compare.py": "import unmess.api",
    "unmess/opt.py": "import unmess.cli",
    "unmess/cli/__init__.py": "import unmess.compare",
    "unmess/core/__init__.py": "",
    "unmess/core/errors/__init__.py": "",
    "unmess/core/errors/error.py": "",
    "unmess/core/program/__init__.py": "",
    "unmess/core/program/program.py": "import unmess.core.errors.error",
    "unmess/core/program/weights.py": "import unmess.core.program.program",
    "importers/__init__.py": "",
    "importers/capture.py": "import unmess.core.program.program",
    "pipelines/__init__.py": "",
    "pipelines/lower.py": "import unmess.core.program.weights",
}
LINT = "from importlinter.cli import lint_imports_command as main; main()"
INDEPENDENT = "importers and pipelines are independent, and above unmess.core"
ONLY_CORE = "importers, pipelines and unmess.core use only unmess.core of unmess"
NOT_UNMESS = "importers, pipelines and unmess.core do not import unmess itself"
CLI = "only the entry points __main__ and opt import unmess.cli"
ACYCLIC = "no cycle of files or packages"


def check(folder, file=None, line=""):
    """Returns the exit status of import-linter on FILES, and its report in one line.

    Args:
        file, line: a line to add to a file.
    """
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n{line}\n" if name == file else f"{text}\n")
    # Without -S, Python imports the project's own `unmess` at start-up. See `pixiw link`.
    done = subprocess.run(
        [sys.executable, "-S", "-c", LINT, "--config", str(CONTRACTS), "--no-cache", "--no-logo"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")},
        capture_output=True,
        text=True,
    )
    assert not done.stderr
    return done.returncode, " ".join(done.stdout.split())


def test_allowed_imports_pass(tmp_path):
    status, report = check(tmp_path)
    assert status == 0
    assert "Contracts: 5 kept, 0 broken." in report


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("unmess/core/errors/error.py", "import importers.capture", INDEPENDENT),
        ("importers/capture.py", "def f():\n    import pipelines.lower", INDEPENDENT),
        ("pipelines/lower.py", "from unmess.api import capture", ONLY_CORE),
        ("importers/capture.py", "import unmess", NOT_UNMESS),
        ("unmess/api.py", "def f():\n    from unmess.cli import main", CLI),
        ("unmess/core/program/program.py", "import unmess.core.program.weights", ACYCLIC),
        ("unmess/core/errors/error.py", "import unmess.core.program.weights", ACYCLIC),
    ],
)
def test_wrong_import_fails(tmp_path, file, line, contract):
    status, report = check(tmp_path, file, line)
    assert status == 1
    assert f"{contract} BROKEN" in report
