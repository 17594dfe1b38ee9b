"""A partition as plain data, for JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import torch

from unmess.partition.levels import is_operator
from unmess.partition.partitioned import OutsideOperator, PartitionedGraph, Region
from unmess.partition.suspects import operator_name


def document(partitions: Mapping[str, PartitionedGraph], runner: str) -> dict[str, Any]:
    """Returns the regions of each entry point and the operators outside, as plain data.

    Calls of an operator on the same source line, for the same reason, are one object.
    """
    return {
        "runner": runner,
        "entries": {
            name: {
                "compiled_share": each.compiled_share,
                "flops": each.flops,
                "regions": [_region(region, each.flops) for region in each.regions],
                "outside": outside_rows(each),
                "warnings": list(each.warnings),
            }
            for name, each in partitions.items()
        },
    }


def outside_rows(partition: PartitionedGraph) -> list[dict[str, Any]]:
    """Returns the operators outside of regions, equal ones once, with the number of calls."""
    groups: dict[tuple, list[OutsideOperator]] = {}
    for each in partition.outside:
        groups.setdefault((each.operator, each.where, each.reason), []).append(each)
    return [
        {
            "operator": operator,
            "count": len(group),
            "flops": sum(each.flops for each in group),
            "where": where,
            "reason": reason,
        }
        for (operator, where, reason), group in groups.items()
    ]


def _region(region: Region, total: int) -> dict[str, Any]:
    names = Counter(operator_name(node) for node in region.nodes if is_operator(node))
    return {
        "name": region.name,
        "operators": region.operators,
        "flops": region.flops,
        "share": region.flops / total if total else 1.0,
        "by_operator": dict(names.most_common()),
        "inputs": [_value(node) for node in region.inputs],
        "outputs": [_value(node) for node in region.outputs],
    }


def _value(node: torch.fx.Node) -> dict[str, Any]:
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return {"name": node.name, "type": type(value).__name__, "shape": None}
    shape = [size if isinstance(size, int) else str(size) for size in value.shape]
    dtype = str(value.dtype).removeprefix("torch.")
    return {"name": node.name, "type": dtype, "shape": shape}
