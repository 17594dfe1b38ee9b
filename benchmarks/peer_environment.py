"""Makes environments of Python: for bundles, and for software to compare with."""

from __future__ import annotations

import hashlib
import importlib.metadata
import subprocess
import venv
from pathlib import Path

from unmess.core.cache.folder import cache_folder

LOCKS = Path(__file__).with_name("locks")


class Missing(Exception):
    """Software to compare with cannot run here; the text is the reason."""


def environment(lock: Path) -> Path:
    """Returns the folder of an environment; makes it if it is missing.

    Args:
        lock: the packages, with versions and hashes. Their own requirements are not installed.

    Raises:
        Missing: the environment cannot be made, or a package cannot be installed.
    """
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()[:16]
    folder = cache_folder() / "peers" / f"{lock.stem}-{digest}"
    done = folder / "installed"
    if done.exists():
        return folder
    command = [folder / "bin" / "python", "-m", "pip", "--quiet", "install", "--no-deps"]
    try:
        venv.create(folder, clear=True, with_pip=True)
        subprocess.run(
            [*command, "--only-binary=:all:", "--require-hashes", "-r", lock],
            check=True,
            capture_output=True,
            text=True,
        )
    except OSError as problem:
        raise Missing(f"there is no environment for it: {problem}") from problem
    except subprocess.CalledProcessError as problem:
        last = (str(problem.stderr or problem).strip().splitlines() or ["pip failed"])[-1]
        raise Missing(f"the packages of {lock.name} cannot be installed: {last}") from problem
    done.touch()
    return folder


# The packages that a bundle needs, their requirements, and safetensors to read weights.
DISTRIBUTIONS = ("iree-base-runtime", "ml-dtypes", "numpy", "safetensors")
_ROOT = Path(__file__).resolve().parents[1]


def bare_environment(folder: Path) -> Path:
    """Creates an environment in `folder` from links to this environment's files, without network.

    The versions are the same. Of this project, only the package `unmess` is included.

    Returns:
        The interpreter. Call it with `-I`, so that nothing else gets onto the path.
    """
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for name in DISTRIBUTIONS:
        for file in importlib.metadata.distribution(name).files:
            if ".." not in file.parts and file.suffix != ".pyc":
                link = site / file
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(Path(file.locate()).resolve())
    (site / "unmess").symlink_to(_ROOT / "unmess")
    return folder / "bin" / "python"
