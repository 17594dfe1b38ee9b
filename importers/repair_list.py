"""The list of repairs and decompositions, recorded so that showing it does not import PyTorch.

`./pixiw run repair-list` writes `repair_list.yaml` from the code.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

from unmess.core.files.writing import write_text

FILE = Path(__file__).with_name("repair_list.yaml")
_HEADER = """\
# What `unmess repairs` prints. `./pixiw run repair-list` writes this file; a test compares it with
# the code.
"""


@dataclass(frozen=True)
class ListedRepair:
    """A repair, as `unmess repairs` prints it.

    Attributes:
        name: the name, as in a program's notes.
        kind: `decomposition` (of an operator), `rewrite` (of the graph) or `import` (a custom
            import into the IR).
        mends: the operators or constructs that it applies to.
        stage: the stage at which a program with them fails, or becomes wrong, without the repair.
        reason: why it fails or becomes wrong.
    """

    name: str
    kind: str
    mends: str
    stage: str
    reason: str


def recorded_repairs(path: Path = FILE) -> list[ListedRepair]:
    """Reads the recorded list, in the order of the code."""
    entries = yaml.load(path.read_text(), yaml.CSafeLoader)
    return [ListedRepair(**entry) for entry in entries]


def record_repairs(repairs: Iterable[ListedRepair], path: Path = FILE) -> None:
    """Writes the recorded list."""
    entries = [asdict(repair) for repair in repairs]
    write_text(path, _HEADER + yaml.safe_dump(entries, sort_keys=False, width=100))
