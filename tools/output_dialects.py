"""Lowers 40 models to each output dialect, runs them on both runners and compares with eager
PyTorch.

    ./pixiw run output-dialects
    ./pixiw run output-dialects hf:bert torchvision:resnet18 --again failed

It also checks whether torch-mlir's own pipelines (`torch_mlir.fx.export_and_import`) lower the same
models, and whether upstream MLIR reads the IR. Each model and output dialect runs in a separate
process. Every finished row is appended to a results file. A later run only adds missing
results. Writes the page `docs/output-dialects/table.md` from all results.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

from pipelines.backends.table import DEFAULT_RUNNERS
from tools.torch_mlir_alone import why_not
from unmess.core.cache.folder import cache_folder
from unmess.core.errors.error import Error
from unmess.core.errors.stages import OUTPUT_DIALECTS
from unmess.core.files.writing import write_text
from unmess.core.processes.workers import Died, Parent, each_in_workers
from unmess.isolated import Options, check_isolated, libraries_of
from unmess.row import Row
from unmess.row_log import appending, read_rows, write_row

PAGE = Path(__file__).resolve().parents[1] / "docs" / "output-dialects" / "table.md"
HF = (
    "albert bart bert clip convnext detr distilbert gemma2 gpt2 llama mixtral qwen3 resnet roberta "
    "segformer swin t5 vit wav2vec2 whisper"
)
TORCHVISION = (
    "alexnet convnext_tiny deeplabv3_mobilenet_v3_large densenet121 efficientnet_b0 googlenet "
    "inception_v3 lraspp_mobilenet_v3_large mnasnet0_5 mobilenet_v2 mobilenet_v3_small r3d_18 "
    "regnet_y_400mf resnet18 shufflenet_v2_x0_5 squeezenet1_1 ssdlite320_mobilenet_v3_large swin_t "
    "vgg11 vit_b_32"
)
MODELS = (
    *(f"hf:{name}" for name in HF.split()),
    *(f"torchvision:{name}" for name in TORCHVISION.split()),
)
# Used in place of a runner in a row.
PLAIN = "torch-mlir"
UPSTREAM = "upstream MLIR"
# The output dialects that upstream MLIR has.
UPSTREAM_DIALECTS = ("linalg", "tosa")
# Functions of this file by import path: workers cannot import `__main__`.
_PLAIN = "tools.output_dialects:_plain"
_UPSTREAM = "tools.output_dialects:_upstream"
_VERSIONS = ("torch", "torchvision", "transformers", "torch-mlir", "iree-base-compiler")

# Keyed by model, output dialect and runner.
Results = dict[tuple[str, str, str], Row]


def main() -> int:
    options = _options()
    unknown = sorted(set(options.models) - set(MODELS))
    if unknown:
        print(f"not in the list: {', '.join(unknown)}", file=sys.stderr)
        return 2
    file = options.results or cache_folder() / "sweeps" / "output_dialects.jsonl"
    results = read(file)
    if not options.report:
        file.parent.mkdir(parents=True, exist_ok=True)
        parent = Parent((*libraries_of(MODELS, DEFAULT_RUNNERS), "tools.output_dialects"))
        with parent, appending(file) as log:
            for row in _work(parent, options.models or MODELS, results, options):
                results[row.model, row.via, row.runner] = row
                write_row(log, row)
                print(f"{row.model} on {row.place}: {row.error or row.stage}", file=sys.stderr)
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    write_text(PAGE, page(results))
    print("\n".join(summary(results)))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", help="model strings (default: all 40)")
    parser.add_argument("--results", type=Path, help="default: under the cache folder")
    parser.add_argument(
        "--timeout", type=float, default=600, help="seconds per output dialect and runner"
    )
    parser.add_argument(
        "--again",
        choices=("failed", "all"),
        help="run these models again, even if there is a result",
    )
    parser.add_argument(
        "--report", action="store_true", help="write the page from the stored results only"
    )
    return parser.parse_args()


def read(file: Path) -> Results:
    """Returns the latest row for each model, output dialect and runner."""
    return {(row.model, row.via, row.runner): row for row in read_rows(file)}


def _work(
    parent: Parent, models: Sequence[str], results: Results, options: argparse.Namespace
) -> Iterable[Row]:
    def wanted(model: str, dialect: str, runner: str) -> bool:
        row = results.get((model, dialect, runner))
        return (
            row is None
            or options.again == "all"
            or (options.again == "failed" and not row.ok and runner in DEFAULT_RUNNERS)
        )

    for model in models:
        dialects = [dialect for dialect in OUTPUT_DIALECTS if wanted(model, dialect, PLAIN)]
        answers = each_in_workers(parent, [(model, to) for to in dialects], _PLAIN, 300.0)
        for dialect, answer in zip(dialects, answers, strict=True):
            cause = answer.cause if isinstance(answer, Died) else answer
            stage = "done" if cause is None else dialect
            yield Row(model, PLAIN, cause is None, stage, cause, via=dialect)
        dialects = [dialect for dialect in UPSTREAM_DIALECTS if wanted(model, dialect, UPSTREAM)]
        answers = each_in_workers(parent, [(model, to) for to in dialects], _UPSTREAM, 300.0)
        for dialect, answer in zip(dialects, answers, strict=True):
            if isinstance(answer, Died):
                answer = (answer.cause, [])
            cause, notes = answer
            stage = "done" if cause is None else dialect
            yield Row(model, UPSTREAM, cause is None, stage, cause, notes=notes, via=dialect)
        for dialect in OUTPUT_DIALECTS:
            runners = [runner for runner in DEFAULT_RUNNERS if wanted(model, dialect, runner)]
            if runners:
                yield from check_isolated(
                    parent,
                    model,
                    runners,
                    Options(timeout=options.timeout, via=dialect),
                    on_stage=lambda _stage, _runner: None,
                    on_output=lambda _line: None,
                )


def _plain(job: tuple[str, str]) -> str | None:
    """Returns why torch-mlir alone cannot lower a model to an output dialect; None if it can."""
    from importers.sources import find_source
    from unmess.core.errors.quiet import quiet_libraries

    quiet_libraries()
    model, dialect = job
    try:
        source = find_source(model)
    except Error as error:
        return error.cause
    # torch-mlir's importer only finds persistent buffers.
    for part in source.model.modules():
        part._non_persistent_buffers_set.clear()
    return why_not(dialect, source.model, *source.args, **source.kwargs)


def _upstream(job: tuple[str, str]) -> tuple[str | None, list[str]]:
    """Returns why upstream MLIR cannot read a model's IR, or None; and notes on rewrites."""
    import unmess
    from pipelines.portability.portability import examine
    from unmess.core.errors.quiet import quiet_libraries

    quiet_libraries()
    model, dialect = job
    try:
        found = examine(unmess.lower(unmess.capture(model), to=dialect).ir)
    except Error as error:
        return error.cause, []
    if found.ok:
        return None, []
    if found.removable:
        names = dict.fromkeys(each.name for each in found.unknown if not each.harmless)
        return None, [f"without {', '.join(names)}"]
    return found.problem or found.remedy, []


def lowers(results: Results, model: str, dialect: str) -> bool | None:
    """Returns whether a model lowers to an output dialect; None if that was not tried."""
    rows = [results.get((model, dialect, runner)) for runner in DEFAULT_RUNNERS]
    known = [row for row in rows if row is not None]
    before = {"source", "capture", "import", "torch", dialect}
    return any(row.ok or row.stage not in before for row in known) if known else None


def summary(results: Results) -> list[str]:
    """Returns a Markdown table of the number of models that pass each step, by output dialect."""
    lines = [
        "| output dialect | models tried | lower | "
        + " | ".join(f"right on {name}" for name in DEFAULT_RUNNERS)
        + " | "
        "torch-mlir's own pipelines lower | upstream MLIR takes |",
        "| --- |" + " --- |" * (4 + len(DEFAULT_RUNNERS)),
    ]
    for dialect in OUTPUT_DIALECTS:
        known = [lowers(results, model, dialect) for model in MODELS]
        counts = [len(known) - known.count(None), known.count(True)]
        counts += [
            sum(_is_ok(results, model, dialect, runner) for model in MODELS)
            for runner in (*DEFAULT_RUNNERS, PLAIN, UPSTREAM)
        ]
        lines.append(f"| {dialect} | " + " | ".join(map(str, counts)) + " |")
    return lines


def _is_ok(results: Results, model: str, dialect: str, runner: str) -> bool:
    row = results.get((model, dialect, runner))
    return row is not None and row.ok


def page(results: Results) -> str:
    """Returns the page as Markdown: counts, a row for each model, and the cause of each failure."""
    missing = sum(
        (model, dialect, runner) not in results
        for model in MODELS
        for dialect in OUTPUT_DIALECTS
        for runner in (
            *DEFAULT_RUNNERS,
            PLAIN,
            *([UPSTREAM] if dialect in UPSTREAM_DIALECTS else []),
        )
    )
    columns = (
        *OUTPUT_DIALECTS,
        *(f"upstream, {dialect}" for dialect in UPSTREAM_DIALECTS),
        *(f"own {dialect}" for dialect in OUTPUT_DIALECTS),
    )
    holes: list[str] = []
    rows = []
    for model in MODELS:
        cells = [_cell(results, model, dialect, holes) for dialect in OUTPUT_DIALECTS]
        plain = [_plain_cell(results.get((model, dialect, PLAIN))) for dialect in OUTPUT_DIALECTS]
        upstream = [_upstream_cell(results, model, dialect, holes) for dialect in UPSTREAM_DIALECTS]
        rows.append(f"| `{model}` | " + " | ".join((*cells, *upstream, *plain)) + " |")
    return "\n".join(
        (
            "# The output dialects, model by model",
            "",
            "Written by `./pixiw run output-dialects`, with "
            + ", ".join(f"{name} {version(name)}" for name in _VERSIONS)
            + ".",
            "The IR of each output dialect is run: by the reference runner after it is lowered to "
            "linalg, and by IREE,",
            "which compiles TOSA and StableHLO directly. The results are compared with eager "
            f"PyTorch. The list of {len(MODELS)} models is fixed.",
            *([f"{missing} of the cells have no result yet."] if missing else []),
            "",
            *summary(results),
            "",
            "*right*: the model lowers, and both runners give eager's result. *own*: whether "
            "`torch_mlir.fx.export_and_import`",
            "lowers the model, with all buffers persistent, as its importer requires; its results "
            "were not checked.",
            "*upstream*: whether the upstream MLIR of the environment parses and verifies the IR, "
            "directly or rewritten by",
            "`--upstream-only` (see [portability](../portability.md)); upstream MLIR does not have "
            "StableHLO.",
            "",
            "| model | " + " | ".join(columns) + " |",
            "| --- |" + " --- |" * len(columns),
            *rows,
            "",
            "## Models that fail",
            "",
            *(f"{number}. {hole}" for number, hole in enumerate(holes, 1)),
            "",
        )
    )


def _cell(results: Results, model: str, dialect: str, holes: list[str]) -> str:
    found = {runner: results.get((model, dialect, runner)) for runner in DEFAULT_RUNNERS}
    if not any(found.values()):
        return "not run"
    if not lowers(results, model, dialect):
        row = next(row for row in found.values() if row is not None)
        return f"no {_numbered(holes, f'`{model}`, {dialect}: {_told(row)}')}"
    states = []
    for runner, row in found.items():
        if row is None:
            states.append(f"{runner} not run")
        elif not row.ok:
            hole = f"`{model}`, {dialect} on {runner}: {_told(row)}"
            states.append(f"{runner} no {_numbered(holes, hole)}")
    return f"lowers; {', '.join(states)}" if states else "right"


def _numbered(holes: list[str], hole: str) -> str:
    holes.append(hole)
    return f"({len(holes)})"


def _told(row: Row) -> str:
    escaped = row.error.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
    return f"{row.stage}: {escaped}"


def _upstream_cell(results: Results, model: str, dialect: str, holes: list[str]) -> str:
    row = results.get((model, dialect, UPSTREAM))
    if row is None:
        return "not run"
    if row.ok:
        return "rewritten" if row.notes else "reads"
    return f"no {_numbered(holes, f'`{model}`, {dialect} in upstream MLIR: {_told(row)}')}"


def _plain_cell(row: Row | None) -> str:
    return "not run" if row is None else "lowers" if row.ok else "no"


if __name__ == "__main__":
    sys.exit(main())
