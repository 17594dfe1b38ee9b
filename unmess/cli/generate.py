"""`unmess generate`: continues a text, or a conversation, with a language model."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from typing import Any

import click

from importers import cache_length
from pipelines.backends.table import check_runner
from unmess.cli import arguments
from unmess.cli.cached import working
from unmess.cli.generating import Loaded, Task, load, unpacks_weights
from unmess.cli.session import Session, command
from unmess.core.errors.error import Error
from unmess.core.options.names import check_name
from unmess.format import duration
from unmess.program_cache.bundles import Choice
from unmess.program_cache.capturing import Need
from unmess.program_cache.request import Decoder, Request
from unmess.text import Message

_DTYPES = ("float32", "bfloat16", "float16")


@click.command()
@arguments.model
@click.option(
    "--prompt",
    metavar="TEXT",
    help="Text to continue; - reads it from stdin. With --chat and without this option, every line "
    "of stdin is a turn of one conversation.",
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
    "--dtype",
    metavar="DTYPE",
    help=f"Dtype of the weights: {', '.join(_DTYPES)}. Default: as saved.",
)
@arguments.no_cache
@command
def generate(
    session: Session,
    model: str,
    prompt: str | None,
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
    dtype: str | None,
    no_cache: bool,
) -> None:
    """Continue a text with MODEL, a decoder of transformers, as hf:FOLDER or hf:FILE.gguf.

    An encoder-decoder, such as T5 or BART, writes its answer to the text.

    The text goes to stdout while it is generated, the speed to stderr.
    """
    check_runner(runner)
    if dtype is not None:
        check_name("dtype", dtype, _DTYPES)
    if system is not None and not chat:
        raise Error("usage", "--system needs a conversation", hint="add --chat")
    if "" in stop:
        raise Error("usage", "a stop string is empty", hint="pass a text, such as --stop User:")
    turns = read_lines() if chat and prompt is None else iter([_text(prompt)])
    conversation = Conversation(system) if chat else None
    turn = next(turns, None)
    if turn is None:
        raise Error("usage", "stdin has no turn", hint="write one turn of the conversation a line")
    task = Task(
        turn if conversation is None else conversation.ask(turn),
        max_new_tokens,
        max_length,
        dtype,
        runner,
        Choice(cpu, preset, unchecked),
        (temperature, top_k, top_p, seed),
        stop,
    )
    decoder = Decoder(max_length, dtype, unpacks_weights(runner))
    request = Request(model, decoder=decoder, trust=trust)
    with working(session, request, Need(tokenizer=True), no_cache=no_cache) as cached:
        loaded = load(cached, task)
        pieces = loaded.write(task.prompt)
        first = next(pieces, "")
    rows = [_write(session, turn, itertools.chain([first], pieces), loaded)]
    for turn in turns:
        conversation.answer(rows[-1]["text"])
        rows.append(_write(session, turn, loaded.write(conversation.ask(turn)), loaded))
    if session.json:
        times = loaded.seconds | {
            name: sum(row["seconds"][name] for row in rows) for name in ("prefill", "decode")
        }
        session.write_json(
            {"ok": True, "model": model, "runner": runner}
            | (rows[0] if prompt is not None else {"turns": rows})
            | {"notes": [*loaded.choice_notes, *loaded.notes], "seconds": times}
        )
    session.say_notes(loaded.notes)


def _text(prompt: str | None) -> str:
    """Returns the prompt, from stdin if it is `-`.

    Raises:
        Error: stage `usage`, if there is none.
    """
    if prompt is None:
        raise Error(
            "usage", "there is no prompt", hint="pass --prompt TEXT, or --chat for a conversation"
        )
    text = sys.stdin.read() if prompt == "-" else prompt
    if not text:
        raise Error(
            "usage", "the prompt is empty", hint='pass a text, such as --prompt "Once upon a time"'
        )
    return text


def _write(session: Session, prompt: str, pieces: Iterator[str], loaded: Loaded) -> dict[str, Any]:
    """Writes a text while it is generated, and its speed. Returns its row for JSON."""
    text = ""
    for piece in pieces:
        text += piece
        if not session.json:
            session.write_piece(piece)
    done = loaded.statistics()
    speed = done.tokens_per_second
    if not session.json:
        session.write("")
        session.progress.finished(
            f"read {done.prompt_tokens} tokens in {duration(done.prefill_seconds)}, wrote "
            f"{done.new_tokens}" + (f", {speed:.1f} a second" if speed else "")
        )
    return {
        "prompt": prompt,
        "text": text,
        "prompt_tokens": done.prompt_tokens,
        "new_tokens": done.new_tokens,
        "tokens_per_second": speed,
        "seconds": {"prefill": done.prefill_seconds, "decode": done.decode_seconds},
    }


class Conversation:
    """The messages of a conversation, in order."""

    def __init__(self, system: str | None = None):
        self._messages: list[Message] = []
        if system is not None:
            self._add("system", system)

    def ask(self, text: str) -> tuple[Message, ...]:
        """Adds a turn of the user. Returns all messages."""
        self._add("user", text)
        return tuple(self._messages)

    def answer(self, text: str) -> None:
        """Adds the model's answer."""
        self._add("assistant", text)

    def _add(self, role: str, text: str) -> None:
        self._messages.append({"role": role, "content": text})


def read_lines() -> Iterator[str]:
    """Yields the lines of stdin, except empty ones. Prompts for each of them in a terminal."""
    while True:
        if sys.stdin.isatty():
            sys.stderr.write("> ")
            sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            return
        if text := line.strip():
            yield text
