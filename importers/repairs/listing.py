"""Lists all changes made to a program so that it can be imported and lowered."""

from __future__ import annotations

from importers.decompositions import DECOMPOSITIONS
from importers.repair_list import ListedRepair
from importers.repairs import REPAIRS

# Constructs that `importers.torch_dialect` handles because torch-mlir's importer does not.
_IMPORT_FORMS = (
    ListedRepair(
        "non-persistent buffers",
        "import",
        "register_buffer(persistent=False), lifted constants",
        "import",
        "torch-mlir looks up buffers in the state dict only; here they become arguments or "
        "literals",
    ),
    ListedRepair(
        "branches",
        "import",
        "torch.cond",
        "import",
        "torch-mlir's importer does not support it; it becomes torch.prim.If that calls two "
        "functions",
    ),
    ListedRepair(
        "loops",
        "import",
        "while_loop with captured values",
        "import",
        "torch-mlir takes values that the body does not change for part of the loop's state",
    ),
    ListedRepair(
        "new state as results",
        "import",
        "buffers and inputs that the model writes",
        "torch",
        "torch-mlir does not lower writes to inputs (torch.copy.to_vtensor); new values become "
        "results, named as state",
    ),
    ListedRepair(
        "constant results",
        "import",
        "None, numbers and strings among the results",
        "linalg",
        "these values have no type below the torch dialect; the Executable adds them to its result",
    ),
    ListedRepair(
        "constant arguments",
        "import",
        "Python bool, int, float, str and None as inputs",
        "import",
        "torch-mlir would make them tensor arguments; the capture fixes them, and each call "
        "checks them",
    ),
)


def every_repair() -> list[ListedRepair]:
    """Lists all repairs, by kind."""
    decompositions = [
        ListedRepair(d.name, "decomposition", d.operator, d.stage, d.reason) for d in DECOMPOSITIONS
    ]
    rewrites = [ListedRepair(r.name, "rewrite", r.mends, r.stage, r.reason) for r in REPAIRS]
    return [*decompositions, *rewrites, *_IMPORT_FORMS]
