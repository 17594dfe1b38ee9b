"""Compares the tokens that a model generates on a runner with those of transformers."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from importers.sources.huggingface.adjust import FixedLayout
from importers.sources.huggingface.example import working_example
from importers.sources.huggingface.recomputed_text import RECOMPUTED
from importers.sources.huggingface.text import decoder_start, token_ids, vocabulary_of
from importers.sources.huggingface.tiny import find_tiny
from importers.sources.random_weights import seeded
from importers.sources.source import Source
from unmess.core.errors.error import Error, first_line
from unmess.core.errors.quiet import quiet_libraries
from unmess.core.errors.user_source import user_line
from unmess.core.processes.children import limit_memory
from unmess.generation import Generator, load_generator

NEW_TOKENS = 12
# Lengths of the prompts. A prompt of one token is read by another entry point than a longer one.
PROMPTS = (5, 9, 1)
_MAX_LENGTH = 32
# Random matrices are scaled by this factor. Otherwise, the results of attention hardly depend on
# the positions, and a model repeats one token.
_SCALE = 4.0
# The largest difference of logits that counts as rounding, relative to the largest magnitude.
ROUNDING = 1e-3


@dataclass
class GenerationCheck:
    """The result of a model type.

    Attributes:
        model: the model string.
        class_name: the name of the model class.
        ok: whether all tokens are equal, and all logits equal up to rounding.
        stage: where it stopped: a stage of `unmess.Error`, `eager` if transformers does not
            generate, `compare` for another result, `crash` for an exception that is no
            `unmess.Error`, or `done`.
        error, where: the cause in one line, and the user's source line; None if there is none.
        max_rel_error: the largest difference of logits before the first differing token, relative
            to the largest magnitude of transformers' logits; None if nothing was compared.
        tokens: the number of different tokens that transformers generated.
        has_reference: whether transformers generates with the tiny model.
        scale: the factor of the random matrices.
        notes: why every step computes the whole text again; empty if it does not.
        seconds: `source` (with transformers' own texts), `load` and `run`.
    """

    model: str
    class_name: str
    ok: bool = False
    stage: str = "source"
    error: str | None = None
    where: str | None = None
    max_rel_error: float | None = None
    tokens: int = 0
    has_reference: bool = False
    scale: float = _SCALE
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


def check_generation(work: tuple[str, str, str, float | None]) -> GenerationCheck:
    """Compares a tiny model. Changes settings of the process, so call it in one of its own.

    Args:
        work: the model type; the name of its class; the runner; the memory that the process may
            allocate, in 10**6 bytes, or None.
    """
    model_type, class_name, runner, memory_mb = work
    quiet_libraries()
    limit_memory(memory_mb)
    # Eager's sums depend on the number of threads.
    torch.set_num_threads(1)
    check = GenerationCheck(f"hf:{model_type}", class_name)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            start = time.perf_counter()
            model, prompts, expected = _tiny_model(check)
            check.has_reference = True
            start = _record_time(check, "source", start)
            check.stage = "capture"
            generator = load_generator(Source(model_type, model), runner, _MAX_LENGTH)
            check.notes = [note.text for note in generator.notes if RECOMPUTED in note.text]
            start = _record_time(check, "load", start)
            check.stage = "run"
            compare(generator, prompts, expected, check)
            _record_time(check, "run", start)
    except Error as problem:
        check.stage, check.error, check.where = problem.stage, problem.cause, problem.where
    except Exception as problem:
        check.error, check.where = first_line(problem), user_line(problem)
        if check.stage != "eager":
            check.stage = "crash"
    return check


def _record_time(check: GenerationCheck, step: str, start: float) -> float:
    now = time.perf_counter()
    check.seconds[step] = round(now - start, 2)
    return now


def _tiny_model(check: GenerationCheck) -> tuple[Any, list[torch.Tensor], list[Text]]:
    """Returns the smallest model that transformers generates with, its prompts and its texts."""
    found: list[Any] = []
    failures: list[Exception] = []

    def generate(source_model: Any) -> None:
        is_fixed = isinstance(source_model, FixedLayout)
        try:
            model = _prepared(source_model.model if is_fixed else source_model)
            prompts = _prompts(model)
            found[:] = [model, prompts, _expected(model, prompts, check)]
        except Exception as problem:
            failures.append(problem)
            raise

    try:
        find_tiny(check.model.removeprefix("hf:"), check.class_name, generate)
    except Error:
        if failures:
            check.stage = "eager"
            raise failures[0] from None
        raise
    return tuple(found)


def _prepared(model: Any) -> Any:
    """Sets fields that `generate` needs. Published models have them, most tiny ones do not."""
    settings = model.generation_config
    if model.config.is_encoder_decoder and settings.decoder_start_token_id is None:
        settings.decoder_start_token_id = decoder_start(model)
    if hasattr(model, "set_default_language"):
        model.set_default_language(model.config.languages[0])
    return model


def _prompts(model: Any) -> list[torch.Tensor]:
    """Returns the main inputs of the model: token ids of (1, tokens), or features of sound."""
    with seeded():
        if model.main_input_name == "input_ids":
            return [token_ids(vocabulary_of(model), 1, length) for length in PROMPTS]
        example = working_example(model)[model.main_input_name][:1]
        return [example, torch.randn_like(example)]


@dataclass
class Text:
    """The new tokens of a text, and the logits that each one was chosen from.

    Attributes:
        tokens: ids.
        logits: f32 of (tokens, vocabulary).
    """

    tokens: list[int]
    logits: torch.Tensor


def _expected(model: Any, prompts: list[torch.Tensor], check: GenerationCheck) -> list[Text]:
    """Returns the texts of transformers, after scaling the weights of the model."""
    unscaled = {name: value.clone() for name, value in model.state_dict().items()}
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.mul_(_SCALE)
    texts = [_generate(model, prompt) for prompt in prompts]
    if not all(text.logits.isfinite().all() for text in texts):
        check.scale = 1.0
        model.load_state_dict(unscaled)
        texts = [_generate(model, prompt) for prompt in prompts]
    check.tokens = len({token for text in texts for token in text.tokens})
    return texts


def _generate(model: Any, prompt: torch.Tensor) -> Text:
    # Use a copy: RecurrentGemma keeps state in its layers, which would change the next text.
    result = copy.deepcopy(model).generate(
        prompt,
        do_sample=False,
        num_beams=1,
        use_cache=True,
        max_new_tokens=NEW_TOKENS,
        return_dict_in_generate=True,
        output_logits=True,
    )
    logits = torch.stack([step[0] for step in result.logits]).float()
    return Text(result.sequences[0].tolist()[-len(logits) :], logits)


def compare(
    generator: Generator, prompts: list[torch.Tensor], expected: list[Text], check: GenerationCheck
) -> None:
    """Generates a text after each prompt, and writes the first difference to `check`.

    The logits are compared up to the first token that differs: after it, the inputs of the two
    models differ.
    """
    recorder = _Recorder(generator.run)
    generator.run = recorder
    for prompt, theirs in zip(prompts, expected, strict=True):
        recorder.logits.clear()
        tokens = list(generator.tokens(prompt, NEW_TOKENS))
        ours = Text(tokens, torch.cat(recorder.logits[-len(tokens) :]).float())
        differences = list(_differences(ours, theirs))
        check.max_rel_error = _largest([check.max_rel_error or 0.0, *differences])
        if (cause := _cause(ours, theirs)) is not None:
            length = prompt.shape[1] if prompt.dtype == torch.int64 else "fixed"
            check.stage, check.error = "compare", f"prompt of {length} tokens: {cause}"
            return
    check.ok, check.stage = True, "done"


def _differences(ours: Text, theirs: Text) -> Iterator[float]:
    """Yields the difference of the logits for each token up to the first that differs."""
    for index, pair in enumerate(zip(ours.tokens, theirs.tokens, strict=False)):
        largest = theirs.logits[index].abs().max().clamp(min=1e-30)
        yield float((ours.logits[index] - theirs.logits[index]).abs().max() / largest)
        if pair[0] != pair[1]:
            return


def _largest(values: list[float]) -> float:
    """Returns the largest value; NaN if any value is NaN, which Python's `max` may miss."""
    return float(torch.tensor(values).max())


def _cause(ours: Text, theirs: Text) -> str | None:
    """Returns how two texts differ in one line; None if they are equal."""
    differences = list(_differences(ours, theirs))
    if ours.tokens == theirs.tokens:
        largest = _largest(differences)
        # NaN is not within the bound either.
        if largest <= ROUNDING:
            return None
        return f"equal tokens, but the logits differ by {largest:.0e}"
    if len(differences) == min(len(ours.tokens), len(theirs.tokens)) and (
        ours.tokens[: len(differences)] == theirs.tokens[: len(differences)]
    ):
        return f"{len(ours.tokens)} tokens instead of {len(theirs.tokens)}"
    index = len(differences) - 1
    best, second = theirs.logits[index].topk(2).values.tolist()
    gap = (best - second) / float(theirs.logits[index].abs().max())
    return (
        f"token {index + 1} differs; the logits differ by {_largest(differences):.0e}, and "
        f"transformers' two largest by {gap:.0e}"
    )


class _Recorder:
    """An Executable that keeps the logits of its calls."""

    def __init__(self, run: Any):
        self._run = run
        self.logits: list[torch.Tensor] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._run, name)

    def prefill(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Calls the entry point, and keeps its result."""
        return self._keep(self._run.prefill(input_ids))

    def decode(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Calls the entry point, and keeps its result."""
        return self._keep(self._run.decode(input_ids))

    def _keep(self, logits: torch.Tensor) -> torch.Tensor:
        self.logits.append(logits.clone())
        return logits
