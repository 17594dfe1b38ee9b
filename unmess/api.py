"""The public functions: capture, capture_generation, combine, lower, load, check, analyze.

Each imports its dependencies when it is called: capturing needs no runner, and loading a program
that was captured before needs no `torch.export`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from importers.captured_program import is_captured
from importers.packed.names import is_packed
from pipelines.backends.table import AUTO, check_runner
from pipelines.legal_ops import legal_ops
from unmess.core.errors.error import Error
from unmess.core.errors.failure import only_errors
from unmess.core.errors.stages import OUTPUT_DIALECTS
from unmess.core.garbage import older_objects_skipped
from unmess.core.module.module import Module
from unmess.core.options.names import (
    FALLBACKS,
    check_name,
    check_portable,
    check_stage,
    check_upstream_only,
)
from unmess.core.options.target_options import TargetOptions
from unmess.core.processes.current_stage import enter_stage
from unmess.core.program.note import Note
from unmess.core.program.program import Program
from unmess.core.program.programs import Programs
from unmess.core.signature.signature import Signature, TensorSpec
from unmess.core.signature.size_expression import Dim
from unmess.plain_check import PlainCheck

if TYPE_CHECKING:
    from importers.sources.source import Source
    from pipelines.analysis.analysis import Analysis
    from pipelines.backends.backend import BackendInput
    from pipelines.backends.executable import Executable
    from pipelines.user_passes import UserPass
    from unmess.compare import Report


@only_errors()
def capture(
    model: str | torch.nn.Module | Callable[..., Any] | torch.export.ExportedProgram,
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    dynamic_shapes: Any = None,
    strategy: str = "auto",
    backend_legal_ops: Collection[str] = (),
    trust: bool = False,
    only: str | None = None,
) -> Program | Programs:
    """Captures a model.

    Args:
        model: an `nn.Module`, a method of one, a function, an `ExportedProgram`, or a model string
            such as `torchvision:resnet18`, `hf:bert` or `path/to/file.py:name`.
        args, kwargs: example arguments. A model string brings its own; those given here replace
            them.
        dynamic_shapes: as `torch.export.export` takes it, or strings as `--dynamic` takes them:
            `["input_ids.1=seq:2..128"]`. An example of size 1 along such a dimension is enlarged.
        strategy: `non-strict`, `strict`, `draft`, `make_fx` or `lazy`; `auto` takes the first of
            the first four that succeeds.
        backend_legal_ops: operators that are not decomposed, such as `aten.softmax.int`.
        trust: whether files that the model string names may run code: pickled objects, Python code
            of a Hugging Face folder, any operation in IR. docs/security.md lists what that means.
        only: the name of a module of the model, such as `layer1.0`, that is captured alone. The
            model runs in eager on its example arguments; those of the module's first call become
            the example. `dynamic_shapes` then applies to the module's arguments.

    Returns:
        The Program, which borrows the model's tensors; Programs for a model string that stands for
        several entry points, such as `hf:llama#generate`.

    Raises:
        Error: stage `usage`, `source` or `capture`.
    """
    name, notes = None, ()
    if isinstance(model, str):
        from importers.sources import find_source

        enter_stage("source")
        source = find_source(model, trust)
        if source.entries:
            if only is not None:
                raise Error(
                    "usage",
                    f"{model} has several entry points, so no module can be cut out of it",
                    hint="omit #generate" if "#" in model else "capture the model itself",
                )
            if args or kwargs or dynamic_shapes is not None:
                raise Error(
                    "usage",
                    f"{model} has several entry points, each with its own example arguments",
                    hint="call unmess.capture for each method of the model, and "
                    "unmess.combine the programs",
                )
            return _capture_entries(source, strategy, backend_legal_ops)
        name, notes = source.name, tuple(Note("source", text) for text in source.notes)
        if not args and not kwargs:
            if source.without_example is not None:
                raise source.without_example
            args, kwargs = source.args, source.kwargs
            # The source's dynamic shapes describe the arguments of the whole model.
            if dynamic_shapes is None and only is None:
                dynamic_shapes = source.dynamic_shapes
        model = source.model
    with older_objects_skipped():
        from importers.capture import capture as capture_model

        enter_stage("capture")
        program = capture_model(
            model,
            args,
            kwargs,
            dynamic_shapes=dynamic_shapes,
            strategy=strategy,
            name=name,
            keep_ops=legal_ops(backend_legal_ops),
            only=only,
        )
    program.notes = (*notes, *program.notes)
    return program


@only_errors()
def capture_generation(
    model: str | torch.nn.Module | Source,
    batch: int = 1,
    max_length: int | None = None,
    strategy: str = "auto",
    cache: str = "argument",
    trust: bool = False,
) -> Programs:
    """Captures a model of transformers with its key-value cache, as two entry points.

    A decoder has `prefill` and `decode`. Both are called with `(input_ids, cache)` and return
    `(logits, cache)`: the logits of the last token, (batch, vocabulary), and the cache, a dict of
    tensors whose sizes never change. `prefill` takes 2 to `max_length` tokens, `decode` one. The
    initial cache is `prefill`'s example: `programs["prefill"].args[1]`. Its `cache["padding"]`,
    int64 of (batch), is the length of the padding at the start of each text. A decoder with
    state-space layers has only `decode`, whose example is the empty cache.

    An encoder-decoder has `encode` and `decode`. `encode(input_ids, attention_mask)` takes a prompt
    of 2 to `max_length` tokens, both as (batch, tokens), and returns the encoder's states and the
    cache without tokens; for a model of sound or images, it takes that model's main input.
    `decode(decoder_input_ids, cache)` takes one token and returns `(logits, cache)`.

    With `cache="state"` the Executable holds the cache, which is neither taken nor returned.
    `run.state` has its tensors, `cache_length`, `cache_keys_0` and so on, and for several texts
    `cache_padding`. If `prefill` cannot be captured for any number of tokens, there is only
    `decode`, and a note says why.

    Args:
        model: a model with a language-model head, or a model string such as `hf:llama`.
        batch: number of texts at once.
        max_length: positions in the cache, prompt and generated tokens together (in an
            encoder-decoder, for each of them); by default 256, or the model's own limit where that
            is lower.
        strategy: as for `capture`.
        cache: `argument`, which is passed in and returned, or `state`.
        trust: as for `capture`.

    Raises:
        Error: stage `usage`, `source` or `capture`.
    """
    check_name("cache", cache, ("argument", "state"))
    enter_stage("source")
    source = as_source(model, trust)
    # Imported here, because it imports transformers.
    from importers.sources.huggingface.generation import with_cache

    with_entries = with_cache(source, batch, max_length, cache == "state")
    # With the cache as state, `decode` can read a prompt, too.
    optional = ("prefill",) if cache == "state" else ()
    return _capture_entries(with_entries, strategy, optional=optional)


def as_source(model: str | torch.nn.Module | Source, trust: bool = False) -> Source:
    """Returns the Source of a model string or of a module. That of a module has no example call."""
    from importers.sources import find_source
    from importers.sources.source import Source

    if isinstance(model, Source):
        return model
    if isinstance(model, str):
        return find_source(model, trust)
    return Source(type(model).__name__, model)


def _capture_entries(
    source: Source,
    strategy: str,
    backend_legal_ops: Collection[str] = (),
    optional: Collection[str] = (),
) -> Programs:
    """Captures the entry points of a source.

    Args:
        optional: entry points that are left out, with a note, if the capture refuses them.
    """
    from importers.capture import capture as capture_model

    enter_stage("capture")
    programs = {}
    notes = list(source.notes)
    for entry, part in source.entries.items():
        try:
            programs[entry] = capture_model(
                part.model,
                part.args,
                part.kwargs,
                dynamic_shapes=part.dynamic_shapes,
                strategy=strategy,
                name=source.name,
                keep_ops=legal_ops(backend_legal_ops),
            )
        except Error as problem:
            if entry not in optional:
                raise
            notes.append(f"a prompt is read token by token: {entry}: {problem.cause}")
    combined = combine(programs, source.name)
    combined.source_notes = tuple(Note("source", text) for text in notes)
    return combined


@only_errors()
def combine(programs: Mapping[str, Program], name: str | None = None) -> Programs:
    """Combines captured programs of one model as the entry points of one module.

    A weight that several of them use is stored once, and a buffer that one of them writes is state
    that the others read. Tensors are the same if they share memory, whatever their names.

    Args:
        programs: by the name of their entry point, a Python identifier; it becomes the name of the
            function in the IR and of the attribute of the Executable.
        name: of the model; by default that of the first program.

    Raises:
        Error: stage `usage`.
    """
    from importers.combine import combine as combine_programs

    return combine_programs(programs, name)


@only_errors()
def lower(
    program: Program | Programs,
    to: str = "linalg",
    weights: str = "external",
    *,
    insert_passes: Iterable[tuple[str, UserPass]] = (),
    stop_after: str | None = None,
    backend_legal_ops: Collection[str] = (),
    fold_constants: bool = False,
    sizes: Mapping[str, int] | None = None,
    nhwc: bool = False,
    generalize: bool = False,
    specialize: bool = False,
    outline: Collection[str] = (),
    upstream_only: bool = False,
    portable: str | None = None,
) -> Module:
    """Lowers a program to a stage.

    Args:
        to: `raw`, `torch`, `linalg`, `tosa` or `stablehlo`.
        weights: `external` (named arguments of the entry function), `inline` (literals that share
            the tensors' memory until they are printed), `elide` (literals without data) or `splat`
            (literals of one value, the tensor's first: IR that runs, without the data).
        insert_passes: your own passes, each as `(after, pass)`. `after` is a stage, or the name of
            a pass as `unmess pipeline` prints it, `canonicalize:2` for the second of that name;
            the pass is MLIR's text for one, or a function that changes an `ir.Module` in place.
        stop_after: the stage or pass after which the IR is returned as it is.
        backend_legal_ops: operators that are not decomposed on the way to `torch`, such as
            `aten.softmax.int`. `capture` decomposes operators too: give them there as well.
        fold_constants: compute what depends on weights only, and fold scales and shifts of channels
            (batch norm) into the convolutions and matrix products before them. The results are
            weights with new names. Not for IR.
        sizes: fixed sizes, by the names of dynamic dimensions; for `linalg` only.
        nhwc: convert convolutions, poolings and the operations between them to NHWC (channels
            last), as far as only the number of images is dynamic; for `linalg` only.
        generalize: replace named operations by `linalg.generic`; for `linalg` only.
        specialize: replace each `linalg.generic` that is a named operation by that operation; for
            `linalg` only.
        outline: names of modules, such as `layer1`, whose operations become private functions; for
            `linalg` only.
        upstream_only: rewrite the operations that only torch-mlir has, so that upstream MLIR's
            tools accept the IR; for `linalg` only.
        portable: a version of StableHLO, such as `1.9.0`: compute sizes with StableHLO only, and
            let `Module.save` write a portable artifact, which this version and later ones can
            read; for `stablehlo` only.

    Raises:
        Error: stage `usage`, `import`, or the stage that failed.
    """
    from pipelines.linalg_form import LinalgForm
    from pipelines.lower import Changes
    from pipelines.lower import lower as lower_module

    check_stage(to)
    form = LinalgForm(sizes or {}, nhwc, generalize, specialize, tuple(outline))
    form.check(to)
    check_upstream_only(to, upstream_only)
    check_portable(to, weights, portable)
    enter_stage("import")
    if fold_constants:
        program = _folded(program)
    changes = Changes(insert_passes, stop_after, backend_legal_ops)
    module = program.to_module(weights)
    return lower_module(module, to, changes, form, upstream_only, portable)


def _folded(program: Program | Programs) -> Program | Programs:
    # Imported here to save start-up time: it imports parts of Inductor.
    from importers.folding import fold_constants

    return fold_constants(program)


def _prepared(program: Program | Programs, wanted: BackendInput) -> Program | Programs:
    """Unpacks packed weights and folds constants of a program, as a backend's input requires."""
    if wanted.unpack_weights and any(map(is_packed, program.weights)):
        from importers.folding import unpack_weights

        program = unpack_weights(program)
    return _folded(program) if wanted.fold_constants else program


@only_errors()
def load(
    program: Program | Programs | Module | str,
    on: str = "reference",
    target: TargetOptions | None = None,
    trust: bool = False,
    unchecked: bool = False,
    fallback: str | None = None,
    allow_ops: Collection[str] = (),
    deny_ops: Collection[str] = (),
    min_operators: int = 3,
) -> Executable:
    """Makes a program callable on a backend.

    A Module may be at any stage up to the one that the backend takes; it is not changed. The
    reference runner lowers one at `tosa` or `stablehlo` to `linalg`, IREE takes it as it is.

    Args:
        program: a Program, Programs, a Module, the path of an MLIR file, or another model string.
        on: `reference`, `iree-cpu`, `iree-vulkan`, `iree-cuda` or `iree-hip`; `FILE.py:NAME` or
            `FILE.toml` for a backend of your own; or the name of one that `register_backend` or an
            installed package (entry points `unmess.backends`) has added. `unmess targets` shows
            which of them run here. `auto` is the faster one of `reference` and `iree-cpu`, as
            `unmess.tune(…, on="auto")` has found; without a choice in the cache, `reference`.
        target: which hardware IREE compiles for; by default this machine.
        trust: as for `capture`, for a model string.
        unchecked: leave out the checks of indices and other data when the program runs. An index
            that is out of range then reads or writes memory outside of its tensor. unmess adds no
            such checks for a backend of your own.
        fallback: `eager` to run operators that do not compile in eager PyTorch, and the rest in
            compiled regions; None for an Error. `run.partitions` and `run.notes` say which
            operators these are.
        allow_ops: operators that must be compiled, such as `aten::batch_norm` or
            `aten::add.Tensor`; an Error says why one is not. `UNMESS_ALLOW_OPS` adds to them.
        deny_ops: operators that run in eager PyTorch, also if they are in `allow_ops`.
            `UNMESS_DENY_OPS` adds to them.
        min_operators: regions with fewer operators run in eager PyTorch, too, unless they have a
            matrix product or a convolution.

    Raises:
        Error: stage `usage`, `source` or `capture` for a model string, `import`, or the stage that
            failed.
    """
    from pipelines.backends.finding import find_backend
    from pipelines.backends.loading import load as load_module

    if on != AUTO:
        check_runner(on)
    if fallback is not None:
        check_name("fallback", fallback, FALLBACKS)
    elif allow_ops or deny_ops:
        raise Error("usage", "allow_ops and deny_ops need a fallback", hint='pass fallback="eager"')
    if isinstance(program, str):
        from importers.ir_file import IrEntry, module_of
        from importers.sources import find_source

        source = find_source(program, trust)
        # IR can be loaded without an example call, which `capture` would need.
        is_ir = isinstance(source.model, IrEntry)
        program = module_of(source.model.file) if is_ir else capture(program, trust=trust)
    if not isinstance(program, (Program, Programs, Module)):
        raise Error(
            "usage",
            f"cannot load a {type(program).__name__}",
            hint="pass a Program (unmess.capture) or a Module (unmess.lower)",
        )
    if on == AUTO:
        # Imported here to save start-up time: it imports IREE.
        from unmess.automatic_runner import fastest_runner

        enter_stage("import")
        on, note = fastest_runner(program, target)
        executable = load(
            program, on, target, trust, unchecked, fallback, allow_ops, deny_ops, min_operators
        )
        executable.notes += (note,)
        return executable
    if fallback is not None:
        return _load_with_fallback(
            program,
            on,
            target=target,
            unchecked=unchecked,
            allow_ops=allow_ops,
            deny_ops=deny_ops,
            min_operators=min_operators,
        )
    if isinstance(program, (Program, Programs)):
        enter_stage("import")
        if is_captured(program):
            program = _prepared(program, find_backend(on).input)
        program = program.to_module()
    return load_module(program, on, target, unchecked=unchecked)


def _load_with_fallback(
    program: Program | Programs | Module, on: str, **options: Any
) -> Executable:
    # Imported here to save start-up time: it imports the importer.
    from unmess.partition.loading import load_with_fallback
    from unmess.partition.options import PartitionOptions

    if isinstance(program, Module) and program.program is not None and program.stage == "raw":
        program = program.program
    if not isinstance(program, (Program, Programs)):
        raise Error(
            "usage",
            "no part of lowered IR can run in eager PyTorch",
            hint="pass a Program (unmess.capture), or omit fallback",
        )
    chosen = PartitionOptions(**options)

    def whole() -> Executable:
        return load(program, on, chosen.target, unchecked=chosen.unchecked)

    executable = load_with_fallback(program, whole, on, chosen)
    for partition in executable.partitions.values():
        for text in partition.warnings:
            # Level 4 is the caller of the decorated `load`.
            warnings.warn(text, stacklevel=4)
    return executable


@only_errors()
def check(
    program: Program | Programs | str,
    on: str = "iree-cpu",
    calls: int = 5,
    target: TargetOptions | None = None,
    via: str | None = None,
    trust: bool = False,
    unchecked: bool = False,
    fallback: str | None = None,
    allow_ops: Collection[str] = (),
    deny_ops: Collection[str] = (),
) -> Report:
    """Runs a program on a runner and in eager PyTorch, on its example arguments, and compares.

    Several entry points run one after the other, each on the state that the last one left. If a
    result is wrong and IREE compiled with another preset than `plain`, the comparison is repeated
    with `plain`: `Report.with_plain` says whether the preset is at fault.

    Args:
        program: a Program, Programs or a model string. For an MLIR file, eager's result of the
            example call is in the files beside it.
        calls: timed calls of each side, after one that is compared; their median is reported.
        target: which hardware IREE compiles for; by default this machine.
        via: the output dialect whose IR runs: `linalg`, by default, `tosa` or `stablehlo`.
        trust: as for `capture`, for a model string.
        unchecked, fallback, allow_ops, deny_ops: see `load`.

    Returns:
        The Report. A wrong result is a Report with `ok` False, not an exception.

    Raises:
        Error: the stage that failed before there was a result to compare.
    """
    from pipelines.iree.presets import PLAIN

    check_runner(on)
    if via is not None:
        check_name("output dialect", via, OUTPUT_DIALECTS)
        if fallback is not None:
            raise Error(
                "usage",
                f"a program cannot run via {via} with a fallback: lowered IR has no operators of "
                "PyTorch",
                hint="omit one of the options",
            )
    if isinstance(program, str):
        program = capture(program, trust=trust)
    module = program if via is None else lower(program, via)
    options = {
        "unchecked": unchecked,
        "fallback": fallback,
        "allow_ops": allow_ops,
        "deny_ops": deny_ops,
    }
    executable = load(module, on, target, **options)
    report = _compare(program, executable, calls)
    if not report.ok and executable.preset not in (None, PLAIN):
        plain = replace(target or TargetOptions(), preset=PLAIN)
        try:
            repeated = _compare(program, load(module, on, plain, **options), calls=0)
            report.with_plain = PlainCheck(executable.preset, repeated.ok, repeated.error)
        except Error as problem:
            cause = f"{problem.stage}: {problem.cause}"
            report.with_plain = PlainCheck(executable.preset, None, cause)
    report.via = via
    return report


def _compare(program: Program | Programs, executable: Executable, calls: int) -> Report:
    from unmess.compare_entries import compare_program

    return compare_program(program, executable, calls)


@only_errors()
def analyze(
    program: Program | Programs | Module | str | Path,
    at: str | None = None,
    sizes: Mapping[str, int] | None = None,
) -> Analysis:
    """Counts the operations of a program and the cost of one call, without running it.

    Args:
        program: a Program, a Module (used as it is if it is at the stage `at` already), or the
            path of an MLIR file.
        at: the stage to analyze; by default `linalg` for programs, else the stage that it is at.
            Arithmetic, bytes, bodies and memory are counted at `linalg` only.
        sizes: of dynamic dimensions, by symbol; by default those of the example call of the
            Program, or of the Program that a Module was lowered from. Results that depend on other
            sizes are expressions.

    Raises:
        Error: stage `usage`, `import`, or the stage that failed.
    """
    from pipelines.analysis.analysis import analyze_file, analyze_module

    sizes = sizes or {}
    if isinstance(program, (str, Path)):
        return analyze_file(program, at, sizes)
    values: dict[str, int] = {}
    captured = program.program if isinstance(program, Module) else program
    for part in captured.entries.values() if captured is not None else ():
        # IR from a file may have no example call.
        if part.args or part.kwargs:
            values |= part.signature.symbols(part.args, part.kwargs)
    if not isinstance(program, Module):
        at = at or "linalg"
        program = lower(program, to=at)
    elif at not in (None, program.stage):
        from pipelines.lower import lower as lower_module

        program = lower_module(program, at)
    shapes = {entry: _declared_shapes(one) for entry, one in program.entries.items() if one}
    return analyze_module(program.ir, program.name, program.stage, shapes, values | sizes, sizes)


def _declared_shapes(signature: Signature) -> list[tuple[int | str, ...]]:
    """Returns the shapes of the entry function's arguments, dynamic sizes as expressions."""
    return [
        tuple(size.expression if isinstance(size, Dim) else size for size in argument.spec.shape)
        if isinstance(argument.spec, TensorSpec)
        else ()
        for argument in signature.arguments
    ]
