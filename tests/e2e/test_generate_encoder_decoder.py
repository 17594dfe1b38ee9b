"""Encoder-decoders generate the same tokens as transformers' own `generate`."""

import json

import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

import unmess
from tests.shared.varied_weights import varied
from unmess.__main__ import main
from unmess.compare_entries import compare_entries

LENGTH = 20
PROMPT = "w7 w16 w25 w6 w20 w19 w22 w15"
SIZES = {
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "vocab_size": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 3,
}


def generated(model, inputs, tokens, **options):
    result = model.generate(inputs, do_sample=False, num_beams=1, max_new_tokens=tokens, **options)
    return result[0].tolist()


@pytest.fixture(scope="module")
def t5():
    torch.manual_seed(7)
    config = transformers.T5Config(
        vocab_size=64, d_model=32, d_kv=16, d_ff=32, num_layers=2, num_heads=2
    )
    config.decoder_start_token_id = 0
    return varied(transformers.T5ForConditionalGeneration(config))


@pytest.fixture(scope="module")
def folder(t5, tmp_path_factory):
    path = tmp_path_factory.mktemp("t5")
    vocabulary = {"<pad>": 0, "</s>": 1} | {f"w{index}": index for index in range(2, 64)}
    words = Tokenizer(models.WordLevel(vocabulary, "w2"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing("$A </s>", special_tokens=[("</s>", 1)])
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, eos_token="</s>", pad_token="<pad>"
    ).save_pretrained(path)
    t5.save_pretrained(path)
    return path


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_command_writes_the_text_of_transformers(capfd, folder, t5, runner):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(PROMPT, return_tensors="pt").input_ids
    expected = tokenizer.decode(generated(t5, ids, 12), skip_special_tokens=True)
    arguments = ["generate", f"hf:{folder}", "--prompt", PROMPT, "--max-length", str(LENGTH)]
    arguments += ["--max-new-tokens", "12", "--on", runner, "--json"]
    # The second command finds the program in the cache; on iree-cpu, it runs without PyTorch.
    for _ in range(2):
        assert main(arguments) == 0
        result = json.loads(capfd.readouterr().out)
        assert result["text"] == expected
        assert len(set(expected.split())) > 3
        assert (result["prompt_tokens"], result["new_tokens"]) == (9, 12)
    arguments[arguments.index("12")] = "20"
    assert main(arguments) == 2
    assert "1 tokens and 20 new ones exceed the 20 positions" in capfd.readouterr().err


@pytest.fixture(scope="module")
def programs(t5):
    """Returns the programs for a batch of two texts, with the cache as an argument."""
    return unmess.capture_generation(t5, batch=2, max_length=LENGTH)


@pytest.fixture(scope="module")
def run(programs):
    return unmess.load(programs, on="reference")


def test_texts_of_several_lengths(t5, run):
    ids = torch.randint(2, 64, (2, LENGTH))
    mask = torch.ones_like(ids)
    mask[1, 7:] = 0
    states, cache = run.encode(ids, mask)
    assert states.shape == (2, LENGTH, 32)
    step, ours = torch.zeros(2, 1, dtype=torch.int64), []
    for _ in range(8):
        logits, cache = run.decode(step, cache)
        step = logits.argmax(-1, keepdim=True)
        ours.append(step)
    theirs = t5.generate(
        ids, attention_mask=mask, do_sample=False, max_new_tokens=8, min_new_tokens=8
    )
    assert torch.equal(torch.cat(ours, 1), theirs[:, 1:])
    assert int(cache["length"]) == 8


def test_a_full_cache_is_an_error(run, programs):
    ids, cache = programs["decode"].args
    with pytest.raises(unmess.Error) as caught:
        run.decode(ids, cache | {"length": torch.tensor(LENGTH)})
    assert caught.value.stage == "run"


def test_entry_points_match_eager(run, programs):
    report = compare_entries(programs, run, calls=1)
    assert report.ok, report.error
    names = {difference.name for difference in report.differences}
    assert {"encode: result[1]['cross_keys'][1]", "decode: result[1]['keys'][0]"} <= names


def test_settings_of_the_generation_config():
    torch.manual_seed(1)
    config = transformers.MBartConfig(max_position_embeddings=64, **SIZES)
    model = varied(transformers.MBartForConditionalGeneration(config))
    settings = model.generation_config
    settings.forced_bos_token_id = 17
    settings.no_repeat_ngram_size = 2
    settings.min_length = 9
    settings.repetition_penalty = 1.1
    settings.num_beams = 4
    generator = unmess.load_generator(model, on="reference", max_length=LENGTH)
    assert any("4 beams" in note.text for note in generator.notes)
    for length in (1, 12):
        ids = torch.randint(4, 64, (1, length))
        ours = list(generator.tokens(ids, 12))
        assert [3, *ours] == generated(model, ids, 12)
        # The last token is forced too: MBartConfig sets forced_eos_token_id.
        assert (ours[0], ours[-1]) == (17, 2)
    with pytest.raises(unmess.Error, match="the prompt's 21 tokens exceed the 20 positions"):
        next(generator.tokens(torch.ones(1, 21, dtype=torch.int64), 2))


def test_whisper_with_detected_language():
    torch.manual_seed(0)
    config = transformers.WhisperConfig(
        max_source_positions=50, max_target_positions=64, num_mel_bins=16, **SIZES
    )
    model = varied(transformers.WhisperForConditionalGeneration(config))
    settings = model.generation_config
    settings.suppress_tokens, settings.begin_suppress_tokens = [10], [40, 41]
    settings.lang_to_id = {"<|en|>": 20, "<|fr|>": 21, "<|de|>": 22}
    settings.task_to_id = {"transcribe": 30, "translate": 31}
    settings.no_timestamps_token_id = 9
    settings.is_multilingual, settings.return_timestamps = True, False
    features = torch.randn(1, 16, 100)
    generator = unmess.load_generator(model, on="iree-cpu", max_length=LENGTH)
    ours = list(generator.tokens(features, 12))
    theirs = generated(model, features, 12, force_unique_generate_call=True)
    assert ours == theirs[-len(ours) :]
    assert generator.start == [3, [20, 21, 22], 9]
