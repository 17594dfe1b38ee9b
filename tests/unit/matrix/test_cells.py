"""Patterns of models, output dialects and shards."""

import pytest

from importers.recipes import list_recipes
from unmess.core.errors.error import Error
from unmess.matrix.cells import Cell, Shard, dialects_of, matching_models, parse_shard

RECIPES = [recipe.model for recipe in list_recipes()]


def test_without_a_pattern_all_recipes_match():
    assert matching_models(()) == RECIPES


def test_patterns_match_recipes_and_keep_their_order():
    found = matching_models(["torchvision:vgg1?", "hf:*bert", "torchvision:vgg11"])
    assert found[0] == "torchvision:vgg11" and found.count("torchvision:vgg11") == 1
    assert "hf:bert" in found and "hf:gpt2" not in found
    assert matching_models(["hf:*"]) == [name for name in RECIPES if name.startswith("hf:")]


def test_other_model_strings_are_models(tmp_path):
    file = tmp_path / "net[1].py"
    file.write_text("")
    assert matching_models([f"{file}:net", "hf:llama#generate"]) == [
        f"{file}:net",
        "hf:llama#generate",
    ]


@pytest.mark.parametrize(
    ("pattern", "stage", "cause"),
    [
        ("tf:*", "usage", "no recipe matches 'tf:*'"),
        ("hf:berd", "source", "has no model type 'berd'"),
        ("/nowhere/net.py:model", "source", "/nowhere/net.py"),
    ],
)
def test_a_pattern_without_a_model_is_an_error(pattern, stage, cause):
    with pytest.raises(Error) as raised:
        matching_models(["hf:bert", pattern])
    assert raised.value.stage == stage and cause in raised.value.cause


@pytest.mark.parametrize("count", [1, 2, 3, 7, 1000])
def test_the_shards_together_have_each_model_once(count):
    shards = [parse_shard(f"{index}/{count}").of(RECIPES) for index in range(1, count + 1)]
    assert sorted(model for shard in shards for model in shard) == sorted(RECIPES)
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/0", "a/b", "-1/2", "1/2/3", ""])
def test_a_wrong_shard_is_a_usage_error(text):
    with pytest.raises(Error, match="is not of the form I/N"):
        parse_shard(text)
    assert parse_shard("2/3") == Shard(2, 3)


def test_dialects_have_a_default():
    assert dialects_of(["tosa", "default", "tosa"]) == ["tosa", None]
    with pytest.raises(Error, match="unknown output dialect 'tossa'"):
        dialects_of(["tossa"])


def test_a_cell_has_a_command_that_repeats_it():
    cell = Cell("my net.py:f", "iree-cpu", "tosa")
    assert cell.command == "unmess check 'my net.py:f' --on iree-cpu --via tosa"
    assert cell.column == "iree-cpu via tosa"
    assert Cell("m.py", "reference", None).command == "unmess check m.py --on reference"
