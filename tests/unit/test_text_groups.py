"""Tests the rows of a batch, and where each text of a group ends."""

from unmess.text import Statistics, TextCounts, until
from unmess.text_groups import chunk_size, left_padded, right_padded, tokens_of_each

END = 9


def together(steps, count):
    counts = [TextCounts(1) for _ in range(count)]
    return tokens_of_each(steps, counts, {END}), counts


def test_prompts_of_a_decoder_are_padded_on_the_left():
    assert left_padded([[1, 2, 3], [4]], 2) == ([[1, 2, 3], [0, 0, 4]], [0, 2])
    assert left_padded([[1], [2]], 3) == ([[1], [2], [0]], [0, 0, 0])


def test_prompts_of_an_encoder_are_padded_on_the_right():
    ids, masks = right_padded([[1, 2, 3], [4]], 3)
    assert ids == [[1, 2, 3], [4, 0, 0], [0, 0, 0]]
    assert masks == [[1, 1, 1], [1, 0, 0], [1, 0, 0]]
    # The entry point `encode` takes at least two tokens.
    assert right_padded([[5]], 1) == ([[5, 0]], [[1, 0]])


def test_size_of_chunks():
    both = ("prefill", "decode")
    assert chunk_size(both, ("cache_length", "cache_keys_0"), 256, 1000) == 256
    # One call for a model that computes the whole text in each call.
    assert chunk_size(both, ("cache_length", "cache_tokens"), 256, 1000) == 1000
    assert chunk_size(("decode",), ("cache_length", "cache_conv_0"), 256, 1000) == 1


def test_each_text_ends_on_its_own():
    steps = [[1, 2, 3], [4, END, 5], [END, END, 6], [END, END, 7]]
    texts, counts = together(steps, 3)
    assert [list(text) for text in texts] == [[1, 4, END], [2, END], [3, 5, 6, 7]]
    assert [count.new_tokens for count in counts] == [3, 2, 4]


def test_no_step_is_read_after_all_texts_have_ended():
    steps = iter([[1, 2], [END, 3], [END, END], [END, END]])
    (one, two), _ = together(steps, 2)
    assert list(one) == [1, END]
    assert list(two) == [2, 3, END]
    assert list(steps) == [[END, END]]


def test_texts_may_be_read_in_any_order():
    (one, two), _ = together([[1, 2], [3, 4], [END, 5]], 2)
    assert [next(two), next(one), next(two)] == [2, 1, 4]
    assert (list(one), list(two)) == ([3, END], [5])


def test_a_stop_string_ends_one_text():
    (one, two), counts = together([["a", "x"], ["b", "y"], ["c", "z"]], 2)
    assert list(until(one, ["b"])) == ["a"]
    assert list(until(two, ["b"])) == ["x", "y", "z"]
    assert [count.new_tokens for count in counts] == [2, 3]


def test_speed_counts_the_tokens_after_the_first_of_each_text():
    statistics = Statistics([TextCounts(3, 5), TextCounts(1, 2), TextCounts(2)], 7.0, 2.0)
    assert (statistics.prompt_tokens, statistics.new_tokens) == (6, 7)
    assert statistics.tokens_per_second == 2.5
    assert Statistics([TextCounts(3, 1)], 1.0).tokens_per_second is None
