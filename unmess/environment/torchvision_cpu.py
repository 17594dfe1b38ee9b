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

from unmess.import_hook import ImportHook

# torchvision registers a fake kernel for this operator, which gets no CPU kernel here.
_QNMS = "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


def _execute(torchvision, execute):
    """Executes torchvision after its operators are defined, and then adds kernels."""
    defined = define_schemas(torchvision.__spec__.submodule_search_locations or ())
    execute()
    if defined:
        from unmess.environment.torchvision_kernels import register

        register(_library)


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


HOOK = ImportHook(("torchvision",), _execute)
HOOK.install()
