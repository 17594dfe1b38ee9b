"""Container structures as JSON: values round-trip, and errors name the part that differs."""

import json

import pytest
from torch.utils import _pytree as pytree

from unmess.core.errors.error import Error
from unmess.core.signature.serialized import tree_of
from unmess.core.signature.tree import flatten, unflatten


@pytest.mark.parametrize(
    "value",
    [
        7,
        (),
        [],
        {},
        (1, [2, (3,)], {"a": 4, "b": [5, {}]}),
        {"z": 1, "a": 2, 3: [4], None: 5},
    ],
)
def test_there_and_back(value):
    leaves, spec = pytree.tree_flatten(value)
    tree = json.loads(json.dumps(tree_of(spec)))
    assert flatten(tree, value, "x") == leaves
    assert unflatten(tree, iter(leaves)) == value


def test_the_order_of_keys_does_not_matter():
    tree = tree_of(pytree.tree_flatten({"z": 1, "a": 2})[1])
    assert flatten(tree, {"a": "A", "z": "Z"}, "x") == ["Z", "A"]


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        ((1, {"a": 2}), r"x is a tuple of 2, expected a tuple of 3"),
        ((1, {"b": 2}, [3]), r"x\[1\] is a dict with the keys \['b'\], expected .* \['a'\]"),
        ((1, {"a": 2}, 3), r"x\[2\] is a int, expected a list of 1"),
    ],
)
def test_errors_name_the_part_that_differs(value, cause):
    tree = tree_of(pytree.tree_flatten((1, {"a": 2}, [3]))[1])
    with pytest.raises(Error, match=cause):
        flatten(tree, value, "x")


def test_outputs_of_transformers_are_dicts():
    from transformers.modeling_outputs import BaseModelOutputWithPast

    leaves, spec = pytree.tree_flatten(BaseModelOutputWithPast(last_hidden_state=1.0))
    assert unflatten(tree_of(spec), iter(leaves)) == {"last_hidden_state": 1.0}
