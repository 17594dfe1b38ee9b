"""`unmess generate`: continues a text, or a conversation, with a language model."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import click

from importers import cache_length
from pipelines.backends.table import check_runner
from unmess.cli import arguments
from unmess.cli.cached import working
from unmess.cli.generating import Loaded, Task, load, unpacks_weights
from unmess.cli.prompts import Conversation, read_lines, read_prompts
from unmess.cli.session import Session, command
from unmess.core.errors.error import Error
from unmess.core.options.names import check_name
from unmess.format import duration
from unmess.program_cache.bundles import Choice
from unmess.program_cache.capturing import Need
from unmess.program_cache.request import Decoder, Request
from unmess.text import Statistics
from unmess.text_groups import PROMPT_CHUNK

# The largest default of `--batch`, because each text takes memory for its cache.
_BATCH = 8
# The keys of a text in the list `texts` of the JSON document.
_ROW = ("prompt", "text", "prompt_tokens", "new_tokens")
_DTYPES = ("float32", "bfloat16", "float16")


@click.command()
@arguments.model
@click.option(
    "--prompt",
    "given",
    multiple=True,
    metavar="TEXT",
    help="Text to continue; - reads it from stdin. May be given several times. With --chat and "
    "without a prompt, every line of stdin is a turn of one conversation.",
)
@click.option(
    "--prompts",
    "file",
    metavar="FILE",
    help="Continue every line of a text file; - reads stdin.",
)
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of texts that are generated together. Default: the number of prompts, at most "
    f"{_BATCH}.",
)
@arguments.runner(default="iree-cpu")
@arguments.cpu
@arguments.preset
@arguments.trust
@arguments.unchecked
@click.option(
    "--max-new-tokens",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    metavar="N",
    help="Maximum number of new tokens; the model may end the text earlier.",
)
@click.option(
    "--temperature",
    type=float,
    metavar="T",
    help="Sample from the logits divided by T. Without T, K and P, the most likely token is "
    "chosen.",
)
@click.option("--top-k", type=int, metavar="K", help="Sample from the K most likely tokens.")
@click.option(
    "--top-p",
    type=float,
    metavar="P",
    help="Sample from the smallest set of most likely tokens with total probability P.",
)
@click.option(
    "--seed",
    type=int,
    metavar="N",
    help="Seed of the random numbers; the same seed gives the same text. No effect without T, "
    "K or P.",
)
@click.option(
    "--chat", is_flag=True, help="Format TEXT as a user's turn, with the model's chat template."
)
@click.option(
    "--system", metavar="TEXT", help="With --chat, the system message at the conversation's start."
)
@click.option(
    "--stop",
    multiple=True,
    metavar="TEXT",
    help="End the text before this string; may be given several times.",
)
@click.option(
    "--max-length",
    type=click.IntRange(min=cache_length.FEWEST),
    default=cache_length.DEFAULT,
    show_default=True,
    metavar="N",
    help="Number of positions of the key-value cache, for the prompt and the new tokens together; "
    "in an encoder-decoder, for each of them.",
)
@click.option(
    "--prompt-chunk",
    type=click.IntRange(min=1),
    default=PROMPT_CHUNK,
    show_default=True,
    metavar="N",
    help="Maximum number of tokens of a prompt that a decoder reads at once. Fewer need less "
    "memory. The text is the same.",
)
@click.option(
    "--dtype",
    metavar="DTYPE",
    help=f"Dtype of the weights: {', '.join(_DTYPES)}. Default: as saved.",
)
@arguments.no_cache
@command
def generate(
    session: Session,
    model: str,
    given: tuple[str, ...],
    file: str | None,
    batch: int | None,
    runner: str,
    cpu: str,
    preset: str | None,
    trust: bool,
    unchecked: bool,
    max_new_tokens: int,
    temperature: float | None,
    top_k: int | None,
    top_p: float | None,
    seed: int | None,
    chat: bool,
    system: str | None,
    stop: tuple[str, ...],
    max_length: int,
    prompt_chunk: int,
    dtype: str | None,
    no_cache: bool,
) -> None:
    """Continue a text with MODEL, a decoder of transformers, as hf:FOLDER or hf:FILE.gguf.

    An encoder-decoder, such as T5 or BART, writes its answer to the text.

    The text goes to stdout while it is generated, the speed to stderr. The texts of several prompts
    are generated together. Each goes to stdout below its prompt.
    """
    check_runner(runner)
    if dtype is not None:
        check_name("dtype", dtype, _DTYPES)
    if system is not None and not chat:
        raise Error("usage", "--system needs a conversation", hint="add --chat")
    if "" in stop:
        raise Error("usage", "a stop string is empty", hint="pass a text, such as --stop User:")
    is_conversation = chat and not given and file is None
    if is_conversation and batch is not None:
        raise Error("usage", "--batch needs prompts", hint="pass --prompt TEXT or --prompts FILE")
    turns = read_lines() if is_conversation else iter(())
    prompts = list(itertools.islice(turns, 1)) if is_conversation else read_prompts(given, file)
    if not prompts:
        raise Error("usage", "stdin has no turn", hint="write one turn of the conversation a line")
    conversation = Conversation(system)
    task = Task(
        (conversation.ask(prompts[0]),)
        if is_conversation
        else tuple(Conversation(system).ask(text) if chat else text for text in prompts),
        max_new_tokens,
        max_length,
        dtype,
        runner,
        Choice(cpu, preset, unchecked),
        (temperature, top_k, top_p, seed),
        stop,
        batch or min(len(prompts), _BATCH),
        prompt_chunk,
    )
    decoder = Decoder(max_length, dtype, unpacks_weights(runner), task.batch)
    request = Request(model, decoder=decoder, trust=trust)
    has_several = len(prompts) > 1
    with working(session, request, Need(tokenizer=True), no_cache=no_cache) as cached:
        loaded = load(cached, task)
        pieces = loaded.texts(task.prompts) if has_several else loaded.write(task.prompts[0])
        first = next(pieces, "")
    pieces = itertools.chain([first], pieces)
    if has_several:
        document = _write_texts(session, prompts, pieces, loaded)
    else:
        document = _write(session, prompts[0], pieces, loaded)
    if is_conversation:
        rows = [document]
        for turn in turns:
            conversation.answer(rows[-1]["text"])
            rows.append(_write(session, turn, loaded.write(conversation.ask(turn)), loaded))
        document = {"turns": rows, "seconds": _sums(rows)}
    elif not has_several:
        document["texts"] = [{name: document[name] for name in _ROW}]
    if session.json:
        document["seconds"] = loaded.seconds | document["seconds"]
        document["notes"] = [*loaded.choice_notes, *loaded.notes]
        session.write_json({"ok": True, "model": model, "runner": runner} | document)
    session.say_notes(loaded.notes)


def _sums(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Returns the total times of all turns of a conversation."""
    return {name: sum(row["seconds"][name] for row in rows) for name in ("prefill", "decode")}


def _write(session: Session, prompt: str, pieces: Iterator[str], loaded: Loaded) -> dict[str, Any]:
    """Writes a text while it is generated, and its speed. Returns its row for JSON."""
    text = ""
    for piece in pieces:
        text += piece
        if not session.json:
            session.write_piece(piece)
    if not session.json:
        session.write("")
    return {"prompt": prompt, "text": text} | _speed(session, loaded.statistics())


def _write_texts(
    session: Session, prompts: list[str], texts: Iterator[str], loaded: Loaded
) -> dict[str, Any]:
    """Writes each text below its prompt, and the speed of all. Returns the JSON document."""
    rows = []
    for index, (prompt, text) in enumerate(zip(prompts, texts, strict=True)):
        if not session.json:
            session.write_piece(f"> {prompt}\n{text}\n")
        counts = loaded.statistics().texts[index]
        values = (prompt, text, counts.prompt_tokens, counts.new_tokens)
        rows.append(dict(zip(_ROW, values, strict=True)))
    return {"texts": rows} | _speed(session, loaded.statistics())


def _speed(session: Session, done: Statistics) -> dict[str, Any]:
    """Reports the speed of the last texts. Returns it for JSON."""
    speed = done.tokens_per_second
    if not session.json:
        session.progress.finished(
            f"read {done.prompt_tokens} tokens in {duration(done.prefill_seconds)}, wrote "
            f"{done.new_tokens}" + (f", {speed:.1f} a second" if speed else "")
        )
    return {
        "prompt_tokens": done.prompt_tokens,
        "new_tokens": done.new_tokens,
        "tokens_per_second": speed,
        "seconds": {"prefill": done.prefill_seconds, "decode": done.decode_seconds},
    }
