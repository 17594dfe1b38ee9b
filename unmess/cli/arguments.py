"""Arguments and options that several commands take."""

from __future__ import annotations

import click

from unmess.core.names import STRATEGIES, check_name

model = click.argument("model")
strategy = click.option(
    "--strategy",
    default="auto",
    show_default=True,
    metavar="NAME",
    help=f"How to capture: {', '.join(STRATEGIES)}.",
)


def check_strategy(name: str) -> None:
    """Raises an Error (`usage`) where `name` is not the name of a capture strategy."""
    check_name("capture strategy", name, STRATEGIES)
