"""`unmess generate`: continues a text with a language model."""

from __future__ import annotations

import itertools
import sys

import click

from importers import cache_length
from pipelines.backends.table import check_runner
from unmess.cli import arguments
from unmess.cli.cached import working
from unmess.cli.generating import Task, start, unpacks_weights
from unmess.cli.session import Session, command
from unmess.core.errors.error import Error
from unmess.core.options.names import check_name
from unmess.format import duration
from unmess.program_cache.bundles import Choice
from unmess.program_cache.capturing import Need
from unmess.program_cache.request import Decoder, Request

_DTYPES = ("float32", "bfloat16", "float16")


@click.command()
@arguments.model
@click.option(
    "--prompt", required=True, metavar="TEXT", help="Text to continue; - reads it from stdin."
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
    prompt: str,
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
    if prompt == "-":
        prompt = sys.stdin.read()
    if not prompt:
        raise Error(
            "usage", "the prompt is empty", hint='pass a text, such as --prompt "Once upon a time"'
        )
    task = Task(
        prompt,
        chat,
        max_new_tokens,
        max_length,
        dtype,
        runner,
        Choice(cpu, preset, unchecked),
        (temperature, top_k, top_p, seed),
    )
    decoder = Decoder(max_length, dtype, unpacks_weights(model, runner))
    request = Request(model, decoder=decoder, trust=trust)
    with working(session, request, Need(tokenizer=True), no_cache=no_cache) as cached:
        written = start(cached, task)
        first = next(written.pieces, "")
    pieces = written.pieces
    text = ""
    for piece in itertools.chain([first], pieces):
        text += piece
        if not session.json:
            session.write_piece(piece)
    done = written.statistics()
    if session.json:
        session.write_json(
            {
                "ok": True,
                "model": model,
                "runner": runner,
                "prompt": prompt,
                "text": text,
                "prompt_tokens": done.prompt_tokens,
                "new_tokens": done.new_tokens,
                "tokens_per_second": done.tokens_per_second,
                "notes": [*written.choice_notes, *written.notes],
                "seconds": written.seconds
                | {"prefill": done.prefill_seconds, "decode": done.decode_seconds},
            }
        )
        return
    session.write("")
    speed = done.tokens_per_second
    session.progress.finished(
        f"read {done.prompt_tokens} tokens in {duration(done.prefill_seconds)}, wrote "
        f"{done.new_tokens}" + (f", {speed:.1f} a second" if speed else "")
    )
    session.say_notes(written.notes)
