"""Everything that is done to a program so that it can be imported and lowered, in one list."""

from __future__ import annotations

from dataclasses import dataclass

from importers.decompositions import DECOMPOSITIONS
from importers.repairs import REPAIRS


@dataclass(frozen=True)
class Listed:
    """A repair for people.

    Attributes:
        name: as in a program's notes.
        kind: `decomposition` (an operator in terms of others), `rewrite` (of the graph) or `import`
            (a form of its own in the IR).
        mends: the operators or constructs that it is for.
        stage: where a program with them stops, or becomes wrong, without it.
        reason: what is the matter there.
        upstream: address of the issue, or None.
    """

    name: str
    kind: str
    mends: str
    stage: str
    reason: str
    upstream: str | None = None


# What `importers.torch_dialect` does on its own account, where torch-mlir's importer stops.
_IMPORT_FORMS = (
    Listed(
        "non-persistent buffers",
        "import",
        "register_buffer(persistent=False), lifted constants",
        "import",
        "torch-mlir looks buffers up in the state dict only; they are arguments or literals here",
    ),
    Listed(
        "branches",
        "import",
        "torch.cond",
        "import",
        "torch-mlir's importer has no case for it; it becomes torch.prim.If over two functions",
    ),
    Listed(
        "loops",
        "import",
        "while_loop with values from outside",
        "import",
        "torch-mlir counts values that the body does not change among the loop's state",
    ),
    Listed(
        "new state as results",
        "import",
        "buffers and inputs that the model writes",
        "torch",
        "a mutated input stops at torch.copy.to_vtensor; new values are results, named as state",
    ),
    Listed(
        "constant results",
        "import",
        "None, numbers and strings among the results",
        "linalg",
        "they have no type past the torch dialect; the Executable adds them to what it returns",
    ),
    Listed(
        "constant arguments",
        "import",
        "Python bool, int, float, str and None as inputs",
        "import",
        "they would become tensor arguments; the capture fixes them, and a call checks them",
    ),
)


def every_repair() -> list[Listed]:
    """All of them, by kind."""
    decompositions = [
        Listed(d.name, "decomposition", d.operator, d.stage, d.reason, d.upstream)
        for d in DECOMPOSITIONS
    ]
    rewrites = [Listed(r.name, "rewrite", r.mends, r.stage, r.reason, r.upstream) for r in REPAIRS]
    return [*decompositions, *rewrites, *_IMPORT_FORMS]
