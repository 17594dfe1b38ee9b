"""Modules that checks of models import, for the parent of workers to preload."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from pipelines.backends.table import BUILT_IN, DEFAULT_RUNNERS
from unmess.core.processes.workers import Parent

# Modules for every model.
_COMMON = (
    "torch",
    "torch.export._trace",
    # `torch.export` imports these when it is first called.
    "torch._export.passes.replace_autocast_with_hop_pass",
    "torch._functorch._aot_autograd.graph_capture",
    "torch._functorch.partitioners",
    "torch._inductor.compiler_bisector",
    "torch._inductor.fx_passes.dedupe_symint_uses",
    "torch._inductor.output_code",
    "torch._subclasses.schema_check_mode",
    "torch.export.pt2_archive",
    "torch.fx.experimental.validator",
    "torch_mlir.dialects.torch",
    # Passes import these at first use.
    *(f"torch_mlir.dialects.{name}" for name in ("arith", "cf", "func", "math", "memref")),
    *(f"torch_mlir.dialects.{name}" for name in ("scf", "tensor")),
    "importers.capture",
    # This takes longer than capturing a small model.
    "importers.capture.decompositions:prepare",
    "importers.combine",
    "importers.sources",
    "importers.torch_dialect",
    "pipelines.indices.checking",
    "pipelines.lower",
    "pipelines.backends.loading",
    "unmess.api",
    "unmess.captured",
    "unmess.compare",
    "unmess.isolated.work",
    # The program cache needs a digest of the sources as they are when they are imported.
    "unmess.program_cache.environment:own_digest",
    # `unmess triage` records models.
    "unmess.triage.call_recording",
    "unmess.triage.graph_recording",
    "pipelines.reference.backend",
    "pipelines.reference.pipeline",
)
_OF_SOURCE = {
    "hf:": (
        "importers.sources.huggingface",
        "transformers.exporters.exporter_dynamo",
        "transformers.generation.utils",
        "transformers.masking_utils",
        "transformers.modeling_utils",
        "transformers.models.auto.modeling_auto",
        "transformers.processing_utils",
    ),
    "torchvision:": ("importers.sources.torchvision", "torchvision"),
}
# For `unmess corpus`, in addition to those of `libraries_of`.
CORPUS = ("unmess.corpus.work", "unmess.corpus.calling", "unmess.corpus.kernels")


def libraries_of(models: Iterable[str], runners: Iterable[str]) -> tuple[str, ...]:
    """Returns the names of modules that checking `models` on `runners` imports.

    With several models, also those of `rehearsals_of`.
    """
    models, runners = tuple(models), tuple(runners)
    found = list(_COMMON)
    for prefix, modules in _OF_SOURCE.items():
        if any(name.startswith(prefix) for name in models):
            found += modules
    found += [BUILT_IN[name].module for name in runners if name in BUILT_IN]
    if len(models) > 1:
        found += rehearsals_of(runners)
    return tuple(dict.fromkeys(found))


def rehearsals_of(runners: Iterable[str]) -> tuple[str, ...]:
    """Returns the names of functions for a parent to call before it forks many workers.

    They do not pay off for a single worker, which would take as long without them.
    """
    found = ["capture"]
    for name in runners:
        found += ["lower"] if name in BUILT_IN else []
        found += ["compile_on_reference"] if name == "reference" else []
    return tuple(f"unmess.isolated.rehearsal:{name}" for name in dict.fromkeys(found))


@functools.cache
def shared_parent() -> Parent:
    """Returns a parent with all libraries, for work of many kinds. It ends with this process."""
    return Parent((*libraries_of(_OF_SOURCE, DEFAULT_RUNNERS), *CORPUS))
