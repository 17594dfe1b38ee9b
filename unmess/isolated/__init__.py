"""Checks models in worker processes, so that a crash in native code affects one row only."""

from unmess.isolated.checking import check_isolated
from unmess.isolated.libraries import CORPUS, libraries_of, rehearsals_of, shared_parent
from unmess.isolated.options import Options
from unmess.isolated.together import check_together

__all__ = [
    "CORPUS",
    "Options",
    "check_isolated",
    "check_together",
    "libraries_of",
    "rehearsals_of",
    "shared_parent",
]
