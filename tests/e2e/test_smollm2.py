"""Tests that a language model with real weights generates the same text as in transformers."""

import pytest
import torch

import unmess
from importers.sources import find_source
from tools.smollm2 import smollm2, unpacked

PROMPTS = (
    "The capital of France is",
    "Once upon a time, in a village by the sea,",
    "def fibonacci(n):\n",
    "Water boils at",
    "The three laws of thermodynamics are",
    "Q: What is 7 times 8?\nA:",
    "A compiler is a program that",
    "Dear Sir or Madam,",
    "1, 2, 4, 8, 16,",
    "Hello",
)
# The first three prompts get long answers, the others short ones.
LONG, SHORT = 64, 20


@pytest.fixture(scope="module")
def source():
    return find_source(f"hf:{smollm2()}")


@pytest.fixture(scope="module")
def theirs():
    """transformers' model, with weights in f32. In unmess's model, each eager call unpacks them."""
    return unpacked()


@pytest.fixture(autouse=True)
def one_thread():
    """Sets one thread, since thread teams of several test processes wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_greedy_text(source, theirs):
    """A single test, so that only one process captures and compiles."""
    assert source.model.dtype == torch.float32
    generator = unmess.load_generator(source, on="iree-cpu", max_length=128)
    ends = {source.model.generation_config.eos_token_id}
    for number, prompt in enumerate(PROMPTS):
        ids = source.tokenizer(prompt, return_tensors="pt").input_ids
        count = LONG if number < 3 else SHORT
        tokens = list(generator.tokens(ids, count))
        assert tokens == _greedy(theirs, ids, tokens), prompt
        assert not ends.intersection(tokens[:-1]), prompt
        assert len(tokens) == count or tokens[-1] in ends, prompt
        # `generate` is slow, so only the first two prompts use it, for the first tokens.
        if number < 2:
            generated = theirs.generate(ids, do_sample=False, max_new_tokens=SHORT)
            assert tokens[:SHORT] == generated[0, ids.shape[1] :].tolist(), prompt
    assert "".join(generator(PROMPTS[0], 2)).startswith(" Paris")


def _greedy(model, ids, tokens):
    """Returns the model's most likely token at the place of each token, given those before it."""
    with torch.no_grad():
        logits = model(torch.cat([ids, torch.tensor([tokens])], 1)).logits[0]
    return logits[ids.shape[1] - 1 : -1].argmax(-1).tolist()
