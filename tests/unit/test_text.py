"""Tests where stop strings end a text that arrives in pieces."""

import pytest

from unmess.text import until


@pytest.mark.parametrize(
    "pieces, stop, expected",
    [
        (["one ", "two"], [], ["one ", "two"]),
        (["one ", "two"], ["two"], ["one "]),
        # The stop string is spread over pieces.
        (["a", "b\nUs", "er", ": c"], ["\nUser:"], ["a", "b"]),
        # The text only looks like the beginning of the stop string.
        (["a\nU", "s a", "\n"], ["\nUser:"], ["a", "\nUs a", "\n"]),
        # The earliest position in the text counts, not the order of the stop strings.
        (["abcd"], ["d", "bc"], ["a"]),
        (["aab"], ["ab"], ["a"]),
        (["ab"], ["ab"], []),
    ],
)
def test_until(pieces, stop, expected):
    assert list(until(pieces, stop)) == expected


def test_no_piece_is_read_after_a_stop_string():
    pieces = iter(["a", "stop", "b"])
    assert list(until(pieces, ["stop"])) == ["a"]
    assert list(pieces) == ["b"]
