"""A Python environment for bundles: IREE's runtime and NumPy, no PyTorch."""

import importlib.metadata
import venv
from pathlib import Path

# What a bundle runs with, what that requires, and safetensors for whoever reads weights.
DISTRIBUTIONS = ("iree-base-runtime", "ml-dtypes", "numpy", "safetensors")
_ROOT = Path(__file__).resolve().parents[1]


def bare_environment(folder: Path) -> Path:
    """Makes one in `folder`, of links to this environment's files: the same versions, no network.

    Of this project it has `unmess` alone.

    Returns:
        Its interpreter; to be called with `-I`, so that nothing else gets onto the path.
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
