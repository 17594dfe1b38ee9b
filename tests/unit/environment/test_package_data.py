"""The files of an installed wheel that are not Python files."""

import fnmatch
import subprocess
import tomllib

import pytest

from unmess.environment.locked import ROOT

PACKAGES = ("unmess", "importers", "pipelines")


def data_files() -> list[str]:
    """Returns the tracked files of the packages that are not Python files."""
    listed = subprocess.run(
        ["git", "ls-files", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [path for path in listed.stdout.splitlines() if not path.endswith(".py")]


@pytest.mark.parametrize("path", data_files())
def test_every_file_is_in_the_wheel(path):
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    file = ROOT / path
    assert (file.parent / "__init__.py").exists(), "package data is looked for in packages only"
    patterns = settings["package-data"]["*"]
    assert any(fnmatch.fnmatch(file.name, pattern) for pattern in patterns)
