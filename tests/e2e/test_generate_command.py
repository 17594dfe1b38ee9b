"""`unmess generate` on a tiny model with a tokenizer."""

import io
import json

import pytest
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

import unmess
from tests.shared.varied_weights import varied
from unmess.__main__ import main

# Random weights generate random bytes, some of which form characters of several bytes.
PROMPT = "A man on a street corner: ä€"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    bytes_ = Tokenizer(models.BPE())
    bytes_.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<end>"], initial_alphabet=alphabet
    )
    bytes_.train_from_iterator([PROMPT] * 3, trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=bytes_, eos_token="<end>")
    tokenizer.chat_template = "{% for m in messages %}{{ m.role[0] }}[{{ m.content }}]{% endfor %}"
    tokenizer.save_pretrained(path)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=2,
        bos_token_id=None,
        eos_token_id=0,
    )
    torch.manual_seed(0)
    transformers.LlamaForCausalLM(config).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def theirs(folder):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    def generated(prompt, tokens):
        ids = tokenizer(prompt, return_tensors="pt").input_ids
        new = model.generate(ids, do_sample=False, max_new_tokens=tokens)[0, ids.shape[1] :]
        return tokenizer.decode(new, skip_special_tokens=True)

    return generated


@pytest.fixture(scope="module")
def generator(folder):
    return unmess.load_generator(f"hf:{folder}", on="reference", max_length=96)


def run(capfd, *arguments):
    status = main(["generate", *map(str, arguments)])
    captured = capfd.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_text_matches_transformers(capfd, folder, theirs, runner):
    status, out, err = run(
        capfd, f"hf:{folder}", "--prompt", PROMPT, "--max-new-tokens", 24, "--on", runner
    )
    assert status == 0
    assert out == theirs(PROMPT, 24) + "\n"
    assert "wrote 24," in err


def test_state_space_model(capfd, folder, tmp_path):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.save_pretrained(tmp_path)
    config = transformers.MambaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        # The embedding of a padding token would be zero, which leaves the states at zero.
        pad_token_id=None,
        bos_token_id=None,
        eos_token_id=0,
    )
    torch.manual_seed(0)
    model = varied(transformers.MambaForCausalLM(config))
    model.save_pretrained(tmp_path)
    expected = {}
    # The second text begins with empty states, and runs without PyTorch.
    for prompt in ("A man on", "A"):
        ids = tokenizer(prompt, return_tensors="pt").input_ids
        new = model.generate(ids, do_sample=False, max_new_tokens=9)[0, ids.shape[1] :]
        expected[prompt] = tokenizer.decode(new, skip_special_tokens=True)
        status, out, _ = run(capfd, f"hf:{tmp_path}", "--prompt", prompt, "--max-new-tokens", 9)
        assert (status, out) == (0, expected[prompt] + "\n")
    # Together, the second text begins when the first one is being read.
    arguments = [part for prompt in expected for part in ("--prompt", prompt)]
    status, out, _ = run(capfd, f"hf:{tmp_path}", *arguments, "--max-new-tokens", 9)
    assert status == 0
    assert out == "".join(f"> {prompt}\n{text}\n" for prompt, text in expected.items())


def test_json(capfd, folder, theirs):
    status, out, _ = run(
        capfd, f"hf:{folder}", "--prompt", "A", "--max-new-tokens", 5, "--on", "reference", "--json"
    )
    result = json.loads(out)
    assert status == 0
    assert result["text"] == theirs("A", 5)
    assert (result["prompt_tokens"], result["new_tokens"]) == (1, 5)
    assert result["tokens_per_second"] > 0
    (row,) = result["texts"]
    assert row == {name: result[name] for name in row}


SEVERAL = ("A man", PROMPT, "A", "a street")


def test_several_prompts(capfd, folder, theirs):
    arguments = [part for prompt in SEVERAL[:3] for part in ("--prompt", prompt)]
    expected = "".join(f"> {prompt}\n{theirs(prompt, 9)}\n" for prompt in SEVERAL[:3])
    # The second command finds the program in the cache, and runs without PyTorch.
    for _ in range(2):
        status, out, err = run(capfd, f"hf:{folder}", *arguments, "--max-new-tokens", 9)
        assert (status, out) == (0, expected)
        assert "wrote 27," in err


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_lines_of_a_file(capfd, folder, theirs, tmp_path, runner):
    file = tmp_path / "prompts.txt"
    file.write_text("\n\n".join(SEVERAL), encoding="utf-8")
    whole = theirs(PROMPT, 12)
    arguments = ("--prompts", file, "--batch", 3, "--max-new-tokens", 12, "--stop", whole[4:7])
    status, out, _ = run(capfd, f"hf:{folder}", *arguments, "--on", runner, "--json")
    result = json.loads(out)
    assert status == 0
    assert [row["prompt"] for row in result["texts"]] == list(SEVERAL)
    assert [row["text"] for row in result["texts"]] == [
        theirs(prompt, 12).partition(whole[4:7])[0] for prompt in SEVERAL
    ]
    counts = [row["new_tokens"] for row in result["texts"]]
    assert counts[1] < 12 and max(counts) == 12
    assert result["new_tokens"] == sum(counts)
    assert result["tokens_per_second"] > 0 and result["seconds"]["decode"] > 0


def test_several_conversations(capfd, folder, theirs):
    arguments = ("--prompt", "A man", "--prompt", "A", "--chat", "--system", "Be brief")
    _, out, _ = run(
        capfd, f"hf:{folder}", *arguments, "--max-new-tokens", 5, "--on", "reference", "--json"
    )
    assert [row["text"] for row in json.loads(out)["texts"]] == [
        theirs(f"s[Be brief]u[{prompt}]", 5) for prompt in ("A man", "A")
    ]


def test_warns_of_a_seed_without_sampling(capfd, folder, theirs):
    arguments = (f"hf:{folder}", "--prompt", "A", "--max-new-tokens", 5, "--on", "reference")
    status, out, err = run(capfd, *arguments, "--seed", 5, "-q")
    assert (status, out) == (0, theirs("A", 5) + "\n")
    assert err.startswith(
        "note: sampling: the seed has no effect: without sampling, the most likely token is chosen"
    )
    _, out, _ = run(capfd, *arguments, "--seed", 5, "--json")
    assert json.loads(out)["notes"][0].startswith("sampling: the seed has no effect")
    _, _, err = run(capfd, *arguments, "--seed", 5, "--top-k", 3, "-q")
    assert "no effect" not in err


def test_pieces_are_whole_characters(generator, theirs):
    pieces = list(generator(PROMPT, 40))
    assert len(pieces) > 3
    assert "".join(pieces) == theirs(PROMPT, 40)


def test_each_text_begins_with_an_empty_cache(generator, theirs):
    assert ["".join(generator(prompt, 9)) for prompt in ("A man", PROMPT, "A man")] == [
        theirs("A man", 9),
        theirs(PROMPT, 9),
        theirs("A man", 9),
    ]


def test_a_text_ends_with_the_end_token(generator):
    ids = torch.tensor([[7, 8, 9]])
    tokens = list(generator.tokens(ids, 20))
    generator.end = frozenset([tokens[5]])
    try:
        assert list(generator.tokens(ids, 20)) == tokens[: tokens.index(tokens[5]) + 1]
    finally:
        generator.end = frozenset([0])


def test_a_seed_repeats_a_text(generator):
    sampling = unmess.Sampling(temperature=1.5, top_k=50, seed=3)
    one, two = ("".join(generator("A man", 20, sampling)) for _ in range(2))
    assert one == two != "".join(generator("A man", 20))


def test_chat_template(generator):
    assert "".join(generator("A man", 9, chat=True)) == "".join(generator("u[A man]", 9))


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_a_text_ends_before_a_stop_string(capfd, folder, theirs, runner):
    whole = theirs(PROMPT, 24)
    stop = whole[9:12]
    arguments = ("--prompt", PROMPT, "--max-new-tokens", 24, "--on", runner, "--json")
    status, out, _ = run(capfd, f"hf:{folder}", *arguments, "--stop", "none", "--stop", stop)
    result = json.loads(out)
    assert (status, result["text"]) == (0, whole[: whole.index(stop)])
    assert result["new_tokens"] < 24


@pytest.mark.parametrize("in_terminal", [False, True])
def test_a_conversation(capfd, monkeypatch, folder, theirs, in_terminal):
    lines = io.StringIO("A man\n\non a street\n")
    lines.isatty = lambda: in_terminal
    monkeypatch.setattr("sys.stdin", lines)
    arguments = ("--chat", "--system", "Be brief", "--max-new-tokens", 5, "--on", "reference")
    first = theirs("s[Be brief]u[A man]", 5)
    second = theirs(f"s[Be brief]u[A man]a[{first}]u[on a street]", 5)
    status, out, err = run(capfd, f"hf:{folder}", *arguments, *([] if in_terminal else ["--json"]))
    assert status == 0
    if in_terminal:
        assert out == f"{first}\n{second}\n"
        assert err.count("> ") == 4
    else:
        turns = json.loads(out)["turns"]
        assert [turn["prompt"] for turn in turns] == ["A man", "on a street"]
        assert [turn["text"] for turn in turns] == [first, second]
        assert "> " not in err


def test_a_conversation_has_no_batch(capfd, folder):
    status, out, err = run(capfd, f"hf:{folder}", "--chat", "--batch", 2)
    assert (status, out) == (2, "")
    assert "--batch needs prompts" in err


def test_a_file_without_prompts(capfd, folder, tmp_path):
    (tmp_path / "prompts.txt").write_text("\n")
    status, out, err = run(capfd, f"hf:{folder}", "--prompts", tmp_path / "prompts.txt")
    assert (status, out) == (2, "")
    assert "has no prompt" in err


def test_a_conversation_without_turns(capfd, monkeypatch, folder):
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    status, out, err = run(capfd, f"hf:{folder}", "--chat")
    assert (status, out) == (2, "")
    assert "stdin has no turn" in err


@pytest.mark.parametrize(
    "arguments, cause",
    [
        (("--max-new-tokens", "300"), "exceed the 256 positions of the cache"),
        (("--top-p", "2"), "top_p is 2.0"),
        (("--temperature", "1e-45"), "temperature is 1e-45"),
        (("--seed", "9" * 23, "--temperature", "1"), f"seed is {'9' * 23}"),
        (("--on", "abacus"), "unknown runner 'abacus'"),
        (("--dtype", "int3"), "unknown dtype 'int3'"),
        (("--prompt", ""), "the prompt is empty"),
        (("--system", "Be brief"), "--system needs a conversation"),
        (("--stop", ""), "a stop string is empty"),
        (("--prompt", "B", "--max-length", "30"), "exceed the 30 positions of the cache"),
        (("--prompts", "none.txt"), "cannot read none.txt: No such file"),
    ],
)
def test_usage(capfd, monkeypatch, folder, arguments, cause):
    # Usage errors come before the capture, which takes long.
    monkeypatch.setattr("unmess.generation.capture_generation", None)
    status, out, err = run(capfd, f"hf:{folder}", "--prompt", "A", *arguments)
    assert (status, out) == (2, "")
    assert f"usage: {cause}" in err or cause in err


def test_a_model_without_a_tokenizer_is_refused(capfd):
    status, _, err = run(capfd, "hf:bert", "--prompt", "A")
    assert status == 2
    assert "the model has no tokenizer" in err
