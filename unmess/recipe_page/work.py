"""Captures a model, and lowers it to each stage. This is the code that runs in the worker.

The process that waits imports this file, too, so the libraries are imported when the work begins.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unmess.core.errors.failure import as_error
from unmess.core.errors.model_sources import source_text
from unmess.core.errors.quiet import quiet_libraries, show_pytorch_messages
from unmess.core.processes.current_stage import current_stage, listening
from unmess.isolated import Options
from unmess.recipe_page.facts import EntryCost, ProgramFacts, StageFacts, Tensors

if TYPE_CHECKING:
    import torch

    from pipelines.analysis.entries import Entry
    from unmess.core.module.module import Module
    from unmess.core.program.program import Program
    from unmess.core.program.programs import Programs


@dataclass(frozen=True)
class Begun:
    """Reports that a stage begins."""

    stage: str


def describe(
    send: Callable[[Any], None], model: str, options: Options, stages: Sequence[str]
) -> None:
    """Captures a model and lowers it to each of `stages`.

    Sends a `Begun` for each stage that begins; the ProgramFacts, or the Error of the capture; and
    then one StageFacts for each of `stages`.
    """
    if options.verbose or options.debug:
        show_pytorch_messages()
    else:
        quiet_libraries()
    with listening(lambda stage: send(Begun(stage))):
        try:
            from unmess.captured import captured

            program = captured(model, **options.of_capture())
            facts = _program_facts(program)
        except KeyboardInterrupt:
            raise
        except BaseException as problem:
            send(as_error(problem, current_stage()))
            return
        send(facts)
        for stage in stages:
            send(_stage_facts(program, stage))


def _program_facts(program: Program | Programs) -> ProgramFacts:
    import torch

    from importers.captured_program import is_captured
    from unmess.describe import call

    weights = list(program.weights.values())
    parameters = [each for each in weights if isinstance(each, torch.nn.Parameter)]
    others = [each for each in weights if not isinstance(each, torch.nn.Parameter)]
    return ProgramFacts(
        name=program.name,
        strategy=program.strategy,
        seconds=program.seconds.get("capture"),
        entries={name: call(one.signature) for name, one in program.entries.items()},
        parameters=_tensors(parameters),
        other_tensors=_tensors(others),
        notes=program.notes,
        is_captured=is_captured(program),
    )


def _tensors(tensors: Sequence[torch.Tensor]) -> Tensors:
    elements = [each.numel() for each in tensors]
    sizes = [each.numel() * each.element_size() for each in tensors]
    return Tensors(len(tensors), sum(elements), sum(sizes))


def _stage_facts(program: Program | Programs, stage: str) -> StageFacts:
    import unmess

    start = time.perf_counter()
    try:
        module = unmess.lower(program, to=stage)
        seconds = time.perf_counter() - start
        analysis = unmess.analyze(module)
        operations: dict[str, int] = {}
        for each in analysis.operations:
            number = each.count + each.in_bodies
            operations[each.dialect] = operations.get(each.dialect, 0) + number
        return StageFacts(
            stage,
            seconds=seconds,
            operations=dict(sorted(operations.items(), key=lambda item: -item[1])),
            excerpt=_excerpt(module),
            costs=tuple(_cost(entry) for entry in analysis.entries if entry.memory is not None),
        )
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        error = as_error(problem, current_stage())
        return StageFacts(stage, error, source=source_text(error.where) or None)


def _excerpt(module: Module) -> str:
    return excerpt(module.text(), module.entry)


def _cost(entry: Entry) -> EntryCost:
    from unmess.analysis.numbers import count
    from unmess.analysis.text import headline, memory_line

    flops = entry.total.flops
    formula = entry.formula
    return EntryCost(
        entry.name,
        flops if isinstance(flops, int) else str(flops),
        headline(entry),
        memory_line(entry.memory),
        None if formula is None else count(formula.flops, "FLOP") or "0 FLOP",
    )


_LINES = 12
_WIDTH = 160
# Literals with more characters are left out.
_LITERAL = re.compile(r"dense<(?:\"[^\"]{17,}\"|[^<>\"]{33,})>")
_CONSTANT = re.compile(
    r"\s*%\S+ = \"?(?:(?:arith|torch|stablehlo)\.constant|tosa\.const|torch\.vtensor\.literal)"
)


def excerpt(ir: str, entry: str, lines: int = _LINES, width: int = _WIDTH) -> str:
    """Returns the first lines of a function.

    Args:
        ir: the text of a module.
        entry: the name of the function.
        lines: the number of lines after the first one, which has the arguments. Lines that only
            define a constant are left out.
        width: longer lines are cut.
    """
    start = re.compile(rf"\s*func\.func (?:public )?@\"?{re.escape(entry)}\"?\(")
    found = ir.splitlines()
    first = next((at for at, line in enumerate(found) if start.match(line)), 0)
    indent = len(found[first]) - len(found[first].lstrip()) if found else 0
    body = found[first:]
    end = next((at for at, line in enumerate(body) if line == " " * indent + "}"), len(body))
    function = [line for line in body[: end + 1] if not _CONSTANT.match(line)]
    shown = [_cut(line[indent:], width) for line in function[: lines + 1]]
    if len(function) > len(shown):
        shown.append("  …")
    return "\n".join(shown)


def _cut(line: str, width: int) -> str:
    line = _LITERAL.sub("dense<…>", line).rstrip()
    return line if len(line) <= width else f"{line[: width - 1]}…"
