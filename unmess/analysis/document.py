"""Converts an analysis to plain data for a JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipelines.analysis.analysis import Analysis
    from pipelines.analysis.bodies import BodyGroup
    from pipelines.analysis.cost import Cost
    from pipelines.analysis.entries import Entry, OperationCost, Share
    from pipelines.analysis.liveness import Memory
    from pipelines.analysis.sizes import Size


def document(analysis: Analysis) -> dict[str, Any]:
    """Returns the whole analysis. Numbers that depend on unknown sizes are expression strings."""
    return {
        "model": analysis.name,
        "stage": analysis.stage,
        "operations": [asdict(each) for each in analysis.operations],
        "bodies": [_body(group) for group in analysis.bodies],
        "entries": [_entry(entry) for entry in analysis.entries],
    }


def _body(group: BodyGroup) -> dict[str, Any]:
    return {
        "expression": str(group.body),
        "count": group.count,
        "operations": group.operations,
        "nodes": [asdict(node) for node in group.body.nodes],
        "forms": [{**asdict(form), "count": count} for form, count in group.forms.items()],
    }


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "symbols": entry.symbols,
        "sizes": entry.values,
        "unknown": list(entry.unknown),
        "total": _cost(entry.total),
        "formula": None if entry.formula is None else _cost(entry.formula),
        "kinds": _shares(entry.kinds),
        "layers": _shares(entry.layers),
        "lines": _shares(entry.lines),
        "weights": [
            {**asdict(each), "elements": _plain(each.elements), "bytes": _plain(each.bytes)}
            for each in entry.weights
        ],
        "operations": [_operation(each) for each in entry.operations],
        "memory": None if entry.memory is None else _memory(entry.memory),
    }


def _operation(operation: OperationCost) -> dict[str, Any]:
    return {
        "position": operation.position,
        "name": operation.name,
        "kind": operation.kind,
        "type": operation.type,
        "layer": None if operation.layer is None else operation.layer.path,
        "line": operation.line,
        "times": _plain(operation.times),
        **_cost(operation.cost),
    }


def _shares(shares: Sequence[Share]) -> list[dict[str, Any]]:
    return [
        {
            "name": share.name,
            "type": share.type,
            "operations": share.operations,
            "parameters": _plain(share.parameters),
            "weight_bytes": _plain(share.weight_bytes),
            **_cost(share.cost),
        }
        for share in shares
    ]


def _cost(cost: Cost) -> dict[str, Any]:
    return {
        "flops": _plain(cost.flops),
        "transcendentals": _plain(cost.transcendentals),
        "integers": _plain(cost.integers),
        "bytes_read": _plain(cost.read),
        "bytes_written": _plain(cost.written),
        "intensity": cost.intensity,
    }


def _memory(memory: Memory) -> dict[str, Any]:
    return {
        "inputs": _plain(memory.inputs),
        "weights": _plain(memory.weights),
        "constants": _plain(memory.constants),
        "results": _plain(memory.results),
        "peak_temporaries": memory.peak,
        "peak_operation": memory.at,
        "live_at_peak": [asdict(each) for each in memory.held],
        "moments": [[each.operation, _plain(each.bytes)] for each in memory.moments],
    }


def _plain(size: Size) -> int | str:
    return size if isinstance(size, int) else str(size)
