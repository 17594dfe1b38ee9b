"""`unmess tune`: finds the fastest options of IREE's compiler, or runner, for a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pipelines.backends.table import AUTO
from unmess.cli import arguments
from unmess.cli.arguments import CaptureOptions
from unmess.cli.session import Session, command
from unmess.core.cache.artifacts import SIZE, size_limit
from unmess.format import duration

if TYPE_CHECKING:
    from unmess.tuning import Candidate


@click.command()
@arguments.model
@click.option(
    "--on",
    "runner",
    default="iree-cpu",
    show_default=True,
    metavar="RUNNER",
    help=f"iree-cpu, or {AUTO} to time the reference runner, too, and to store the fastest runner.",
)
@arguments.capture
@arguments.cpu
@command
def tune(
    session: Session,
    model: str,
    runner: str,
    capture: CaptureOptions,
    cpu: str,
) -> None:
    """Find the preset of IREE's compiler that makes MODEL fastest on iree-cpu, and store it.

    Each preset is compiled, compared with eager PyTorch, and timed in turn with the others. The
    fastest one is used for this model, this target and this processor from then on; it is stored
    in the cache folder. With `--on auto`, so is the fastest runner, for `unmess run --on auto`.
    """
    capture.check()
    with session.working(model):
        import unmess
        from unmess.captured import captured

        program = captured(model, **vars(capture))
        candidates = unmess.tune(
            program,
            unmess.TargetOptions(cpu=cpu),
            progress=lambda text: session.progress.begin(f"{model}: {text}"),
            on=runner,
        )
    plain = next((c.seconds for c in candidates if c.preset == "plain"), None)
    if session.json:
        session.write_json(
            {
                "ok": True,
                "model": model,
                "runner": candidates[0].runner,
                "preset": candidates[0].preset,
                "kept": candidates[0].kept,
                "candidates": [
                    {
                        "runner": candidate.runner,
                        "preset": candidate.preset,
                        "ok": candidate.ok,
                        "error": candidate.problem,
                        "seconds": {
                            "compile": candidate.compile_seconds,
                            "run": candidate.seconds,
                        },
                        "calls": len(candidate.times),
                    }
                    for candidate in candidates
                ],
            }
        )
        return
    session.write_table(_table(candidates, plain))
    best = candidates[0]
    if not best.kept:
        why = "the cache cannot be written" if size_limit() else f"the cache is off ({SIZE})"
        what = "runner" if runner == AUTO else "preset"
        session.write(f"{best.name} is the fastest {what}, but is not stored: {why}")
    elif runner == AUTO:
        preset = "" if best.preset is None else f", with the preset {best.preset},"
        session.write(f"{model} on {AUTO} uses {best.runner}{preset} from now on")
    else:
        session.write(f"{model} on iree-cpu uses the preset {best.preset} from now on")


def _table(candidates: list[Candidate], plain: float | None):
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for heading in ("preset", "result"):
        table.add_column(heading, overflow="fold")
    for heading in ("compile", "run", "times as fast as plain"):
        table.add_column(heading, justify="right", no_wrap=True)
    for candidate in candidates:
        seconds = candidate.seconds
        table.add_row(
            candidate.name,
            "matches eager" if candidate.ok else candidate.problem,
            duration(candidate.compile_seconds) if candidate.compile_seconds else "",
            "" if seconds is None else duration(seconds),
            "" if seconds is None or plain is None else f"{plain / seconds:.2f}",
        )
    return table
