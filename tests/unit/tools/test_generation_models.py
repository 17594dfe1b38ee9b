"""Tests how generated texts are compared with those of transformers, and the table of them."""

import math

import pytest
import torch

from tools import generation_models as tool
from unmess.generation import Generator
from unmess.generation_check import GenerationCheck, Text, compare

VOCABULARY = 8
PROMPT = torch.tensor([[1, 2, 3]])


class Run:
    """An Executable with given logits, one row for each call."""

    def __init__(self, logits):
        self.state, self.signatures = {}, ("prefill", "decode")
        self.rows = iter(logits)

    def prefill(self, _ids):
        return next(self.rows)[None]

    decode = prefill


def text(tokens, best=1.0):
    logits = torch.zeros(len(tokens), VOCABULARY)
    logits[torch.arange(len(tokens)), tokens] = best
    return Text(tokens, logits)


def compared(ours, theirs, end=()):
    check = GenerationCheck("hf:a", "A", has_reference=True)
    generator = Generator(Run(ours.logits), None, frozenset(end), max_length=32)
    compare(generator, [PROMPT], [theirs], check)
    return check


def test_equal_texts_are_right():
    tokens = [4, 5, 4, 4, 4, 5, 6, 7, 1, 2, 3, 3]
    check = compared(text(tokens), text(tokens, 1.0001))
    assert (check.ok, check.stage, check.error) == (True, "done", None)
    assert check.max_rel_error == pytest.approx(1e-4, rel=0.1)


@pytest.mark.parametrize(
    "tokens, best, cause",
    [
        ([4, 5, 0], 0.9, "equal tokens, but the logits differ by 1e-01"),
        ([4, 5, 0], torch.tensor([1, 1, math.nan]), "equal tokens, but the logits differ by nan"),
        ([4, 6, 0], 0.9, "token 2 differs; the logits differ by 1e+00, and transformers' two"),
        ([4, 5, 1, 0], 0.9, "token 3 differs"),
        ([4, 5], 0.9, "3 tokens instead of 2"),
    ],
)
def test_different_texts(tokens, best, cause):
    check = compared(text([4, 5, 0]), text(tokens, best), end=[0])
    assert (check.ok, check.stage) == (False, "compare")
    assert cause in check.error and "prompt of 3 tokens" in check.error


def test_page_counts_types():
    right = {"ok": True, "stage": "done", "max_rel_error": 1e-6, "has_reference": True}
    checks = {
        each.model: each
        for each in (
            GenerationCheck("hf:a", "A", **right),
            GenerationCheck("hf:b", "B", **right, notes=["B computes other logits"]),
            GenerationCheck("hf:c", "C", stage="compare", error="token 1", has_reference=True),
            GenerationCheck("hf:d", "D", stage="source", error="no cache", has_reference=True),
            GenerationCheck("hf:e", "E", stage="eager", error="ValueError: x"),
            GenerationCheck("hf:f", "F", stage="source", error="requires timm"),
        )
    }
    page = tool.page([*checks, "hf:g"], checks)
    assert "2 of 4 types are right (50.0%), 1 of them without a cache" in page
    assert "1 differ; 1 are refused or fail" in page
    assert "1 types have not been run" in page
    counted, _, rest = page.partition("\n## ")
    assert "| `hf:d` | D | refused at source: no cache | 0 |" in counted
    assert "right, 1e-06; every step computes the whole text again" in counted
    assert "| `hf:e` | E | ValueError: x |" in rest and "| `hf:f` | F | requires timm |" in rest
