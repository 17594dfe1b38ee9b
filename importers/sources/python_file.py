"""The source `path/to/file.py:name`: a model in a user's Python file.

`name` may be:

- a **factory**, a function without required parameters that returns `(module, args)` or
  `(module, args, kwargs)`;
- an **nn.Module**, or a module class whose constructor needs no arguments. Its example call is the
  attribute `example_args` (a tuple or a single tensor), and `example_kwargs` (a dict) for keyword
  arguments;
- a **function** that is the model itself: with the attribute `example_args`, or with required
  parameters.

The example call may be missing if the user gives one (`--input`).

Without `:name`, the factory or other object named `model` is used.

The file runs as a module with a unique name, so `if __name__ == "__main__"` blocks do not run. Its
folder is on `sys.path` meanwhile, and relative imports work if the file is in a package. Its output
goes to stderr, because stdout is for the command's result. Changed process settings are reported
(`side_effects`). PyTorch's generator is seeded while the file runs, so random weights are
reproducible. A class is instantiated in evaluation mode; other modules stay in the mode that the
file set.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from importers.sources import side_effects
from importers.sources.missing import existing_python_file
from importers.sources.random_weights import SEED, seeded
from importers.sources.source import Source
from unmess.core.errors.error import Error, first_line
from unmess.core.errors.user_source import user_line
from unmess.core.options.names import did_you_mean

DEFAULT_NAME = "model"
_FORMS = "a factory returns (module, args) or (module, args, kwargs)"
_GIVE_INPUTS = "describe its arguments, as in --input 1x3x224x224xf32"

_serial = itertools.count()
# Modules that an earlier file imported from its own folder. They are removed before the next file
# runs, because its own `layers.py` may be a different one.
_siblings: set[str] = set()


def find(path: str, name: str | None = None) -> Source:
    """Returns the model `name` in the Python file at `path`.

    Raises:
        Error: stage `source`, if the file is missing or does not run, has no such name, or the name
            has none of the forms above.
    """
    file = existing_python_file(path)
    with _user_code(file), side_effects.reported() as changed:
        module = _execute(file)
        value = _lookup(module, name or DEFAULT_NAME, path, chosen=name is not None)
        label = file.stem if name is None else f"{file.stem}.{name}"
        source = _as_source(value, name or DEFAULT_NAME, label, path)
    source.notes = (*source.notes, *changed)
    return source


@contextlib.contextmanager
def _user_code(file: Path) -> Iterator[None]:
    """Sets up imports, stdout and the random seed for the user's file, and restores them."""
    for sibling in _siblings:
        sys.modules.pop(sibling, None)
    _siblings.clear()
    before = set(sys.modules)
    folders = [str(folder) for folder in dict.fromkeys((file.parent, _import_root(file)))]
    sys.path[:0] = folders
    try:
        with contextlib.redirect_stdout(sys.stderr), seeded():
            yield
    finally:
        for folder in folders:
            with contextlib.suppress(ValueError):
                sys.path.remove(folder)
        _siblings.update(
            name for name in set(sys.modules) - before if _lies_under(sys.modules[name], folders)
        )


def _import_root(file: Path) -> Path:
    """Returns the folder that contains the file's top-level package, or the file itself."""
    folder = file.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def _lies_under(module: ModuleType | None, folders: list[str]) -> bool:
    origin = getattr(module, "__file__", None)
    return origin is not None and any(Path(folder) in Path(origin).parents for folder in folders)


def _execute(file: Path) -> ModuleType:
    package = ".".join(file.parent.relative_to(_import_root(file)).parts)
    # A unique name avoids conflicts with installed modules and earlier files.
    stem = f"_unmess_{next(_serial)}_{file.stem}"
    name = f"{package}.{stem}" if package else stem
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    # Pickling, dataclasses and TorchDynamo look up the module of a class here.
    sys.modules[name] = module
    try:
        if package:
            importlib.import_module(package)
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        del sys.modules[name]
        raise _raised(f"{file.name} cannot be imported", problem) from problem
    return module


def _raised(what: str, problem: BaseException) -> Error:
    """Returns the Error for an exception in user code, at the user's line."""
    if isinstance(problem, SyntaxError) and problem.filename:
        # Report the line in the broken file, not the line that imports it.
        where = f"{problem.filename}:{problem.lineno}"
        hint = "correct the syntax there"
    elif isinstance(problem, SystemExit):
        where = user_line(problem)
        hint = 'put the code of a script under `if __name__ == "__main__":`'
    elif isinstance(problem, ModuleNotFoundError):
        where = user_line(problem)
        hint = f"install {problem.name} in this environment, or put it beside the file"
    else:
        where = user_line(problem)
        hint = "run the file on its own first; --debug shows the traceback"
    return Error("source", f"{what}: {first_line(problem)}", where=where, hint=hint)


def _lookup(module: ModuleType, name: str, path: str, *, chosen: bool) -> Any:
    if not name.isidentifier():
        raise Error("source", f"{name!r} is not a Python name", hint=f"write {path}:NAME")
    if hasattr(module, name):
        return getattr(module, name)
    defined = [
        candidate
        for candidate, value in vars(module).items()
        if not candidate.startswith("_")
        and (
            isinstance(value, torch.nn.Module)
            or (callable(value) and getattr(value, "__module__", None) == module.__name__)
        )
    ]
    listed = f"it defines {', '.join(defined)}" if defined else "it defines no function or class"
    if chosen:
        raise Error("source", f"{path} has no {name}", hint=did_you_mean(name, defined, listed))
    raise Error(
        "source",
        f"{path} has no factory called {DEFAULT_NAME}",
        hint=f"name one, as in {path}:{defined[0]}; {listed}" if defined else listed,
    )


def _as_source(value: Any, name: str, label: str, path: str) -> Source:
    if isinstance(value, torch.nn.Module):
        return _model(value, name, label, ())
    if inspect.isclass(value):
        return _from_class(value, name, label, path)
    if not callable(value):
        raise Error(
            "source",
            f"{name} in {path} is a {type(value).__name__}, not a model",
            hint=f"{_FORMS}; a class or module has example_args",
        )
    if hasattr(value, "example_args"):
        return _model(value, name, label, ())
    return _from_factory(value, name, label)


def _from_class(cls: type, name: str, label: str, path: str) -> Source:
    if not issubclass(cls, torch.nn.Module):
        raise Error(
            "source",
            f"{name} in {path} is a class, but not a subclass of nn.Module",
            where=_definition(cls),
            hint=f"derive it from torch.nn.Module, or write a factory: {_FORMS}",
        )
    if required := _required_parameters(cls):
        raise _needs_arguments(f"the constructor of {name}", required, _definition(cls))
    try:
        module = cls()
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        raise _raised(f"{name}() raises", problem) from problem
    note = (
        f"{name}() has the weights of its constructor with seed {SEED}, and is in evaluation mode"
    )
    return _model(module.eval(), name, label, (note,))


def _from_factory(factory: Callable[[], Any], name: str, label: str) -> Source:
    where = _definition(factory)
    if required := _required_parameters(factory):
        problem = _needs_arguments(f"the factory {name}", required, where)
        problem.hint += f"; if it is the model itself, {_GIVE_INPUTS}"
        return Source(label, factory, without_example=problem)
    try:
        result = factory()
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        raise _raised(f"the factory {name} raises", problem) from problem
    if isinstance(result, torch.nn.Module):
        if not hasattr(result, "example_args"):
            problem = Error(
                "source",
                f"the factory {name} returns a module without example arguments",
                where=where,
                hint=f"return (module, args), or {_GIVE_INPUTS}",
            )
            return Source(label, result, without_example=problem)
        return _model(result, name, label, ())
    if not isinstance(result, tuple) or len(result) not in (2, 3):
        returned = type(result).__name__
        if isinstance(result, tuple):
            returned = f"tuple of {len(result)}"
        raise Error("source", f"the factory {name} returns a {returned}", where=where, hint=_FORMS)
    model, args, *rest = result
    if inspect.isclass(model) or not callable(model):
        kind = model.__name__ if inspect.isclass(model) else type(model).__name__
        what = f"the class {kind}" if inspect.isclass(model) else f"a {kind}"
        raise Error(
            "source",
            f"the first value that the factory {name} returns is {what}, not a module",
            where=where,
            hint="return an nn.Module instance (or a function) first, then its arguments",
        )
    kwargs = rest[0] if rest else {}
    return Source(label, model, *_checked_call(args, kwargs, f"the factory {name}", where))


def _model(value: Any, name: str, label: str, notes: tuple[str, ...]) -> Source:
    """Returns the source of a module or function that has its own example call."""
    where = _definition(type(value) if isinstance(value, torch.nn.Module) else value)
    if not hasattr(value, "example_args"):
        problem = Error(
            "source",
            f"{name} has no example arguments",
            where=where,
            hint=f"{_GIVE_INPUTS}, give it the attribute example_args (a tuple), or write a "
            f"factory: {_FORMS}",
        )
        return Source(label, value, notes=notes, without_example=problem)
    kwargs = getattr(value, "example_kwargs", {})
    call = _checked_call(value.example_args, kwargs, f"{name}.example_args", where)
    return Source(label, value, *call, notes=notes)


def _checked_call(args: Any, kwargs: Any, what: str, where: str | None) -> tuple[tuple, dict]:
    if isinstance(args, torch.Tensor):
        args = (args,)
    if not isinstance(args, (tuple, list)):
        raise Error(
            "source",
            f"{what} returns a {type(args).__name__} as the positional arguments",
            where=where,
            hint="give a tuple: (x,) for one argument",
        )
    if not isinstance(kwargs, dict) or not all(isinstance(key, str) for key in kwargs):
        raise Error(
            "source",
            f"{what} returns a {type(kwargs).__name__} as the keyword arguments",
            where=where,
            hint='give a dict of names to values: {"mask": mask}',
        )
    return tuple(args), kwargs


def _required_parameters(value: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):  # a callable written in C: a call will show
        return []
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        parameter.name
        for parameter in parameters
        if parameter.default is inspect.Parameter.empty and parameter.kind not in optional
    ]


def _needs_arguments(what: str, required: list[str], where: str | None) -> Error:
    return Error(
        "source",
        f"{what} needs arguments: {', '.join(required)}",
        where=where,
        hint="give them defaults, or write a factory without parameters that returns "
        "(module, args)",
    )


def _definition(value: Any) -> str | None:
    """Returns the location of the definition of a class or function, as `file:line`, or None."""
    try:
        value = inspect.unwrap(value)
        _, line = inspect.getsourcelines(value)
        return f"{inspect.getsourcefile(value)}:{line}"
    except (OSError, TypeError):
        return None
