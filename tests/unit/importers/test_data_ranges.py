"""Ranges from a position that depends on data to a fixed distance from it have a known size."""

import pytest
import torch

import unmess


def positional(position):
    return torch.arange(position, position + 3)


def keywords(position):
    return torch.arange(start=position, end=3 + position, dtype=torch.float32)


def computed(position):
    position = position * 2 - 1
    end = position.add(3)
    return torch.arange(position, end, device=position.device)


def empty(position):
    return torch.arange(position, position + 0)


def program_of(function):
    return unmess.capture(function, (torch.tensor(5),)).exported


@pytest.mark.parametrize("function", [positional, keywords, computed, empty])
def test_fixed_distance(function):
    program = program_of(function)
    (result,) = next(iter(reversed(program.graph.nodes))).args[0]
    count = len(function(torch.tensor(5)))
    assert result.meta["val"].shape == (count,)
    for position in (0, 5, 9):
        position = torch.tensor(position)
        torch.testing.assert_close(program.module()(position), function(position))


def changed(position):
    position = position.clone()
    end = position + 3
    position += 1
    return torch.arange(position, end)


def other_step(position):
    return torch.arange(position, position + 3, 2)


@pytest.mark.parametrize("function", [changed, other_step])
def test_ranges_that_keep_their_form(function):
    program = program_of(function)
    for position in (0, 5, 9):
        position = torch.tensor(position)
        torch.testing.assert_close(program.module()(position), function(position))
