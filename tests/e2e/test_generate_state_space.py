"""Models with state-space layers generate the same tokens as transformers' own `generate`."""

import pytest
import torch
import transformers

import unmess
from tests.shared.varied_weights import varied
from unmess.compare_entries import compare_entries

SIZES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "eos_token_id": None,
    "mamba_n_heads": 4,
    "mamba_d_head": 16,
    "mamba_n_groups": 2,
    "mamba_d_state": 8,
    "mamba_chunk_size": 4,
}


def generated(model, ids, tokens):
    result = model.generate(ids, do_sample=False, max_new_tokens=tokens, min_new_tokens=tokens)
    return result[:, ids.shape[1] :]


def test_attention_and_states_in_one_layer():
    torch.manual_seed(0)
    config = transformers.FalconH1Config(mamba_d_ssm=64, **SIZES)
    model = varied(transformers.FalconH1ForCausalLM(config))
    generator = unmess.load_generator(model, on="iree-cpu", max_length=24)
    assert generator.run.state["cache_recurrent_1"].shape == (1, 4, 16, 8)
    # Every text begins with empty states.
    for length in (7, 1, 12):
        ids = torch.randint(2, 64, (1, length))
        ours = list(generator.tokens(ids, 12))
        assert ours == generated(model, ids, 12)[0].tolist()
    assert not list(generator.tokens(ids, 0))


def test_attention_and_states_in_different_layers():
    torch.manual_seed(1)
    config = transformers.BambaConfig(attn_layer_indices=[1], **SIZES)
    model = varied(transformers.BambaForCausalLM(config))
    programs = unmess.capture_generation(model, batch=2, max_length=12)
    assert list(programs.entries) == ["decode"]
    _, empty = programs["decode"].args
    assert [len(empty[name]) for name in ("keys", "values", "conv", "recurrent")] == [1] * 4
    run = unmess.load(programs, on="reference")
    ids = torch.randint(2, 64, (2, 6))
    cache, ours = empty, []
    for step in ids.split(1, dim=1):
        logits, cache = run.decode(step, cache)
    for _ in range(6):
        step = logits.argmax(-1, keepdim=True)
        ours.append(step)
        logits, cache = run.decode(step, cache)
    assert torch.equal(torch.cat(ours, dim=1), generated(model, ids, 6))
    assert not any(tensor.any() for tensor in empty["conv"] + empty["recurrent"])
    # The layer with keys and values limits the length.
    with pytest.raises(unmess.Error) as caught:
        run.decode(step, cache)
    assert caught.value.stage == "run"
    report = compare_entries(programs, run, calls=1)
    assert report.ok, report.error
    assert "decode: result[1]['recurrent'][0]" in {each.name for each in report.differences}
