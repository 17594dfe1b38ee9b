import collections

import torch

from unmess.core.errors.user_source import is_users, location_line, node_line, user_line


def test_pytorch_and_the_standard_library_are_not_user_code():
    assert is_users(__file__)
    assert not is_users(torch.nn.modules.conv.__file__)
    assert not is_users(collections.__file__)
    assert not is_users("<frozen importlib>")


def test_innermost_user_frame_of_an_exception():
    def inner():
        return torch.ones(2) + torch.ones(3)

    try:
        inner()
    except RuntimeError as problem:
        line = inner.__code__.co_firstlineno + 1
        assert user_line(problem) == f"{__file__}:{line}"


def test_the_cause_gives_the_line_if_the_exception_has_none():
    cause = RuntimeError("inner")
    try:
        raise cause
    except RuntimeError:
        outer = ValueError("outer")
        outer.__cause__ = cause
    assert user_line(outer).startswith(f"{__file__}:")
    assert user_line(ValueError("never raised")) is None


def test_innermost_user_frame_of_an_mlir_location():
    conv = torch.nn.modules.conv.__file__
    text = (
        f'loc(callsite("{conv}":565:0 at callsite("/home/me/net.py":7:0 at "/home/me/a.py":1:0)))'
    )
    assert location_line(text) == "/home/me/net.py:7"
    assert location_line("loc(unknown)") is None


def test_innermost_user_frame_of_a_graph_node():
    node = torch.fx.Graph().placeholder("x")
    assert node_line(node) is None
    node.meta["stack_trace"] = 'File "/me/a.py", line 3, in f\n  File "/me/b.py", line 4, in g'
    assert node_line(node) == "/me/b.py:4"
