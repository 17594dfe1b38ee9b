"""Programs that are compiled in part: regions on a backend, the rest in eager PyTorch."""

from unmess.partition.options import PartitionOptions
from unmess.partition.partition import partition_graph
from unmess.partition.partitioned import OutsideOperator, PartitionedGraph, Region

__all__ = [
    "OutsideOperator",
    "PartitionOptions",
    "PartitionedGraph",
    "Region",
    "partition_graph",
]
