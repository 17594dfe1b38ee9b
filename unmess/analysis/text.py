"""Formats an analysis as tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from unmess.analysis.numbers import count, percent, rank, ratio, size
from unmess.core.errors.model_sources import source_text

if TYPE_CHECKING:
    from pipelines.analysis.analysis import Analysis
    from pipelines.analysis.bodies import BodyGroup, Form
    from pipelines.analysis.cost import Cost
    from pipelines.analysis.entries import Entry, Share
    from pipelines.analysis.liveness import Memory

_COST = ("FLOPs", "", "transc.", "integer", "bytes", "FLOP/B")


def blocks(analysis: Analysis, top: int | None, verbose: bool) -> Iterator[str | Table]:
    """Yields the parts of the text, in order.

    Args:
        top: the number of rows of each table, the most expensive first; None for all.
        verbose: whether to show every form in which a body is applied, with its indexing maps.
    """
    yield f"{analysis.name} at {analysis.stage}"
    yield _operations(analysis, top)
    if analysis.bodies:
        yield _bodies(analysis.bodies, top, verbose)
    for entry in analysis.entries:
        yield from _entry(analysis, entry, top)


def headline(entry: Entry) -> str:
    """Returns the cost of one call, in a line."""
    total = entry.total
    parts = [f"{count(total.flops, 'FLOP') or '0 FLOP'}"]
    if total.transcendentals != 0:
        parts.append(f"{count(total.transcendentals)} transcendental functions")
    if total.integers != 0:
        parts.append(f"{count(total.integers)} integer operations")
    parts.append(f"{size(total.read) or '0 B'} read, {size(total.written) or '0 B'} written")
    if total.intensity is not None:
        parts.append(f"{ratio(total.intensity) or 0} FLOP/B")
    return "; ".join(parts)


def memory_line(memory: Memory) -> str:
    """Returns the memory of one call, in a line."""
    parts = [
        f"{label} {size(number)}"
        for label, number in (
            ("inputs", memory.inputs),
            ("weights", memory.weights),
            ("constants", memory.constants),
            ("results", memory.results),
        )
        if number != 0
    ]
    peak = "depends on unknown sizes" if memory.peak is None else size(memory.peak) or "0 B"
    return ", ".join([*parts, f"peak of temporaries {peak}"])


def short_line(line: str | None) -> str:
    """Returns `file:line` with only the last folder of its path."""
    return "" if line is None else "/".join(line.split("/")[-2:])


def loops(form: Form) -> str:
    """Returns the kinds of loops: `4 parallel`, `2 parallel, 1 reduction`."""
    kinds = ("parallel", "reduction")
    parts = [f"{form.iterators.count(kind)} {kind}" for kind in kinds if kind in form.iterators]
    return ", ".join(parts) or "none"


def costly(shares: Sequence[Share]) -> list[Share]:
    """Sorts shares by cost, the highest first: by arithmetic on floats and integers, then bytes."""
    return sorted(
        shares,
        key=lambda share: (
            rank(share.cost.flops) + rank(share.cost.integers),
            rank(share.cost.bytes),
            share.operations,
        ),
        reverse=True,
    )


def _entry(analysis: Analysis, entry: Entry, top: int | None) -> Iterator[str | Table]:
    several = len(analysis.entries) > 1
    where = f"{entry.name}: " if several else ""
    if entry.memory is not None:
        yield f"{where}one call: {headline(entry)}"
        for name, origin in entry.symbols.items():
            value = entry.values.get(name)
            known = f"= {value}" if value is not None else f"is unknown: pass --size {name}=N"
            yield f"  size {name} {known} ({origin})"
        if entry.formula is not None and not entry.unknown:
            yield f"  FLOPs at any size: {count(entry.formula.flops) or 0}"
        yield f"{where}memory: {memory_line(entry.memory)}"
        yield _kinds(entry, where)
    yield _layers(entry, where, top)
    yield _lines(entry, where, top)
    if entry.memory is not None and entry.memory.held:
        yield _held(entry, where, top)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in columns:
        number = column not in ("dialect", "operation", "kind", "layer", "class", "line", "source")
        if column in ("body", "loops", "elements", "maps"):
            number = False
        table.add_column(column, justify="right" if number else "left", overflow="fold")
    return table


def _cut(table: Table, rows: Sequence[Sequence[str]], top: int | None) -> Table:
    for row in rows[:top]:
        table.add_row(*map(escape, row))
    if top is not None and len(rows) > top:
        table.caption = f"{len(rows) - top} more; pass --top 0 to show all"
        table.caption_justify = "left"
    return table


def _operations(analysis: Analysis, top: int | None) -> Table:
    table = _table("Operations", "dialect", "operation", "count", "in bodies")
    rows = [
        (
            each.dialect,
            each.name.removeprefix(f"{each.dialect}."),
            str(each.count or ""),
            str(each.in_bodies or ""),
        )
        for each in analysis.operations
    ]
    return _cut(table, rows, top)


def _bodies(bodies: Sequence[BodyGroup], top: int | None, verbose: bool) -> Table:
    columns = ("count", "operation", "loops", "elements", *(["maps"] if verbose else []), "body")
    table = _table("Distinct bodies of linalg operations", *columns)
    rows = []
    for group in bodies:
        forms = list(group.forms.items())
        body = str(group.body)
        if not verbose:
            names = ", ".join(name.removeprefix("linalg.") for name in group.operations)
            more = f" and {len(forms) - 1} other forms" if len(forms) > 1 else ""
            first = forms[0][0]
            rows.append((str(group.count), names, f"{loops(first)}{more}", _elements(first), body))
            continue
        for index, (form, number) in enumerate(forms):
            maps = "\n".join(form.maps)
            name = form.operation.removeprefix("linalg.")
            shown = body if index == 0 else "(the same)"
            rows.append((str(number), name, loops(form), _elements(form), maps, shown))
    return _cut(table, rows, top)


def _elements(form: Form) -> str:
    return ", ".join(dict.fromkeys(form.elements))


def _kinds(entry: Entry, where: str) -> Table:
    table = _table(f"{where}By kind of operation", "kind", "operations", *_COST)
    rows = [
        (share.name, str(share.operations), *_cost(share.cost, entry.total))
        for share in costly(entry.kinds)
    ]
    return _cut(table, rows, None)


def _cost(cost: Cost, total: Cost) -> tuple[str, ...]:
    return (
        count(cost.flops),
        percent(cost.flops, total.flops),
        count(cost.transcendentals),
        count(cost.integers),
        size(cost.bytes),
        ratio(cost.intensity),
    )


def _layers(entry: Entry, where: str, top: int | None) -> Table:
    costs = _COST if entry.memory is not None else ()
    columns = ("layer", "class", "operations", *costs, "parameters", "weights")
    table = _table(f"{where}Layers", *columns)
    rows = [
        (
            layer_name(share),
            share.type,
            str(share.operations or ""),
            *(_cost(share.cost, entry.total) if costs else ()),
            count(share.parameters),
            size(share.weight_bytes),
        )
        for share in costly(entry.layers)
    ]
    return _cut(table, rows, top)


def layer_name(share: Share) -> str:
    """Returns a layer's path, or its source line; the model itself has no path."""
    if share.name is None:
        return "(unknown)"
    if share.name == "":
        return "(the model itself)"
    return share.name if share.type else short_line(share.name)


def _lines(entry: Entry, where: str, top: int | None) -> Table:
    costs = _COST if entry.memory is not None else ()
    table = _table(f"{where}Source lines", "line", "operations", *costs, "source")
    rows = [
        (
            short_line(share.name) or "(unknown)",
            str(share.operations),
            *(_cost(share.cost, entry.total) if costs else ()),
            source_text(share.name),
        )
        for share in costly(entry.lines)
    ]
    return _cut(table, rows, top)


def _held(entry: Entry, where: str, top: int | None) -> Table:
    table = _table(f"{where}Live at the peak", "bytes", "operation", "layer", "line")
    made = entry.by_position
    rows = []
    for held in entry.memory.held:
        maker = made.get(held.operation)
        layer = maker.layer.path if maker and maker.layer else ""
        line = short_line(maker.line) if maker else ""
        rows.append((size(held.bytes), maker.name if maker else "", layer, line))
    return _cut(table, rows, top)
