"""Parsing of the `--dynamic` option."""

import pytest

import unmess
from unmess.core.options.dynamic_axis import DynamicAxis, parse_dynamic


def parse(*texts):
    return [
        (axis.input, axis.axis, axis.name, axis.factor, axis.min, axis.max)
        for axis in parse_dynamic(texts)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x.1", ("x", 1, None, 1, None, None)),
        ("x.1=seq", ("x", 1, "seq", 1, None, None)),
        ("0.0=batch:2..8", ("0", 0, "batch", 1, 2, 8)),
        ("batch.images.0.2=h:..512", ("batch.images.0", 2, "h", 1, None, 512)),
        ("x.3=32*w:1..", ("x", 3, "w", 32, 1, None)),
        ("*.0=4..64", ("*", 0, None, 1, 4, 64)),
    ],
)
def test_forms(text, expected):
    assert parse(text) == [expected]


def test_several_with_commas_and_repeated():
    assert parse("x.0=b, x.1=s:2..9", "y.0=b") == [
        ("x", 0, "b", 1, None, None),
        ("x", 1, "s", 1, 2, 9),
        ("y", 0, "b", 1, None, None),
    ]
    assert parse_dynamic([]) == ()
    assert parse_dynamic(["x.0"]) == (DynamicAxis("x.0", "x", 0),)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("x", "'x' does not name an input and an axis"),
        ("", "'' does not name an input and an axis"),
        ("x.-1=a", "'x.-1=a' does not name an input and an axis"),
        ("x.a", "'x.a' does not name an input and an axis"),
        ("x.0=", "'x.0=' does not name an input and an axis"),
        ("x.0=two words", "'two words' in 'x.0=two words' is neither a name nor a range"),
        ("x.0=16", "'16' in 'x.0=16' is neither a name nor a range"),
        ("x.0=a*2", "'a*2' in 'x.0=a*2' is neither a name nor a range"),
        ("x.0=seq:", "'seq:' in 'x.0=seq:' is neither a name nor a range"),
        (
            "x.0=seq:8..4",
            "the maximum of the range in 'x.0=seq:8..4' must be greater than its minimum",
        ),
        ("x.0=4..4", "the maximum of the range in 'x.0=4..4' must be greater than its minimum"),
        ("x.0=a,x.0=b", "'x.0=a' and 'x.0=b' are the same dimension"),
        ("x.0=a:1..4,y.0=a:1..5", "'x.0=a:1..4' and 'y.0=a:1..5' give different ranges for a"),
    ],
)
def test_errors_quote_the_invalid_text(text, cause):
    with pytest.raises(unmess.Error) as caught:
        parse_dynamic([text])
    assert caught.value.stage == "usage"
    assert caught.value.cause == cause
    assert "input_ids.1=seq:2..128" in caught.value.hint


def test_all_errors_are_reported_at_once():
    with pytest.raises(unmess.Error, match=r"'x' does not name .*; 'y' does not name"):
        parse_dynamic(["x,y"])
