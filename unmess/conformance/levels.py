"""The cases of all levels, cheap ones first."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

from unmess.core.errors.error import Error

LEVELS = {
    1: "single operators",
    2: "random programs",
    3: "small models, one for each family of recipes",
    4: "whole models",
}
# Random programs of each family.
PROGRAMS = 20
# Tiny networks with random weights.
SMALL = (
    *("hf:bert", "hf:gpt2", "hf:llama", "hf:t5", "hf:vit", "hf:clip", "hf:whisper", "hf:mamba"),
    *("hf:mixtral", "hf:wav2vec2", "hf:resnet", "hf:detr"),
)
WHOLE = (
    *("torchvision:squeezenet1_1", "torchvision:mobilenet_v3_small", "torchvision:resnet18"),
    *("torchvision:shufflenet_v2_x1_0", "torchvision:efficientnet_b0", "torchvision:densenet121"),
    *("torchvision:vit_b_16", "torchvision:swin_t", "torchvision:convnext_tiny"),
    *("torchvision:vgg11", "torchvision:resnet50"),
)


@dataclass(frozen=True)
class ConformanceCase:
    """A case of a level.

    Attributes:
        name, level, category, dtype, dynamic: as in `Result`.
        content: the operator's `Case`, the text of a random program, or a model string.
    """

    name: str
    level: int
    category: str
    dtype: str
    dynamic: bool
    content: Any


def cases_of(level: int) -> list[ConformanceCase]:
    """Returns the cases of a level.

    Raises:
        Error: stage `usage`; level 2 needs hypothesis, which is not installed.
    """
    if level == 1:
        return _operators()
    if level == 2:
        return _programs()
    names = SMALL if level == 3 else WHOLE
    return [ConformanceCase(name, level, name.partition(":")[0], "", False, name) for name in names]


def case_names() -> set[str]:
    """Returns the names of all cases, without drawing the random programs.

    Without hypothesis, the random programs are left out.
    """
    from unmess.conformance.operators import CASES

    names = {*map(str, CASES), *SMALL, *WHOLE}
    if _has_hypothesis():
        from unmess.conformance.programs.families import FAMILIES

        names |= {_program_name(family, n) for family in FAMILIES for n in range(PROGRAMS)}
    return names


def _operators() -> list[ConformanceCase]:
    from unmess.conformance.operators import CASES

    found = []
    for case in CASES:
        specs = case.specs
        dtype = specs[0].text.partition("[")[0] if specs else ""
        dynamic = any(spec.dynamic for spec in specs)
        found.append(ConformanceCase(str(case), 1, case.category, dtype, dynamic, case))
    return found


def _programs() -> list[ConformanceCase]:
    if not _has_hypothesis():
        raise Error(
            "usage",
            "random programs need hypothesis, which is not installed",
            hint="pip install 'unmess[conformance]' (the locked environment has it)",
        )
    from unmess.conformance.programs.drawing import drawn

    return [
        ConformanceCase(_program_name(family, number), 2, family, "", False, program)
        for family, programs in drawn(PROGRAMS).items()
        for number, program in enumerate(programs)
    ]


def _program_name(family: str, number: int) -> str:
    return f"program {family} {number}"


def _has_hypothesis() -> bool:
    # hypothesis is an optional dependency.
    return importlib.util.find_spec("hypothesis") is not None
