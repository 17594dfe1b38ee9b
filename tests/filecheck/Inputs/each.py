"""`unmess-each FILE STAGE`: prints the IR of each model of a Python file, in one process.

A model is a public function of the file without parameters, as for `unmess import FILE:NAME`. It
may return dynamic shapes after the keyword arguments. STAGE is a stage, or `iree` for the module
that IREE compiles. The program's notes come first.
"""

import inspect
import runpy
import sys

import unmess
from pipelines.iree.parameters import with_parameters

# The `__module__` of the functions that the file itself defines.
_OWN = "models"
_IREE = "iree"


def main(file: str, stage: str) -> None:
    for name, factory in runpy.run_path(file, run_name=_OWN).items():
        is_own = inspect.isfunction(factory) and factory.__module__ == _OWN
        if not is_own or name.startswith("_"):
            continue
        model, args, kwargs, dynamic_shapes, *_ = (*factory(), None, None)
        print(f"{name}:")
        try:
            program = unmess.capture(model, args, kwargs, dynamic_shapes=dynamic_shapes)
            for note in program.notes:
                print(f"note: {note}")
            if stage == _IREE:
                print(with_parameters(unmess.lower(program)))
            else:
                print(unmess.lower(program, to=stage))
        except unmess.Error as error:
            print(error)


if __name__ == "__main__":
    main(*sys.argv[1:])
