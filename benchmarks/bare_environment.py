"""Creates a Python environment for bundles, with IREE's runtime and NumPy, without PyTorch."""

import importlib.metadata
import venv
from pathlib import Path

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
