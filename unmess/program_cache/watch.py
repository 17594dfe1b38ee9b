"""Records the files, variables and modules that a model depends on, while it is built.

If the user's code reads files, the clock or random numbers of the system, its source alone does not
determine the model, which is then not cached. Files that a library reads become dependencies,
unless the user's code calls the library.

Python's audit events report opened files, listed folders and imports. They do not report `os.stat`
and `os.access`, environment variables, or calls of C functions such as `time.time`. While it is
active, a Watch replaces the first two, and a profile function observes the third.
"""

from __future__ import annotations

import _random
import _thread
import datetime
import linecache
import os
import random
import site
import socket
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from unmess.program_cache import environment
from unmess.program_cache.dependencies import hidden, identity, listing, providers_now

# Packages whose native code reads no file on its own, or is observed here.
_KNOWN = ("numpy", "safetensors", "tokenizers", "torch", "torchvision", "transformers")
# Files of the system that describe the computer and change all the time.
_SYSTEM = ("/proc/", "/sys/", "/dev/")
# Variables that decide what libraries build and where they look for files. Libraries read many
# others, which differ between terminals.
_DECISIVE = ("HF_", "HOME", "HUGGINGFACE_", "PYTORCH_", "TORCH", "TRANSFORMERS_", "XDG_CACHE_HOME")
# Captures do not use Inductor, which sets some of its variables itself.
_INDUCTOR = ("TORCHINDUCTOR_", "TORCH_INDUCTOR_")
_LOOKED_AT = ("stat", "access")
_LISTED = frozenset(("os.listdir", "os.scandir"))
_OUTSIDE = (
    "builtins.input ctypes.dlopen os.exec os.fork os.posix_spawn "
    "os.putenv os.system socket.__new__ socket.getaddrinfo sqlite3.connect subprocess.Popen"
)
_OUTSIDE_EVENTS = frozenset(_OUTSIDE.split())
_CLOCKS = ("time", "time_ns", "monotonic", "perf_counter", "process_time", "localtime", "gmtime")
_CHANGING: dict[Any, str] = {
    **{getattr(time, name): "the clock" for name in (*_CLOCKS, "ctime", "strftime")},
    datetime.datetime.now: "the clock",
    datetime.datetime.utcnow: "the clock",
    datetime.date.today: "the clock",
    _thread.start_new_thread: "threads, which are not observed",
    os.urandom: "the system's random numbers",
    random.random: "Python's random numbers",
    random.getrandbits: "Python's random numbers",
    os.getcwd: "the current directory",
    os.getpid: "the process id",
    os.uname: "the host name",
    socket.gethostname: "the host name",
}
_STANDARD = f"{os.path.dirname(os.__file__)}{os.sep}"
_TORCH = tuple(f"{folder}{os.sep}torch{os.sep}" for folder in site.getsitepackages())
# Names in compiled code whose use cannot be observed.
_UNOBSERVED = {"argv": "sys.argv", "stdin": "sys.stdin"}

_active: Watch | None = None


class Watch:
    """Observes this process while its `with` block runs.

    Attributes:
        reason: why the dependencies cannot be determined, as text; None as long as they can.
    """

    def __init__(self) -> None:
        self.reason: str | None = None
        self._files: set[str] = set()
        self._listed: set[str] = set()
        self._modules: set[str] = set()
        self._variables: dict[str, str | None] = {}
        self._names: set[str] = set()
        self._user_names: set[str] = set()
        self._folders: dict[str, None] = {}
        self._start = 0
        self._thread = threading.get_ident()
        self._boundary: FrameType | None = None
        self._busy = False

    def __enter__(self) -> Watch:
        global _active
        if sys.getprofile() is not None:
            self._refuse("a profiler is active")
        self._start = time.time_ns()
        self._boundary = sys._getframe(1)
        self._at_start = dict(os.environ)
        self._loaded_before = frozenset(sys.modules)
        self._random = _numpy_random()
        self._before = {name: getattr(os, name) for name in _LOOKED_AT}
        _install_hook()
        for name, function in self._before.items():
            setattr(os, name, self._observed(function))
        os.environ.__class__ = _Environment
        _active = self
        return self

    def __exit__(self, *_: Any) -> None:
        global _active
        _active = None
        os.environ.__class__ = os._Environ
        for name, function in self._before.items():
            setattr(os, name, function)
        if _numpy_random() != self._random:
            self._refuse("the model uses NumPy's random numbers")

    def calls_of_users(self) -> _Profile:
        """Returns a context that also observes calls of C functions, which slows each call down."""
        return _Profile(self)

    def add(self, path: str | os.PathLike[str]) -> None:
        """Adds a file or a folder that the model depends on."""
        name = os.path.abspath(path)
        (self._listed if os.path.isdir(name) else self._files).add(name)

    def dependencies(self) -> dict[str, Any] | None:
        """Returns the dependencies, for `first_change`; None if they cannot be determined."""
        self._check_modules()
        files = {*self._files, *self._user_modules()}
        # The other files of a model on Hugging Face's hub are beside its configuration.
        beside = {os.path.dirname(p) for p in files if os.path.basename(p) == "config.json"}
        folders = {*self._listed, *beside}
        for folder in beside:
            files |= {path for n in listing(folder) if os.path.isfile(path := f"{folder}/{n}")}
        known = {path: self._identity(path) for path in sorted(files) if not os.path.isdir(path)}
        if self.reason is not None:
            return None
        names = {name.partition(".")[0] for name in {*self._names, *self._user_modules().values()}}
        # Folders that are on sys.path only while the model is built come before the others.
        added = [folder for folder in self._folders if folder not in environment.user_folders()]
        return {
            "files": known,
            "folders": {folder: listing(folder) for folder in sorted(folders)},
            "variables": self._variables,
            "modules": {
                "names": sorted(names),
                "folders": added,
                "providers": providers_now(added, names),
            },
        }

    def _identity(self, path: str) -> dict[str, Any] | None:
        try:
            if os.path.isfile(path) and os.stat(path).st_mtime_ns > self._start:
                self._refuse(f"{path} changed during the capture")
            return identity(path)
        except OSError as problem:
            self._refuse(f"cannot read {path}: {problem.strerror}")
            return None

    def _user_modules(self) -> dict[str, str]:
        """Returns the files of imported modules outside the environment, with the modules' names.

        The calling program (`__main__`) is not part of the model.
        """
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        found = {}
        for name, module in [*sys.modules.items()]:
            path = getattr(module, "__file__", None)
            if path and path != main and environment.is_outside(path):
                found[path] = name
        return found

    def _is_module(self, path: str) -> bool:
        """Returns whether a file is an imported module outside the environment."""
        if path not in self._modules:
            self._modules |= self._user_modules().keys()
        return path in self._modules

    def _check_modules(self) -> None:
        """Refuses modules of the user whose effects cannot be observed while they run."""
        for name, module in [*sys.modules.items()]:
            path = getattr(module, "__file__", None) or ""
            top = name.partition(".")[0]
            native = path.endswith(".so") and top not in (*_KNOWN, *sys.stdlib_module_names)
            if native and top in self._user_names:
                self._refuse(f"native code of {top} may read files")
        for path, module in sorted(self._user_modules().items()):
            # Modules that were loaded before belong to the calling program.
            if path.endswith(".py") and module not in self._loaded_before:
                for name in _names_used(path) & _UNOBSERVED.keys():
                    self._refuse(f"{path} uses {_UNOBSERVED[name]}")

    def _refuse(self, reason: str) -> None:
        if self.reason is None:
            self.reason = reason

    def _user_frame(self, frame: FrameType | None) -> FrameType | None:
        """Returns the innermost frame of the user's code; None without one, or below an import."""
        while frame is not None and frame is not self._boundary:
            path = frame.f_code.co_filename
            if path.startswith("<frozen importlib"):
                return None
            if not path.startswith("<") and not environment.is_installed(path):
                return frame
            frame = frame.f_back
        return None

    def _observed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wraps a function such as `os.stat`, to report its path to this Watch."""

        def look(path: Any, *args: Any, **kwargs: Any) -> Any:
            if _active is self and not isinstance(path, int):
                self._touch(path, sys._getframe(1), "tests for")
            return function(path, *args, **kwargs)

        return look

    def _touch(self, path: Any, frame: FrameType | None, what: str) -> None:
        # `linecache` reads source files for tracebacks; the model does not read them.
        if self._busy or (frame is not None and frame.f_code.co_filename == linecache.__file__):
            return
        self._busy = True
        try:
            name = os.path.abspath(os.fsdecode(path))
            if name.startswith(_SYSTEM) or environment.is_installed(name):
                return
            if name.endswith(".pyc") or (name.endswith(".py") and self._is_module(name)):
                return
            if self._user_frame(frame) is not None:
                self._refuse(f"the model's code {what} {name}")
            elif what == "lists":
                self._listed.add(name)
            elif threading.get_ident() == self._thread:
                self._files.add(name)
        except (TypeError, ValueError):
            # Not a path.
            return
        finally:
            self._busy = False

    def _event(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Handles an audit event."""
        if event == "open":
            path, mode, flags = arguments
            if isinstance(path, int) or path is None:
                return
            writes = flags & (os.O_WRONLY | os.O_RDWR) if isinstance(flags, int) else mode != "r"
            frame = sys._getframe(2)
            if not writes:
                self._touch(path, frame, "reads")
            elif self._user_frame(frame) is not None:
                self._refuse(f"the model's code writes {os.fsdecode(path)}")
        elif event == "import":
            self._names.add(arguments[0])
            self._folders |= dict.fromkeys(environment.user_folders())
            if self._imported_by_user(sys._getframe(2)):
                self._user_names.add(arguments[0].partition(".")[0])
        elif event in _LISTED:
            frame = sys._getframe(2)
            # Imports list folders to find modules; `providers` compares those.
            if not frame.f_code.co_filename.startswith("<frozen importlib"):
                self._touch(arguments[0] or os.curdir, frame, "lists")
        elif event in _OUTSIDE_EVENTS and self._user_frame(sys._getframe(2)) is not None:
            self._refuse(f"the model's code interacts with the system ({event})")

    def _imported_by_user(self, frame: FrameType | None) -> bool:
        """Returns whether the running import statement is in the user's code."""
        while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
            frame = frame.f_back
        if frame is None:
            return False
        path = frame.f_code.co_filename
        return not path.startswith("<") and not environment.is_installed(path)

    def _variable(self, name: Any) -> None:
        if threading.get_ident() != self._thread or not isinstance(name, str):
            return
        decides = name.startswith(_DECISIVE) and not name.startswith(_INDUCTOR)
        if decides or self._user_frame(sys._getframe(2)) is not None:
            # Take the value at the start: a value that is set later is missing in the next process.
            self._variables.setdefault(name, hidden(self._at_start.get(name)))

    def _all_variables(self) -> None:
        if self._user_frame(sys._getframe(2)) is not None:
            self._refuse("the model's code reads all environment variables")

    def _call(self, frame: FrameType, event: str, function: Any) -> None:
        """Handles an event of `sys.setprofile`."""
        if event != "c_call" or self._busy:
            return
        what = _CHANGING.get(function)
        if what is None:
            what = _depends_on(function, frame)
        if what is not None and not self._is_of_torch(frame) and self._user_frame(frame):
            self._refuse(f"the model's code uses {what}")

    def _is_of_torch(self, frame: FrameType | None) -> bool:
        """Returns whether PyTorch makes a call for itself, as it does while it traces a model."""
        while frame is not None and frame is not self._boundary:
            path = frame.f_code.co_filename
            if path.startswith(_TORCH):
                return True
            if not path.startswith(_STANDARD):
                return False
            frame = frame.f_back
        return False


class _Profile:
    def __init__(self, watch: Watch):
        self._watch = watch

    def __enter__(self) -> None:
        # If there is a reason already, do not replace another profiler.
        if self._watch.reason is None:
            sys.setprofile(self._watch._call)

    def __exit__(self, *_: Any) -> None:
        if sys.getprofile() == self._watch._call:
            sys.setprofile(None)


class _Environment(os._Environ):
    """`os.environ`, which reports look-ups to the active Watch."""

    def __getitem__(self, name: Any) -> Any:
        try:
            value = super().__getitem__(name)
        except KeyError:
            value = None
        if _active is not None:
            _active._variable(name)
        if value is None:
            raise KeyError(name)
        return value

    def __iter__(self) -> Any:
        if _active is not None:
            _active._all_variables()
        return super().__iter__()


def _depends_on(function: Any, frame: FrameType) -> str | None:
    """Returns what a method of a C type depends on that changes between processes, or None."""
    owner = getattr(function, "__self__", None)
    kind = type(owner).__name__
    if kind == "safe_open":
        return "files of safetensors"
    if getattr(function, "__name__", None) != "seed":
        return None
    if isinstance(owner, _random.Random):
        # Without a seed, the system provides one.
        return "the system's random numbers" if frame.f_locals.get("a", 0) is None else None
    return "the system's random numbers" if kind == "Generator" else None


def _numpy_random() -> str:
    """Returns the state of NumPy's global generator."""
    import numpy.random

    return repr(numpy.random.get_state(legacy=False))


def _names_used(path: str) -> set[str]:
    """Returns the names of globals and attributes in a Python file."""
    try:
        with open(path, "rb") as file:
            pending = [compile(file.read(), path, "exec", dont_inherit=True)]
    except (OSError, SyntaxError, ValueError):
        return set()
    names: set[str] = set()
    while pending:
        code = pending.pop()
        names.update(code.co_names)
        pending += [each for each in code.co_consts if isinstance(each, type(code))]
    return names


_is_installed = False


def _install_hook() -> None:
    """Installs the audit hook once: Python keeps it for as long as the process lives."""
    global _is_installed
    if not _is_installed:
        sys.addaudithook(_hook)
        _is_installed = True


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _active is not None:
        _active._event(event, arguments)
