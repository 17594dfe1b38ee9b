"""`unmess package`: writes a model to a folder that runs without PyTorch."""

from __future__ import annotations

from pathlib import Path

import click

from importers import cache_length
from pipelines.backends.table import BUILT_IN, IREE_TARGETS, check_packaged
from unmess.cli import arguments
from unmess.cli.arguments import CaptureOptions
from unmess.cli.cached import GENERATE, working
from unmess.cli.session import Session, command
from unmess.core.errors.error import Error
from unmess.program_cache.request import Decoder, Request


@click.command("package")
@arguments.model
@click.option(
    "--on",
    "runner",
    default="iree-cpu",
    show_default=True,
    metavar="RUNNER",
    help=f"Runner to package for: {', '.join(IREE_TARGETS)}.",
)
@click.option("-o", "--output", required=True, metavar="DIR", help="Folder to create.")
@arguments.cpu
@click.option(
    "--target",
    metavar="NAME",
    help="Architecture of the GPU: sm_80 for iree-cuda, gfx942 for iree-hip, rdna3 for "
    "iree-vulkan. Default: the architecture of the GPU of this computer.",
)
@arguments.preset
@arguments.unchecked
@click.option(
    "--max-length",
    type=click.IntRange(min=cache_length.FEWEST),
    metavar="N",
    help="For a decoder: number of positions of the key-value cache, for the prompt and the "
    f"new tokens together. Default: {cache_length.DEFAULT}, or the model's limit.",
)
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    metavar="N",
    help="For a decoder: number of texts that are generated together. Default: 1.",
)
@arguments.cacheable_capture
@command
def package_(
    session: Session,
    model: str,
    runner: str,
    output: str,
    cpu: str,
    target: str | None,
    preset: str | None,
    unchecked: bool,
    max_length: int | None,
    batch: int | None,
    capture: CaptureOptions,
    no_cache: bool,
) -> None:
    """Write MODEL to a folder that unmess.bundle.load runs without PyTorch.

    A decoder (hf:FOLDER#generate) has the entry points prefill and decode, and its key-value cache
    stays on the device.
    """
    check_packaged(runner)
    gpu = _gpu(runner, target)
    capture.check()
    folder = Path(output)
    is_decoder = model.endswith(GENERATE) and not (capture.inputs or capture.dynamic)
    # A Decoder keeps its cache as state: arguments would be copied in and out for each token.
    decoder = Decoder(max_length, batch=batch or 1) if is_decoder else None
    request = Request(model, decoder=decoder, **vars(capture))
    with working(session, request, no_cache=no_cache) as cached:
        from unmess.packaging import check_folder

        check_folder(folder)
        import unmess

        for option, number in (("--max-length", max_length), ("--batch", batch)):
            if number is not None and not is_decoder:
                raise Error(
                    "usage",
                    f"{option} sets the size of a decoder's cache, but this model is packaged "
                    "without a cache",
                    hint="package hf:FOLDER#generate, without --input and --dynamic",
                )
        program = cached.program()
        from importers.sources.huggingface.hub import tokenizer_files

        made = unmess.package(
            program,
            folder,
            on=runner,
            target=unmess.TargetOptions(cpu=cpu, preset=preset, **gpu),
            tokenizer=tokenizer_files(model),
            unchecked=unchecked,
        )
    if session.json:
        session.write_json(
            {
                "ok": True,
                "model": model,
                "runner": runner,
                "output": output,
                "files": made.files,
                "architecture": made.architecture,
                "machine": made.machine,
                "features": made.features,
                "checked": made.checked,
                "versions": made.versions,
                "notes": made.notes,
            }
        )
        return
    for name, file in made.files.items():
        session.write(f"{file['bytes'] / 1e6:10.2f} MB  {output}/{name}")
    session.say_notes(made.notes)


def _gpu(runner: str, architecture: str | None) -> dict[str, str]:
    """Returns the field of TargetOptions for `--target`."""
    if architecture is None:
        return {}
    field = BUILT_IN[runner].architecture if runner in BUILT_IN else None
    if field is None:
        raise Error(
            "usage",
            f"--target sets the architecture of a GPU, but {runner} has no choice of architectures",
            hint="use --cpu to choose the CPU" if runner == "iree-cpu" else "omit --target",
        )
    return {field: architecture}
