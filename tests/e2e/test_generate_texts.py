"""Texts generated together equal the texts that `generate` writes for each prompt alone."""

import functools
import itertools

import pytest
import torch
import transformers

import unmess
from tests.shared.varied_weights import varied

SIZES = {
    "vocab_size": 128,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    # The embedding of a padding token would be zero, which leaves the states of Bamba at zero.
    "pad_token_id": None,
    "bos_token_id": None,
    "eos_token_id": None,
}
NEW_TOKENS = 8
# Two groups. The first has texts of different lengths; the second is a single token.
LENGTHS = (7, 2, 11, 1)


class Tokenizer:
    """A tokenizer whose text is the ids."""

    def decode(self, ids, skip_special_tokens):
        return "".join(f"<{token}>" for token in ids)


def text(tokens):
    return Tokenizer().decode(tokens, True)


def llama():
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES))


def gpt2():
    sizes = {"vocab_size": 128, "n_embd": 32, "n_layer": 1, "n_head": 4, "n_positions": 64}
    ends = {"bos_token_id": None, "eos_token_id": None}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, **ends))


def mixtral():
    """Returns a mixture of experts with a sliding window."""
    experts = {"num_local_experts": 4, "num_experts_per_tok": 2}
    config = transformers.MixtralConfig(sliding_window=4, **experts, **SIZES)
    return transformers.MixtralForCausalLM(config)


def t5():
    sizes = {"vocab_size": 128, "d_model": 32, "d_kv": 16, "d_ff": 32, "num_layers": 1}
    config = transformers.T5Config(num_heads=2, eos_token_id=None, **sizes)
    config.decoder_start_token_id = 0
    return transformers.T5ForConditionalGeneration(config)


def bamba():
    """Returns a model with a state-space layer and an attention layer."""
    mamba = {"mamba_n_heads": 4, "mamba_d_head": 16, "mamba_n_groups": 2, "mamba_d_state": 8}
    sizes = SIZES | {"num_hidden_layers": 2, "mamba_chunk_size": 4}
    config = transformers.BambaConfig(attn_layer_indices=[1], **mamba, **sizes)
    return transformers.BambaForCausalLM(config)


def made(build):
    torch.manual_seed(0)
    model = varied(build())
    prompts = [torch.randint(2, 128, (1, length)) for length in LENGTHS]
    return model, prompts


@functools.cache
def generator_of(build, runner="reference"):
    """Returns a generator of three texts together."""
    generator = unmess.load_generator(made(build)[0], on=runner, max_length=24, batch=3)
    generator.tokenizer = Tokenizer()
    return generator


def alone(model, prompt, **options):
    new = model.generate(prompt, do_sample=False, max_new_tokens=NEW_TOKENS, **options)
    return new[0, -NEW_TOKENS:].tolist()


def until_end(tokens, end):
    return tokens[: tokens.index(end) + 1] if end in tokens else tokens


def padded_together(model, prompts):
    """Returns the texts of one call of `generate` of transformers."""
    widest = max(prompt.shape[1] for prompt in prompts)
    ids, mask = torch.zeros(2, len(prompts), widest, dtype=torch.int64)
    for row, prompt in enumerate(prompts):
        count = prompt.shape[1]
        place = slice(0, count) if model.config.is_encoder_decoder else slice(widest - count, None)
        ids[row, place], mask[row, place] = prompt, 1
    new = model.generate(ids, attention_mask=mask, do_sample=False, max_new_tokens=NEW_TOKENS)
    return new[:, -NEW_TOKENS:].tolist()


@pytest.mark.parametrize(
    "build, runner",
    [
        (llama, "reference"),
        (llama, "iree-cpu"),
        (gpt2, "reference"),
        (mixtral, "reference"),
        (t5, "reference"),
        (bamba, "reference"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_texts_of_transformers(build, runner):
    model, prompts = made(build)
    expected = [alone(model, prompt) for prompt in prompts]
    assert padded_together(model, prompts) == expected
    generator = generator_of(build, runner)
    assert list(generator.texts(prompts, NEW_TOKENS)) == list(map(text, expected))
    assert generator.statistics.prompt_tokens == sum(LENGTHS)
    assert generator.statistics.new_tokens == NEW_TOKENS * len(LENGTHS)
    # With an end token, some texts end early, and others continue.
    first = expected[:3]
    end = next(
        token
        for token in itertools.chain(*first)
        if len({len(until_end(tokens, token)) for tokens in first}) > 1
    )
    ended = [until_end(tokens, end) for tokens in first]
    generator.end = frozenset([end])
    assert list(generator.texts(prompts[:3], NEW_TOKENS)) == list(map(text, ended))
    generator.end = frozenset()
    counts = [each.new_tokens for each in generator.statistics.texts]
    assert counts == list(map(len, ended))


def test_a_seed_repeats_each_text_alone():
    generator, (_, prompts) = generator_of(llama), made(llama)
    sampling = unmess.Sampling(temperature=2.0, seed=3)
    together = list(generator.texts([prompts[0]] * 2 + prompts, NEW_TOKENS, sampling))
    assert together[0] != together[1], "equal prompts have different texts"
    assert together == list(generator.texts([prompts[0]] * 2 + prompts, NEW_TOKENS, sampling))
    for index in (0, 1, 4):
        own = unmess.Sampling(temperature=2.0, seed=3 + index)
        prompt = ([prompts[0]] * 2 + prompts)[index]
        assert "".join(generator(prompt, NEW_TOKENS, own)) == together[index]


def test_a_stop_string_ends_one_text():
    generator, (model, prompts) = generator_of(llama), made(llama)
    whole = list(generator.texts(prompts[:2], NEW_TOKENS))
    stop = text(alone(model, prompts[0])[2:4])
    assert stop not in whole[1]
    assert list(generator.texts(prompts[:2], NEW_TOKENS, stop=[stop])) == [
        whole[0][: whole[0].index(stop)],
        whole[1],
    ]


@pytest.mark.parametrize("constraints", [{}, {"no_repeat_ngram_size": 1}])
def test_penalties_consider_each_text_alone(monkeypatch, constraints):
    generator, (model, prompts) = generator_of(llama), made(llama)
    monkeypatch.setattr(generator, "penalty", 1.5)
    monkeypatch.setattr(generator, "constraints", constraints)
    options = {"repetition_penalty": 1.5} | constraints
    expected = [text(alone(model, prompt, **options)) for prompt in prompts]
    assert expected != [text(alone(model, prompt)) for prompt in prompts]
    assert list(generator.texts(prompts, NEW_TOKENS)) == expected


class Calls:
    """An Executable that lists the number of tokens in each call."""

    def __init__(self, run):
        self._run, self.tokens = run, []

    def __getattr__(self, name):
        return getattr(self._run, name)

    def prefill(self, ids):
        self.tokens.append(ids.shape[1])
        return self._run.prefill(ids)

    def decode(self, ids):
        self.tokens.append(ids.shape[1])
        return self._run.decode(ids)


def test_prompts_are_read_in_chunks(monkeypatch):
    generator, (model, prompts) = generator_of(llama), made(llama)
    monkeypatch.setattr(generator, "run", Calls(generator.run))
    monkeypatch.setattr(generator, "prompt_chunk", 5)
    expected = [text(alone(model, prompt)) for prompt in prompts[:3]]
    assert list(generator.texts(prompts[:3], NEW_TOKENS)) == expected
    # The longest prompt has 11 tokens, and its last token is read alone. So is each new token,
    # except the last one, which is not read.
    assert generator.run.tokens == [5, 5, 1] + [1] * (NEW_TOKENS - 1)


def test_a_prompt_that_does_not_fit_is_refused_before_any_text():
    generator, (_, prompts) = generator_of(llama), made(llama)
    with pytest.raises(unmess.Error, match="20 tokens and 8 new ones exceed the 24") as caught:
        next(generator.texts([prompts[0], torch.ones(1, 20, dtype=torch.int64)], NEW_TOKENS))
    assert caught.value.stage == "usage"


def test_a_text_cannot_continue_after_another_one_has_begun():
    generator, (_, prompts) = generator_of(llama), made(llama)
    one, two = generator(prompts[0], NEW_TOKENS), generator(prompts[1], NEW_TOKENS)
    next(one), next(two)
    with pytest.raises(unmess.Error, match="another text was begun before this one ended"):
        list(one)


def test_a_model_without_masks_is_refused():
    """RWKV has states in its layers, and no mask."""
    sizes = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "context_length": 64}
    model = transformers.RwkvForCausalLM(transformers.RwkvConfig(**sizes))
    with pytest.raises(unmess.Error, match="other logits for a text beside a longer one") as caught:
        unmess.load_generator(varied(model), max_length=24, batch=2)
    assert caught.value.stage == "usage"
    assert caught.value.hint == "generate one text at a time: batch 1"
