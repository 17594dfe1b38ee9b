"""Loads the model of `unmess generate` as a bundle, without PyTorch, or as an Executable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.backends.table import BUNDLED
from unmess.cli.cached import Cached
from unmess.core.processes.current_stage import enter_stage
from unmess.program_cache import bundles
from unmess.program_cache.bundles import Choice
from unmess.program_cache.capturing import TOKENIZER
from unmess.program_cache.entry import Entry
from unmess.text import KeptTokenizer, Message, Statistics, check_length
from unmess.text_groups import PROMPT_CHUNK

if TYPE_CHECKING:
    from unmess.bundle import Bundle
    from unmess.core.program.programs import Programs

# A text to continue, or the messages of a conversation.
Prompt = str | tuple[Message, ...]


@dataclass(frozen=True)
class Task:
    """Texts to generate; the fields are the options of `unmess generate`.

    Attributes:
        prompts: the texts to continue, or the messages of conversations before the next answer.
        sampling: temperature, top_k, top_p and seed.
        stop: strings that end a text.
    """

    prompts: tuple[Prompt, ...]
    max_new_tokens: int
    max_length: int
    dtype: str | None
    runner: str
    choice: Choice
    sampling: tuple[float | None, int | None, float | None, int | None]
    stop: tuple[str, ...]
    batch: int = 1
    prompt_chunk: int = PROMPT_CHUNK

    @property
    def chat(self) -> bool:
        """Whether each text is an answer in a conversation."""
        return not isinstance(self.prompts[0], str)

    @property
    def is_plain(self) -> bool:
        """Whether NumPy is enough: greedy decoding after a text, on the runner of bundles."""
        is_greedy = self.sampling == (None, None, None, None)
        return is_greedy and not self.chat and self.runner == BUNDLED


@dataclass(frozen=True)
class Loaded:
    """A loaded model, which generates texts.

    Attributes:
        write: returns the text that follows a prompt, in pieces, each as soon as its characters are
            complete.
        texts: yields the text that follows each prompt, in order.
        statistics: returns the statistics of the last call of `write` or `texts` so far.
        seconds: the duration of each step before the first token.
        notes: how the program differs from the given model.
        choice_notes: sampling options that have no effect.
    """

    write: Callable[[Prompt], Iterator[str]]
    texts: Callable[[Sequence[Prompt]], Iterator[str]]
    statistics: Callable[[], Statistics]
    seconds: dict[str, float]
    notes: tuple[str, ...]
    choice_notes: tuple[str, ...] = ()


def load(cached: Cached, task: Task) -> Loaded:
    """Loads the model, from the cache if possible.

    Raises:
        Error: the stage that failed.
    """
    if isinstance(cached.entry, Entry) and _needs_no_pytorch(task, cached.entry):
        tokenizer = _tokenizer(cached.entry)
        counts = [len(tokenizer.encode(prompt)) for prompt in task.prompts]
        _check_lengths(task, counts, cached.entry.about["text"])
        if (bundle := bundles.find_bundle(cached.entry, task.choice)) is not None:
            cached.say_found()
            seconds = dict.fromkeys(("capture", "import", "lower", "compile"), 0.0)
            return _from_bundle(cached.entry, bundle, task, seconds)
    return _with_pytorch(cached, task)


def _needs_no_pytorch(task: Task, entry: Entry) -> bool:
    """Returns whether NumPy is enough for the task, the model's settings and its tokenizer."""
    has_tokenizer = TOKENIZER in entry.about["files"]
    return task.is_plain and has_tokenizer and not entry.about["text"]["constraints"]


def _check_lengths(task: Task, prompt_tokens: Iterable[int], text: dict[str, Any]) -> None:
    for count in prompt_tokens:
        check_length(count, task.max_new_tokens, task.max_length, len(text["start"]))


def unpacks_weights(runner: str) -> bool:
    """Returns whether packed weights are unpacked before a program for this runner is stored.

    A stored program is IR, which is not unpacked when it is loaded.
    """
    if runner == BUNDLED:
        return False
    # Imported here, because it may import the backend's file.
    from pipelines.backends.finding import find_backend

    return find_backend(runner).input.unpack_weights


def _tokenizer(entry: Entry) -> KeptTokenizer:
    return KeptTokenizer((entry.folder / TOKENIZER).read_bytes())


def _from_bundle(entry: Entry, bundle: Bundle, task: Task, seconds: dict[str, float]) -> Loaded:
    from unmess.program_cache.writer import Writer

    text = entry.about["text"]
    writer = Writer(
        bundle,
        _tokenizer(entry),
        frozenset(text["end"]),
        task.max_length,
        text["penalty"],
        text["start"],
        task.batch,
        task.prompt_chunk,
    )
    enter_stage("run")
    return Loaded(
        lambda prompt: writer(prompt, task.max_new_tokens, task.stop),
        lambda prompts: writer.texts(prompts, task.max_new_tokens, task.stop),
        lambda: writer.statistics,
        seconds,
        bundle.manifest.notes,
    )


def _with_pytorch(cached: Cached, task: Task) -> Loaded:
    import unmess
    from unmess.core.options.target_options import TargetOptions
    from unmess.generation import Generator, encode
    from unmess.sampling import Sampling

    sampling = Sampling(*task.sampling)
    for note in sampling.notes:
        cached.session.progress.line(f"note: {note}")
    decoder = _Decoder(cached.request.model, cached.request.trust, task)
    found = cached.found(decoder.capture, decoder.about)
    tokenizer, text = decoder.tokenizer, decoder.text
    if tokenizer is None and found.entry is not None:
        text = found.entry.about["text"]
        tokenizer = _chat_tokenizer(found.entry) if task.chat else _tokenizer(found.entry)
        counts = [encode(tokenizer, prompt).shape[1] for prompt in task.prompts]
        _check_lengths(task, counts, text)
    if found.entry is not None and _needs_no_pytorch(task, found.entry):
        seconds: dict[str, float] = {}
        bundle = bundles.make_bundle(found.entry, found.program, task.choice, seconds)
        if bundle is not None:
            return _from_bundle(found.entry, bundle, task, seconds)
    target = TargetOptions(cpu=task.choice.cpu, preset=task.choice.preset)
    generator = Generator(
        run=unmess.load(found.program, task.runner, target, unchecked=task.choice.unchecked),
        tokenizer=tokenizer,
        max_length=task.max_length,
        batch=task.batch,
        prompt_chunk=task.prompt_chunk,
        notes=found.program.notes,
        **text,
    )
    enter_stage("run")
    return Loaded(
        lambda prompt: generator(prompt, task.max_new_tokens, sampling, stop=task.stop),
        lambda prompts: generator.texts(prompts, task.max_new_tokens, sampling, stop=task.stop),
        lambda: generator.statistics,
        generator.run.seconds,
        tuple(map(str, generator.notes)),
        tuple(map(str, sampling.notes)),
    )


def _chat_tokenizer(entry: Entry) -> Any:
    """Returns the tokenizer of transformers, which has the chat template."""
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast.from_pretrained(entry.folder)


class _Decoder:
    """Builds and captures a decoder.

    Attributes:
        tokenizer: the model's tokenizer; None before the model is built.
        text: the model's settings, see `settings_of`; None before the model is built.
    """

    tokenizer: Any = None
    text: dict[str, Any] | None = None

    def __init__(self, model: str, trust: bool, task: Task):
        self._model = model
        self._trust = trust
        self._task = task

    def capture(self) -> Programs:
        """Captures the decoder. Checks first that the texts fit: compiling takes minutes."""
        import torch

        from importers.sources import find_source
        from unmess.generation import capture_decoder, encode
        from unmess.text_settings import settings_of

        task = self._task
        enter_stage("source")
        source = find_source(self._model, self._trust)
        counts = [encode(source.tokenizer, prompt).shape[1] for prompt in task.prompts]
        text = settings_of(source)
        _check_lengths(task, counts, text)
        dtype = None if task.dtype is None else getattr(torch, task.dtype)
        programs = capture_decoder(source, task.max_length, dtype, task.batch)
        if unpacks_weights(task.runner):
            # Imported here to save start-up time: it imports parts of Inductor.
            from importers.folding import unpack_weights

            programs = unpack_weights(programs)
        self.tokenizer, self.text = source.tokenizer, text
        return programs

    def about(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Returns the JSON data and the files that the cache entry holds beside the program."""
        prompt = self._task.prompts[0]
        sample = prompt if isinstance(prompt, str) else prompt[-1]["content"]
        return {"text": self.text}, tokenizer_files(self.tokenizer, sample)


def tokenizer_files(tokenizer: Any, prompt: str) -> dict[str, bytes]:
    """Returns the tokenizer's files; none if the tokenizer needs transformers."""
    import tempfile
    from pathlib import Path

    from unmess.text import kept_form

    content = kept_form(tokenizer, prompt)
    if content is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        files = {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.is_file()}
    return files | {TOKENIZER: content}
