"""Let torchvision import on a CPU build of torch.

torchvision's wheel for x86-64 Linux is a CUDA build: its C extension does not
load beside a CPU torch, and the import then stops at `operator torchvision::nms
does not exist`, since torchvision describes two operators that the extension
would have defined. Importing this module installs an import hook that defines
their schemas just before torchvision itself is executed; torch is not imported
before that. The environment imports this module in each of its processes, so it
must cost next to nothing.

The operators still have no implementation, and torchvision says so: its
`ops.nms` and the like raise "Couldn't load custom C++ ops".
"""

import sys
from importlib.machinery import PathFinder

SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)


# No base class: importlib.abc alone would take ten times as long as the rest.
class Finder:
    """Finds `torchvision` where it would be found anyway, and prepares its execution."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        """The spec of torchvision, else None; see importlib.abc.MetaPathFinder."""
        if fullname != "torchvision":
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                define_schemas(spec.submodule_search_locations or ())
                execute(module)

            spec.loader.exec_module = exec_module
        return spec


# The schemas live as long as this object.
_library = None


def define_schemas(folders) -> bool:
    """Define torchvision's two operators if its extension does not; says whether it did.

    `folders` is where torchvision is installed. Nothing is done on a torch that
    is built for GPUs, nor beside an extension that loads.
    """
    global _library
    import torch

    if torch.version.cuda or torch.version.hip or _library or _extension_loads(folders):
        return False
    _library = torch.library.Library("torchvision", "FRAGMENT")
    for schema in SCHEMAS:
        name = schema.partition("(")[0]
        # A user's script may have defined them in the same way.
        if not torch._C._jit_get_schemas_for_operator(f"torchvision::{name}"):
            _library.define(schema)
    return True


def _extension_loads(folders) -> bool:
    from pathlib import Path

    import torch

    for extension in (file for folder in folders for file in Path(folder).glob("_C*.so")):
        try:
            torch.ops.load_library(extension)
        except OSError:
            continue
        return True
    return False


if Finder not in sys.meta_path:
    sys.meta_path.insert(0, Finder)
