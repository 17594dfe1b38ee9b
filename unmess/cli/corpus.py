"""`unmess corpus`: writes a data set of the IR of many models, and replays its kernels."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unmess.cli import arguments
from unmess.cli.exit_status import INTERRUPTED
from unmess.cli.session import Session, command
from unmess.cli.streams import say
from unmess.core.errors.error import STAGE_FAILED
from unmess.core.options.names import check_name
from unmess.core.processes.threads import processors
from unmess.progress import Count

if TYPE_CHECKING:
    from unmess.core.processes.workers import Parent
    from unmess.corpus.parts import Part, Parts
    from unmess.corpus.tables import Summary
    from unmess.corpus.work import Settings

_STAGES = ("torch", "linalg", "tosa", "stablehlo")


@click.group(invoke_without_command=True)
@arguments.patterns
@click.option(
    "--at",
    "stages",
    default=",".join(_STAGES),
    show_default=True,
    metavar="STAGE[,STAGE…]",
    help="The stages of the IR. Kernels are those at linalg.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0, max=2**63 - 1),
    default=0,
    show_default=True,
    help="Seed from which weights and inputs are made.",
)
@arguments.jobs("Models that are lowered at the same time.")
@arguments.timeout(
    "Time limit for the capture of a model, and for each stage.",
    default=600.0,
)
@arguments.memory
@arguments.shard("Lower only the I-th of N shares of the models, and write no tables.")
@click.option(
    "--again",
    type=click.Choice(("failed", "all")),
    help="Also lower the models again that have a result, or of which a stage has failed.",
)
@arguments.output_folder(
    "corpus",
    "Write the corpus to this folder. A later run adds the missing programs.",
)
@arguments.trust
@command
def corpus(
    session: Session,
    patterns: tuple[str, ...],
    stages: str,
    seed: int,
    jobs: int | None,
    timeout: float,
    memory: float | None,
    shard: str,
    again: str | None,
    output: str,
    trust: bool,
) -> int:
    """Write a data set: the IR of many models at each stage, and every distinct linalg kernel.

    Each model is captured with static sizes, and with a dynamic first dimension, in a worker
    process, so that a crash or a hang costs one stage of one model. DIR gets Parquet files with the
    tables models, programs and kernels, and croissant.json, which describes them. Weights are not
    in it: they are made from a seed. After an interruption, run the command again. Two runs write
    the same bytes. The exit status is 3 if no model reaches any stage.
    """
    if click.get_current_context().invoked_subcommand is not None:
        return 0
    wanted_stages = list(dict.fromkeys(arguments.split_names((stages,))))
    for name in wanted_stages:
        check_name("stage", name, _STAGES)
    # Imported here, because `--help` does not need them.
    from unmess.core.processes.workers import Parent
    from unmess.corpus.parts import Parts
    from unmess.corpus.running import missing_parts
    from unmess.corpus.work import VARIANTS, Settings
    from unmess.corpus.writing import check_pyarrow
    from unmess.environment.versions import package_versions
    from unmess.isolated import CORPUS, libraries_of
    from unmess.matrix.cells import matching_models, parse_shard

    share = parse_shard(shard)
    if share.count == 1:
        check_pyarrow()
    models = share.of(matching_models(patterns))
    wanted = [(model, variant) for model in models for variant in VARIANTS]
    settings = Settings(seed, timeout, memory, trust)
    folder = Path(output)
    versions = package_versions()
    parts = Parts(folder, seed, versions)
    missing = missing_parts(parts, wanted, wanted_stages, again)
    if len(missing) < len(wanted):
        say(f"{len(wanted) - len(missing)} of {len(wanted)} variants are in {output} already")
    try:
        if missing:
            # Start it before the progress thread: a process with threads must not be forked.
            parent = Parent((*libraries_of(models, ()), *CORPUS))
            parent.begin()
            _run(session, parent, missing, parts, wanted_stages, settings, jobs or processors())
    except KeyboardInterrupt:
        left = len(missing_parts(parts, wanted, wanted_stages, None))
        say(f"interrupted: {left} of {len(wanted)} variants are missing; run it again to go on")
        return INTERRUPTED
    if share.count > 1:
        say("run the command without --shard when all shares are finished: it writes the tables")
        return 0
    return _write(session, folder, [parts.read(*each) for each in wanted], wanted_stages, versions)


def _run(
    session: Session,
    parent: Parent,
    missing: list[Part],
    parts: Parts,
    stages: list[str],
    settings: Settings,
    jobs: int,
) -> None:
    """Completes the missing parts, and shows how many are finished."""
    from unmess.corpus.running import run_parts

    left = Count(len(missing))

    def begin(part: Part, stage: str) -> None:
        session.progress.begin(f"[{left}] {part.model}, {part.variant}: {stage}")

    with parent, session.progress.showing():
        session.progress.begin("loading PyTorch")
        found = run_parts(
            *(parent, missing, parts, stages, settings, jobs),
            on_stage=begin,
            on_output=session.progress.line,
        )
        for part in found:
            left.finish_one()
            session.progress.finished(f"[{left}] {part.model}, {part.variant}: {_state(part)}")


def _state(part: Part) -> str:
    if part.failure:
        return f"{part.failure['stage']}: {part.failure['cause']}"
    failed = {stage: each["failure"] for stage, each in part.results.items() if "failure" in each}
    if not failed:
        return "done"
    return "; ".join(f"{stage} stopped in {each['stage']}" for stage, each in failed.items())


def _write(
    session: Session, folder: Path, parts: list[Part], stages: list[str], versions: dict[str, str]
) -> int:
    from unmess.corpus.croissant import write_croissant
    from unmess.corpus.tables import rows_of, summary_of
    from unmess.corpus.writing import write_tables

    rows = rows_of(parts, stages)
    summary = summary_of(rows)
    files = write_tables(folder, rows)
    paths = [path for each in files.values() for path in each]
    paths.append(write_croissant(folder, files, summary, versions))
    if session.json:
        document = {
            "ok": bool(summary.programs),
            **asdict(summary),
            "files": {path.name: path.stat().st_size for path in paths},
        }
        session.write_json(document)
    else:
        session.write("\n".join(_summary(summary, paths)))
    return 0 if summary.programs else STAGE_FAILED


def _summary(summary: Summary, paths: list[Path]) -> list[str]:
    lines = [f"{summary.captured} of {summary.models} models are captured"]
    lines += [f"{stage}: {count} programs" for stage, count in summary.programs.items()]
    if summary.failures:
        failures = ", ".join(f"{count} in {stage}" for stage, count in summary.failures.items())
        lines.append(f"programs that stopped: {failures}")
    lines.append(
        f"kernels: {summary.kernels} distinct ones of {summary.occurrences} linalg operations"
    )
    return lines + [f"{path}: {path.stat().st_size / 1e6:.1f} MB" for path in paths]


@corpus.command()
@click.argument("folder", metavar="DIR")
@click.option(
    "--sample",
    "count",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    metavar="N",
    help="How many kernels to replay.",
)
@click.option(
    "--programs",
    type=click.IntRange(min=0),
    default=4,
    show_default=True,
    metavar="N",
    help="How many whole models to replay, at linalg.",
)
@click.option("--all", "every", is_flag=True, help="Replay all kernels and models.")
@click.option(
    "--seed",
    type=click.IntRange(min=0, max=2**63 - 1),
    default=0,
    show_default=True,
    help="Seed of the sample, and of the arguments of kernels.",
)
@arguments.timeout(
    "Time limit for each kernel and model.",
    default=120.0,
)
@arguments.jobs("Kernels or models at the same time.")
@command
def verify(
    session: Session,
    folder: str,
    count: int,
    programs: int,
    every: bool,
    seed: int,
    timeout: float,
    jobs: int | None,
) -> int:
    """Replay kernels and models of the corpus in DIR with upstream MLIR.

    PyTorch and torch-mlir are not used. Upstream MLIR compiles and runs a kernel; NumPy evaluates
    its indexing maps and its body. Of large results, some elements are compared. The results of a
    model, with weights and inputs made from their seeds, are compared with the recorded statistics
    of eager PyTorch. The exit status is 1 if a result differs.
    """
    from unmess.core.processes.workers import Parent
    from unmess.corpus import verify as library
    from unmess.corpus.writing import check_pyarrow

    check_pyarrow()
    library.check_upstream()
    kernels = library.sample_kernels(Path(folder), None if every else count, seed)
    models = library.sample_programs(Path(folder), None if every else programs, seed)
    found: dict[str, list[dict[str, Any]]] = {"kernels": [], "programs": []}
    with Parent(library.LIBRARIES) as parent, session.progress.showing():
        work = (timeout, jobs or processors())
        for result in library.replay_kernels(parent, kernels, *work):
            found["kernels"].append(result)
            session.progress.begin(f"{len(found['kernels'])}/{len(kernels)} kernels")
        for result in library.replay_programs(parent, models, *work):
            found["programs"].append(result)
            session.progress.begin(f"{len(found['programs'])}/{len(models)} programs")
    for results in found.values():
        results.sort(key=lambda each: each["name"])
    is_wrong = any(each["result"] == "wrong" for results in found.values() for each in results)
    if session.json:
        session.write_json({"ok": not is_wrong, **found})
    else:
        for kind, results in found.items():
            session.write("\n".join(_verdict(kind, results)))
    return 1 if is_wrong else 0


def _verdict(kind: str, results: list[dict[str, Any]]) -> list[str]:
    wrong = [each for each in results if each["result"] == "wrong"]
    lines = [f"wrong: {each['name']}: {each['reason']}" for each in wrong]
    reasons = Counter(each["reason"] for each in results if each["result"] == "not checkable")
    lines += [f"not checkable: {number}: {reason}" for reason, number in reasons.most_common()]
    right = sum(each["result"] == "right" for each in results)
    checked = right + len(wrong)
    share = f" ({right / checked:.1%})" if checked else ""
    lines.append(
        f"{len(results)} {kind} replayed: {right} right{share}, {len(wrong)} wrong, "
        f"{len(results) - checked} not checkable"
    )
    return lines
