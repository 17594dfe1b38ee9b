"""Paths to leaves, also in classes that PyTorch flattens only if their parts are tensors."""

import pytest
import torch
from torch.utils import _pytree as pytree

from importers.capture.call_inputs import leaf_paths
from unmess.core.signature.paths import leaves_with_path, paths_of


class Layers:
    """A container that flattens to its tensors only, like a key-value cache of transformers."""

    def __init__(self, *layers):
        self.layers = layers


@pytest.fixture(autouse=True)
def registered():
    def flatten(value):
        return [layer for layer in value.layers if isinstance(layer, torch.Tensor)], None

    pytree.register_pytree_node(Layers, flatten, lambda parts, _context: Layers(*parts))
    yield
    pytree._deregister_pytree_node(Layers)


def test_paths_of_a_structure_are_those_of_its_leaves():
    x = torch.ones(2)
    tree = {"cache": Layers(x, x), "rest": [x, (x,)]}
    paths = [pytree.keystr(path) for path in paths_of(pytree.tree_structure(tree))]
    assert paths == ["['cache'][0]", "['cache'][1]", "['rest'][0]", "['rest'][1][0]"]
    assert [pytree.keystr(path) for path, _ in leaves_with_path(tree)] == paths


def test_paths_of_a_call_begin_with_the_parameter():
    def function(x, *more, cache, **options):
        pass

    x = torch.ones(2)
    call = (x, [x], x), {"scale": (x, x), "cache": Layers(x, x)}
    assert leaf_paths(function, pytree.tree_structure(call)) == [
        *("x", "more[0][0]", "more[1]", "options['scale'][0]", "options['scale'][1]"),
        *("cache[0]", "cache[1]"),
    ]
