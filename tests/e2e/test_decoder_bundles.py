"""Bundles of decoders: they keep the key-value cache, and generate as transformers does."""

import numpy as np
import pytest
import torch
import transformers
from click.testing import CliRunner

import unmess
import unmess.bundle
from unmess.cli import cli


def llama(layers):
    config = transformers.LlamaConfig(
        vocab_size=256,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        eos_token_id=None,
    )
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(config).eval()


def test_a_decoder_keeps_its_cache(tmp_path):
    model = llama(layers=2)
    model.save_pretrained(tmp_path / "llama")
    string, output = f"hf:{tmp_path / 'llama'}#generate", str(tmp_path / "bundle")
    done = CliRunner().invoke(cli, ["package", string, "-o", output, "-v"], standalone_mode=False)
    assert done.return_value == 0, done.stderr
    assert "with a key-value cache of 64 positions, batch 1" in done.stderr
    run = unmess.bundle.load(output)
    assert {name: len(entry.inputs) for name, entry in run.signatures.items()} == {
        "prefill": 1,
        "decode": 1,
    }
    # Each prompt starts a new text. The lengths go from one token up to a full cache.
    for length in (1, 2, 11, 50):
        prompt = torch.randint(10, 250, (1, length))
        expected = model.generate(prompt, do_sample=False, max_new_tokens=14)[0, length:]
        run.reset()
        ids, chosen = prompt.numpy(), []
        for _ in range(14):
            logits = (run.decode if ids.shape[1] == 1 else run.prefill)(ids)
            ids = logits.argmax(-1, keepdims=True)
            chosen.append(ids.item())
        assert chosen == expected.tolist()
        assert run.state["cache_length"] == length + 13
    assert run.state["cache_keys_0"].shape == (1, 2, 64, 8)
    ids = np.array([[1, 2]])
    with pytest.raises(unmess.Error, match="a check in the program failed"):
        run.prefill(ids)
    arguments = ["package", string, "-o", output + "2", "--dynamic", "input_ids.0"]
    done = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert done.return_value == 2 and "each with its own example arguments" in done.stderr
    llama(layers=1).save_pretrained(tmp_path / "small")
    string = f"hf:{tmp_path / 'small'}#generate"
    sizes = ["--max-length", "20", "--batch", "2"]
    done = CliRunner().invoke(
        cli, ["package", string, "-o", output + "3", *sizes], standalone_mode=False
    )
    assert done.return_value == 0, done.stderr
    run = unmess.bundle.load(output + "3")
    assert run.state["cache_keys_0"].shape == (2, 2, 20, 8)
    assert run.state["cache_padding"].shape == (2,)


def test_texts_of_different_lengths_in_a_bundle(tmp_path):
    model = llama(layers=1)
    programs = unmess.capture_generation(model, batch=2, max_length=20, cache="state")
    unmess.package(programs, tmp_path)
    run = unmess.bundle.load(tmp_path)
    ids = torch.randint(10, 250, (2, 9))
    padding = np.array([0, 4])
    run.set_state("cache_padding", padding)
    logits, chosen = run.prefill(ids.numpy()), []
    for _ in range(6):
        chosen.append(logits.argmax(-1, keepdims=True))
        logits = run.decode(chosen[-1])
    ours = np.concatenate(chosen, axis=1)
    for row, skipped in enumerate(padding):
        prompt = ids[row : row + 1, skipped:]
        theirs = model.generate(prompt, do_sample=False, max_new_tokens=6)[0, prompt.shape[1] :]
        assert ours[row].tolist() == theirs.tolist()
    assert run.state["cache_padding"].tolist() == [0, 4]
    run.reset()
    assert not run.state["cache_padding"].any()
    for name, value, cause in (
        ("padding", padding, "unknown state 'padding'"),
        ("cache_padding", padding[:1], "int64 of (2,), not int64 of (1,)"),
        ("cache_padding", padding.astype(np.int32), "int64 of (2,), not int32 of (2,)"),
    ):
        with pytest.raises(unmess.Error) as caught:
            run.set_state(name, value)
        assert caught.value.stage == "usage" and cause in caught.value.cause


@pytest.mark.parametrize("option", ["--max-length", "--batch"])
def test_sizes_of_a_cache_require_a_decoder(tmp_path, option):
    arguments = ["package", "torchvision:resnet18", "-o", str(tmp_path), option, "20"]
    done = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert done.return_value == 2
    assert f"{option} sets the size of a decoder's cache" in done.stderr
