"""Paths to the leaves of a call or a result, for all classes that PyTorch's pytrees know.

`pytree.tree_flatten_with_path` refuses classes that were registered without names for their parts,
such as the results of diffusers' models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch.utils import _pytree as pytree


def leaves_with_path(tree: Any) -> list[tuple[pytree.KeyPath, Any]]:
    """Returns the path and the value of each leaf, in the order of `pytree.tree_leaves`."""
    parts, spec = pytree.tree_flatten(tree, is_leaf=lambda node: node is not tree)
    if spec.is_leaf():
        return [((), tree)]
    return [
        ((key, *path), leaf)
        for key, part in zip(_keys(tree, spec), parts, strict=True)
        for path, leaf in leaves_with_path(part)
    ]


def paths_of(spec: pytree.TreeSpec) -> list[pytree.KeyPath]:
    """Returns the path of each leaf of a structure, without the leaves."""
    if spec.is_leaf():
        return [()]
    return [
        (key, *path)
        for key, part in zip(keys_of(spec), spec.children(), strict=True)
        for path in paths_of(part)
    ]


def keys_of(spec: pytree.TreeSpec) -> list[pytree.KeyEntry]:
    """Returns the key of each part of a structure, without the parts."""
    try:
        node = pytree.SUPPORTED_NODES[spec.type]
        container = node.unflatten_fn([object() for _ in spec.children()], spec.context)
        keys = _keys(container, spec)
    except Exception:
        # The class may accept only tensors, such as a key-value cache.
        keys = []
    if len(keys) == spec.num_children:
        return keys
    return [pytree.SequenceKey(position) for position in range(spec.num_children)]


def _keys(container: Any, spec: pytree.TreeSpec) -> list[pytree.KeyEntry]:
    """Returns the key of each part of a container: its name if it has one, else its position.

    Args:
        spec: the container's structure.
    """
    count = spec.num_children
    with_keys: Callable | None = pytree.SUPPORTED_NODES[spec.type].flatten_with_keys_fn
    if with_keys is not None:
        return [key for key, _ in with_keys(container)[0]]
    if isinstance(container, Mapping) and len(container) == count:
        return [pytree.MappingKey(name) for name in container]
    return [pytree.SequenceKey(position) for position in range(count)]
