"""Tests that public functions only raise `unmess.Error`, whatever user code raises."""

import copy
import types

import pytest
import torch

import unmess
from unmess.compare import compare
from unmess.core.errors.stages import STAGES

X = torch.ones(2, 3)


class Odd(BaseException):
    """A BaseException that is neither an Exception nor a KeyboardInterrupt."""


class Mute(Exception):
    """An exception whose `__str__` and `__repr__` raise."""

    def __str__(self):
        raise ValueError("no text")

    __repr__ = __str__


def too_deep():
    return too_deep()


RAISED = {
    "Exception": lambda: (_ for _ in ()).throw(KeyError("key")),
    "BaseException": lambda: (_ for _ in ()).throw(Odd("odd")),
    "SystemExit": lambda: (_ for _ in ()).throw(SystemExit(3)),
    "GeneratorExit": lambda: (_ for _ in ()).throw(GeneratorExit()),
    "StopIteration": lambda: next(iter(())),
    "MemoryError": lambda: (_ for _ in ()).throw(MemoryError()),
    "RecursionError": too_deep,
    "without text": lambda: (_ for _ in ()).throw(Mute()),
    "assertion": lambda: (_ for _ in ()).throw(AssertionError()),
}


METHODS = (
    "state_dict",
    "__call__",
    "__repr__",
    "__deepcopy__",
    "named_parameters",
    "named_buffers",
    "named_modules",
    "modules",
    "buffers",
)


def model_that(raises, place):
    """Returns a module that calls `raises` at `place`."""

    class Raises(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self, x):
            if place == "forward":
                raises()
            return x * self.weight

    def overridden(*_args, **_kwargs):
        return raises()

    if place in METHODS:
        setattr(Raises, place, overridden)
    elif place in ("training", "example_args", "__name__"):
        setattr(Raises, place, property(overridden))
    module = Raises()
    if place == "state_dict hook":
        module.register_state_dict_post_hook(overridden)
    elif place == "forward hook":
        module.register_forward_hook(overridden)
    elif place == "pre-hook":
        module.register_forward_pre_hook(overridden)
    return module


PLACES = (
    "forward",
    "forward hook",
    "pre-hook",
    "state_dict hook",
    "__name__",
    "training",
    "example_args",
    *METHODS,
)


def only_an_error(function):
    """Calls `function` and returns the Error that it raises, or None.

    The Error must have a one-line cause. The call must raise nothing else.
    """
    try:
        function()
    except unmess.Error as error:
        assert error.stage in STAGES
        assert error.cause and "\n" not in error.cause
        return error
    return None


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("raised", RAISED)
def test_a_model_that_raises(raised, place):
    try:
        model = model_that(RAISED[raised], place)
    except BaseException:
        return  # The user's constructor raises before unmess is called.

    def every_verb():
        program = unmess.capture(model, (X,), strategy="non-strict")
        unmess.load(program)(X)
        assert unmess.check(program, on="reference", calls=1).ok

    error = only_an_error(every_verb)
    if place in ("forward", "forward hook", "pre-hook", "__call__"):
        assert error is not None
        chain = []
        cause = error
        while cause is not None:
            chain.append(cause)
            cause = cause.__cause__
        assert len(chain) > 1, "the original exception is not the cause"


@pytest.mark.parametrize("raised", RAISED)
@pytest.mark.parametrize("place", ["file", "factory", "class", "example_args"])
def test_a_file_that_raises(raised, place, tmp_path):
    lines = {
        "Exception": "raise KeyError('key')",
        "BaseException": "raise type('Odd', (BaseException,), {})('odd')",
        "SystemExit": "raise SystemExit(3)",
        "GeneratorExit": "raise GeneratorExit",
        "StopIteration": "raise StopIteration",
        "MemoryError": "raise MemoryError",
        "RecursionError": "f = lambda: f(); f()",
        "without text": "E = type('E', (Exception,), {'__str__': lambda self: 1 / 0}); raise E",
        "assertion": "assert False",
    }
    body = lines[raised]
    text = {
        "file": body,
        "factory": f"def model():\n    {body}",
        "class": f"import torch\nclass model(torch.nn.Module):\n  def __init__(self):\n    {body}",
        "example_args": "import torch\nclass model(torch.nn.Module):\n  @property\n"
        f"  def example_args(self):\n    {body}",
    }[place]
    path = tmp_path / "odd.py"
    path.write_text(text)
    error = only_an_error(lambda: unmess.capture(str(path)))
    assert error is not None
    assert error.stage == "source"
    assert error.__cause__ is not None or place == "example_args"
    assert error.where is None or error.where.startswith(str(path))


def test_ctrl_c_interrupts():
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        unmess.capture(model_that(interrupt, "forward"), (X,))


class Unhashable:
    __hash__ = None

    def __repr__(self):
        raise ValueError("no text")


ODD = {
    "a number": 5,
    "a float": float("nan"),
    "None": None,
    "a list": [[1]],
    "a dict": {1: 2},
    "bytes": b"\0",
    "an object": Unhashable(),
    "a class": type,
    "text": "no such \0 name\n",
    "empty text": "",
    "a tensor": torch.ones(2),
    "a module": types.ModuleType("odd"),
}


def linear():
    return torch.nn.Linear(3, 2).eval()


def program():
    return PROGRAM[0] if PROGRAM else PROGRAM.append(unmess.capture(linear(), (X,))) or PROGRAM[0]


PROGRAM: list = []

CALLS = {
    "capture": lambda odd: unmess.capture(odd),
    "capture args": lambda odd: unmess.capture(linear(), odd),
    "capture an argument": lambda odd: unmess.capture(linear(), (odd,)),
    "capture kwargs": lambda odd: unmess.capture(linear(), (X,), odd),
    "capture dynamic_shapes": lambda odd: unmess.capture(linear(), (X,), dynamic_shapes=odd),
    "capture one of dynamic_shapes": lambda odd: unmess.capture(
        linear(), (X,), dynamic_shapes={"input": odd}
    ),
    "capture strategy": lambda odd: unmess.capture(linear(), (X,), strategy=odd),
    "capture legal ops": lambda odd: unmess.capture(linear(), (X,), backend_legal_ops=odd),
    "capture without arguments": lambda odd: unmess.capture(),
    "capture with another": lambda odd: unmess.capture(linear(), (X,), another=odd),
    "capture_generation": lambda odd: unmess.capture_generation(odd),
    "capture_generation batch": lambda odd: unmess.capture_generation("hf:gpt2", batch=odd),
    "combine": lambda odd: unmess.combine(odd),
    "combine one": lambda odd: unmess.combine({"main": odd}),
    "combine name": lambda odd: unmess.combine({"main": program()}, odd),
    "lower": lambda odd: unmess.lower(odd),
    "lower to": lambda odd: unmess.lower(program(), to=odd),
    "lower weights": lambda odd: unmess.lower(program(), weights=odd),
    "lower passes": lambda odd: unmess.lower(program(), insert_passes=odd),
    "lower a pass": lambda odd: unmess.lower(program(), insert_passes=[("torch", odd)]),
    "lower stop_after": lambda odd: unmess.lower(program(), stop_after=odd),
    "lower legal ops": lambda odd: unmess.lower(program(), backend_legal_ops=odd),
    "load": lambda odd: unmess.load(odd),
    "load on": lambda odd: unmess.load(program(), on=odd),
    "load target": lambda odd: unmess.load(program(), on="iree-cpu", target=odd),
    "load target cpu": lambda odd: unmess.load(
        program(), on="iree-cpu", target=unmess.TargetOptions(cpu=odd)
    ),
    "check": lambda odd: unmess.check(odd),
    "check calls": lambda odd: unmess.check(program(), on="reference", calls=odd),
    "check via": lambda odd: unmess.check(program(), on="reference", via=odd),
    "analyze": lambda odd: unmess.analyze(odd),
    "analyze at": lambda odd: unmess.analyze(program(), at=odd),
    "analyze sizes": lambda odd: unmess.analyze(program(), sizes=odd),
    "call": lambda odd: unmess.load(program())(odd),
    "call with two": lambda odd: unmess.load(program())(X, odd),
    "call by name": lambda odd: unmess.load(program())(another=odd),
    "entry point": lambda odd: unmess.load(program())[odd],
    "compare": lambda odd: compare(odd, unmess.load(program())),
    "compare with": lambda odd: compare(program(), odd),
    "bundle": lambda odd: unmess.bundle.load(odd),
    "package": lambda odd: unmess.package(odd, "nowhere"),
    "package folder": lambda odd: unmess.package(program(), odd),
    "tune": lambda odd: unmess.tune(odd),
    "load_generator": lambda odd: unmess.load_generator(odd),
    "save": lambda odd: unmess.lower(program()).save(odd),
}


@pytest.mark.parametrize("call", CALLS)
def test_arguments_of_odd_types(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program()
    problems = {}
    for name, odd in ODD.items():
        try:
            only_an_error(lambda odd=odd: CALLS[call](odd))
        except BaseException as problem:
            problems[name] = repr(problem)[:200]
    assert not problems


class Flattened:
    """A container whose flattening raises."""


def test_a_container_that_cannot_be_flattened():
    def flatten(_container):
        raise Odd("flatten")

    torch.utils._pytree.register_pytree_node(
        Flattened, flatten, lambda _values, _context: Flattened()
    )
    assert only_an_error(lambda: unmess.capture(linear(), (Flattened(),))) is not None
    assert only_an_error(lambda: unmess.load(program())(Flattened())) is not None


def test_the_exception_of_the_model_is_named_with_its_line():
    def function(x):
        raise Odd("odd")

    error = only_an_error(lambda: unmess.capture(function, (X,)))
    assert error.stage == "capture"
    assert error.cause == "the model's code raises Odd: odd"
    assert error.where.startswith(__file__)
    assert isinstance(error.__cause__, Odd)
    assert copy.deepcopy(error).cause == error.cause


def test_an_argument_of_the_wrong_type_is_named():
    error = only_an_error(lambda: unmess.lower(5))
    assert str(error) == "usage: lower: program is a int, expected Program | Programs"
    error = only_an_error(lambda: unmess.capture(linear(), (X,), backend_legal_ops=[1]))
    assert error.cause == "capture: backend_legal_ops is a list of int, expected Collection[str]"
    error = only_an_error(lambda: unmess.load(program(), on="iree-cpu", target="x86"))
    assert error.cause == "load: target is a str, expected TargetOptions | None"
    error = only_an_error(lambda: unmess.capture(linear(), (X,), another=1))
    assert error.cause == "capture: got an unexpected keyword argument 'another'"
