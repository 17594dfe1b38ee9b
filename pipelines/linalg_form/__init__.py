"""Forms of linalg for compilers: fixed sizes, NHWC, named or generic operations, and functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pipelines.linalg_form.channels_last import NHWC
from pipelines.linalg_form.outlining import outline_layers
from pipelines.linalg_form.propagation import GENERALIZE, SPECIALIZE
from unmess.core.module.module import Module
from unmess.core.options.names import check_linalg_form


@dataclass(frozen=True)
class LinalgForm:
    """The form of the IR at `linalg`.

    Attributes:
        sizes: values for the names of dynamic dimensions.
        nhwc: convert convolutions, poolings and the operations between them to NHWC.
        generalize: replace named operations by `linalg.generic`.
        specialize: replace each `linalg.generic` that is a named operation by that operation.
        outline: modules of the model whose operations become private functions.
    """

    sizes: Mapping[str, int] = field(default_factory=dict)
    nhwc: bool = False
    generalize: bool = False
    specialize: bool = False
    outline: tuple[str, ...] = ()

    def check(self, stage: str) -> None:
        """Raises an Error (`usage`) if IR at `stage` cannot have this form."""
        check_linalg_form(
            stage, bool(self.sizes), self.nhwc, self.generalize, self.specialize, bool(self.outline)
        )

    def apply(self, module: Module) -> Module:
        """Brings a module at `linalg` into this form in place, and returns it.

        Raises:
            Error: stage `usage` for an unknown name or a size out of range; `linalg`.
        """
        # A module that was read from a file is no longer the one in the file.
        module = replace(module, ir=module.ir)
        if self.sizes:
            # Imported here, because it imports torch, which commands without a model do not need.
            from pipelines.linalg_form.sizes import set_sizes

            module = set_sizes(module, self.sizes)
        if self.nhwc:
            NHWC.apply(module.ir, module.name)
        if self.generalize:
            GENERALIZE.apply(module.ir, module.name)
        if self.specialize:
            SPECIALIZE.apply(module.ir, module.name)
        if self.outline:
            outline_layers(module, self.outline)
        return module
