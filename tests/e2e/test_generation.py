"""Prefill and decode choose the same tokens as transformers' own `generate`."""

import pytest
import torch
import transformers

import unmess
from unmess.compare_entries import compare_entries

LENGTH = 40


def tiny_llama():
    config = transformers.LlamaConfig(
        vocab_size=256,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
    )
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(config).eval()


@pytest.fixture(scope="module")
def llama():
    return tiny_llama()


@pytest.fixture(scope="module")
def programs(llama):
    """Returns the programs for a batch of two texts."""
    return unmess.capture_generation(llama, batch=2, max_length=LENGTH)


@pytest.fixture(scope="module", params=("reference", "iree-cpu"))
def run(request, programs):
    return unmess.load(programs, on=request.param)


def greedy(run, ids, cache, tokens):
    chosen = []
    for _ in range(tokens):
        logits, cache = (run.decode if ids.shape[1] == 1 else run.prefill)(ids, cache)
        ids = logits.argmax(-1, keepdim=True)
        chosen.append(ids)
    return torch.cat(chosen, dim=1), cache


def generated(model, ids, tokens, **options):
    result = model.generate(
        ids, do_sample=False, max_new_tokens=tokens, min_new_tokens=tokens, **options
    )
    return result[:, ids.shape[1] :]


@pytest.mark.parametrize("length", [1, 2, 11, LENGTH - 6])
def test_prompts_of_any_length_up_to_a_full_cache(run, programs, llama, length):
    ids = torch.randint(10, 250, (2, length))
    empty = programs["prefill"].args[1]
    ours, cache = greedy(run, ids, empty, 7)
    assert torch.equal(ours, generated(llama, ids, 7))
    assert int(cache["length"]) == length + 6
    assert not any(tensor.any() for tensor in empty["keys"]), "the empty cache is not written"


def test_texts_of_several_lengths(run, programs, llama):
    ids = torch.randint(10, 250, (2, 9))
    padding = torch.tensor([0, 4])
    mask = (torch.arange(9) >= padding[:, None]).long()
    cache = programs["prefill"].args[1] | {"padding": padding}
    ours, _ = greedy(run, ids, cache, 6)
    assert torch.equal(ours, generated(llama, ids, 6, attention_mask=mask))
    # The result would change if the padding were treated as text.
    ids[1, :4] = 7
    assert torch.equal(greedy(run, ids, cache, 6)[0], ours)


def test_a_second_turn_continues_from_the_cache(run, programs, llama):
    first, second = torch.randint(10, 250, (2, 5)), torch.randint(10, 250, (2, 4))
    _, cache = run.prefill(first, programs["prefill"].args[1])
    ours, _ = greedy(run, second, cache, 5)
    assert torch.equal(ours, generated(llama, torch.cat([first, second], 1), 5))


def test_a_full_cache_is_an_error_and_stays_unchanged(run, programs):
    ids = torch.randint(10, 250, (2, LENGTH))
    _, cache = run.prefill(ids, programs["prefill"].args[1])
    before = [tensor.clone() for tensor in cache["keys"]]
    with pytest.raises(unmess.Error) as caught:
        run.decode(ids[:, :1], cache)
    assert caught.value.stage == "run"
    with pytest.raises(unmess.Error):
        run.prefill(ids[:, :2], cache | {"length": torch.tensor(-1)})
    assert all(torch.equal(a, b) for a, b in zip(before, cache["keys"], strict=True))


def test_logits_and_cache_match_eager(run, programs):
    report = compare_entries(programs, run, calls=1)
    assert report.ok, report.error
    names = {difference.name for difference in report.differences}
    assert {"prefill: result[0]", "decode: result[1]['values'][1]"} <= names


def test_entry_points_share_weights_under_the_models_names(programs, llama):
    module = unmess.lower(programs, to="torch")
    assert list(module.entries) == ["prefill", "decode"]
    own = dict(llama.named_parameters())
    assert own.keys() <= module.weights.keys()
    assert all(module.weights[name] is weight for name, weight in own.items())
    text = str(module)
    assert text.count('unmess.weight = "lm_head.weight"') == 2
    decode = text[text.index("func.func @decode") :]
    assert "-1" not in decode[: decode.index("{\n")], "a step has no dynamic size"
    assert "?" not in decode and "vtensor<[?" not in decode
