"""Makes torchvision importable with a CPU build of torch.

torchvision's wheel for x86-64 Linux is a CUDA build, whose C extension does not load with a CPU
torch. The import then fails with `operator torchvision::nms does not exist`, because torchvision
registers fake kernels for two operators that the extension defines. Importing this module installs
an import hook that defines them just before torchvision itself is executed; torch is not imported
before that. The environment imports this module in each of its processes, so it must cost next to
nothing.

The operators of detection models (`nms`, `roi_align`, `deform_conv2d`) get CPU kernels, in
`torchvision_kernels`. The other operators get none: `ops.roi_pool` and others raise torchvision's
error "Couldn't load custom C++ ops".
"""

import sys
from importlib.machinery import PathFinder

# torchvision registers a fake kernel for this operator, which gets no CPU kernel here.
_QNMS = "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


# No base class: importing importlib.abc would take ten times as long as the rest.
class Finder:
    """An import hook that finds `torchvision` as usual, and defines its operators first."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        """Returns the spec of torchvision, else None; see importlib.abc.MetaPathFinder."""
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
    """Defines torchvision's operators if its extension does not; returns whether to add kernels.

    `folders` is where torchvision is installed. Does nothing if torch is built for GPUs or the
    extension loads. A user's script may have defined some operators in the same way: then returns
    False, and the operators stay as the script defined them.
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
