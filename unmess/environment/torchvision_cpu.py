"""Let torchvision import on a CPU build of torch.

torchvision's wheel for x86-64 Linux is a CUDA build: its C extension does not
load beside a CPU torch, and the import then stops at `operator torchvision::nms
does not exist`, since torchvision describes two operators that the extension would have
defined. Importing this module installs an import hook that defines them just
before torchvision itself is executed; torch is not imported before that. The
environment imports this module in each of its processes, so it must cost next
to nothing.

What detection models need (`nms`, `roi_align`, `deform_conv2d`) gets a CPU kernel,
in `torchvision_kernels`. The other operators stay without, and torchvision says
so: its `ops.roi_pool` and the like raise "Couldn't load custom C++ ops".
"""

import sys
from importlib.machinery import PathFinder

# Described by torchvision without a kernel here.
_QNMS = "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


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
                defined = define_schemas(spec.submodule_search_locations or ())
                execute(module)
                if defined:
                    from unmess.environment.torchvision_kernels import register

                    register(_library)

            spec.loader.exec_module = exec_module
        return spec


# The schemas live as long as this object.
_library = None


def define_schemas(folders) -> bool:
    """Define torchvision's operators if its extension does not; says whether it did.

    `folders` is where torchvision is installed. Nothing is done on a torch that
    is built for GPUs, nor beside an extension that loads. A user's script may have
    defined some in the same way: then it stays as that script wants it.
    """
    global _library
    import torch

    if torch.version.cuda or torch.version.hip or _library or _extension_loads(folders):
        return False
    from unmess.environment.torchvision_kernels import SCHEMAS

    _library = torch.library.Library("torchvision", "FRAGMENT")
    theirs = [name for name in SCHEMAS if _is_defined(name)]
    for schema in (*SCHEMAS.values(), _QNMS):
        if not _is_defined(schema.partition("(")[0]):
            _library.define(schema)
    return not theirs


def _is_defined(name) -> bool:
    import torch

    return bool(torch._C._jit_get_schemas_for_operator(f"torchvision::{name}"))


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
