"""Constructs that need no repair, or that the importer handles, match eager."""

import collections

import pytest
import torch
from torch.utils import _pytree as pytree

import unmess
import unmess.bundle


def random(*shape, dtype=torch.float32):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(0))


class Positions(torch.nn.Module):
    """A buffer that is not in the state dict, as in BERT-like models."""

    def __init__(self):
        super().__init__()
        self.register_buffer("positions", torch.arange(4), persistent=False)

    def forward(self, x):
        return x + self.positions


class Named(collections.OrderedDict):
    """A result whose parts have names, but no pytree keys, as diffusers registers its own."""


class Unnamed:
    """A result whose parts have no names."""

    def __init__(self, first, second):
        self.parts = [first, second]


pytree.register_pytree_node(
    Named,
    lambda value: (list(value.values()), list(value)),
    lambda parts, names: Named(zip(names, parts, strict=True)),
)
pytree.register_pytree_node(
    Unnamed, lambda value: (value.parts, None), lambda parts, _context: Unnamed(*parts)
)


class Irregular(tuple):
    """A tuple whose methods raise, as `__len__` of e3nn's representations does."""

    def __len__(self):
        raise NotImplementedError

    def __iter__(self):
        raise NotImplementedError


class Attributes(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.irregular = Irregular((1, 2))
        self.nested = [Irregular(((3, 4),))]

    def forward(self, x):
        return x * self.irregular[1] + self.nested[0][0][1]


def containers_without_keys(x):
    return Named(sample=x + 1, more=(Unnamed(x * 2, [x - 1]),))


class Cache(torch.nn.Module):
    """A static key-value cache."""

    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(4, 3))

    def forward(self, key, position):
        self.keys[position] = key
        return self.keys.sum(0), self.keys @ key.T


class RotaryTable(torch.nn.Module):
    """Rotary embeddings with a complex buffer, as in Llama's own code."""

    def __init__(self):
        super().__init__()
        angles = torch.outer(torch.arange(6.0), torch.tensor([1.0, 0.1]))
        self.register_buffer("turns", torch.polar(torch.ones(6, 2), angles), persistent=False)

    def forward(self, x):
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * self.turns).flatten(2).type_as(x)


def indices_of_all_kinds(x, index):
    return x[:, index, :], x[index, :, 0], x[0, index], x[:, torch.tensor([1, 0]), index[:2]]


def positions_of_nonzeros(x):
    places = x.nonzero()
    return torch.arange(places.shape[0]) + places[:, 0], places.shape[0], x[places[:, 0]].sum()


def nothing_among_the_results(x):
    return x + 1, None, {"a": None, "b": x}


def python_arguments(x, count, flag, factor, name, nothing):
    return x * count + factor if flag and name == "s" and nothing is None else x


def python_results(x):
    return x.shape[0], 3, 1.5, True, "text", x, x.sum().item()


def writes_its_input(cache, new, position):
    cache.index_copy_(1, position, new)
    return cache.sum(1)


def sizes_from_values(n, x):
    size = n.item()
    torch._check(size >= 0)
    torch._check(size <= 8)
    return x[:size].sum(), size + 1, size > 2


CASES = [
    (Positions(), (random(4),)),
    (Cache(), (random(1, 3), torch.tensor([1]))),
    (RotaryTable(), (random(2, 6, 4),)),
    (indices_of_all_kinds, (random(3, 4, 5), torch.tensor([0, 2, 1]))),
    (positions_of_nonzeros, (torch.tensor([1.0, 0, 2, 0, 3]),)),
    (nothing_among_the_results, (random(3),)),
    (python_arguments, (random(3), 2, True, 1.5, "s", None)),
    (python_results, (random(3),)),
    (Attributes(), (random(3),)),
    (containers_without_keys, (random(3),)),
    (writes_its_input, (torch.zeros(2, 4, 3), random(2, 1, 3), torch.tensor([2]))),
    (sizes_from_values, (torch.tensor(3), random(8))),
]


@pytest.mark.parametrize(
    ("model", "args"), CASES, ids=lambda v: getattr(v, "__name__", type(v).__name__)
)
def test_like_eager(model, args):
    program = unmess.capture(model, args)
    report = unmess.check(program, on="reference", calls=1)
    assert report.ok, report.error


def test_shapes_among_the_results():
    x = random(2, 3)
    run = unmess.load(unmess.capture(lambda x: (x + 1, [x.shape, {"a": x.mT.shape}]), (x,)))
    _, (shape, more) = run(x)
    assert type(shape) is torch.Size and shape == x.shape
    assert type(more["a"]) is torch.Size and more["a"] == x.mT.shape


def test_paths_in_containers_without_keys(tmp_path):
    program = unmess.capture(containers_without_keys, (random(3),))
    paths = ["result['sample']", "result['more'][0][0]", "result['more'][0][1][0]"]
    differences = unmess.check(program, on="reference", calls=1).differences
    assert [difference.name for difference in differences] == paths
    result = unmess.load(program)(torch.tensor([1.0, 2.0, 3.0]))
    assert type(result) is Named and type(result["more"][0]) is Unnamed
    # A bundle does not have the classes: it returns a dict, and a tuple for parts without names.
    unmess.package(program, tmp_path / "bundle", on="iree-cpu")
    result = unmess.bundle.load(tmp_path / "bundle")(torch.tensor([1.0, 2.0, 3.0]).numpy())
    assert result["sample"].tolist() == [2, 3, 4]
    doubled, (reduced,) = result["more"][0]
    assert (doubled.tolist(), reduced.tolist()) == ([2, 4, 6], [0, 1, 2])


def test_written_buffers_and_inputs_are_state_results():
    cache = unmess.capture(Cache(), (random(1, 3), torch.tensor([1])))
    assert [(r.kind, r.name) for r in cache.signature.results if r.kind == "state"] == [
        ("state", "keys")
    ]
    written = unmess.capture(
        writes_its_input, (torch.zeros(2, 4, 3), random(2, 1, 3), torch.tensor([2]))
    )
    assert [r.name for r in written.signature.results if r.kind == "state"] == ["cache"]
    for program in (cache, written):
        assert any(note.kind == "state" for note in program.notes)


def test_python_arguments_are_no_arguments_of_the_entry_function():
    program = unmess.capture(python_arguments, (random(3), 2, True, 1.5, "s", None))
    assert [argument.name for argument in program.signature.arguments] == ["x"]
    with pytest.raises(unmess.Error, match="the capture fixed it to 2"):
        unmess.load(program)(random(3), 3, True, 1.5, "s", None)


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint64])
def test_dtypes_missing_in_the_torch_dialect_are_errors(dtype):
    def function(x):
        return x.to(torch.int64) + 1

    program = unmess.capture(function, (torch.ones(3, dtype=dtype),))
    with pytest.raises(unmess.Error, match=f"x is {dtype}, which has no form") as caught:
        unmess.lower(program, to="raw")
    assert caught.value.stage == "import"


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))

    def forward(self, a, b):
        return a * 2 + b * self.weight


@pytest.mark.parametrize("of_the_model", [False, True])
def test_an_example_with_one_tensor_for_two_arguments(of_the_model):
    model = Scaled()
    x = model.weight if of_the_model else torch.ones(3)
    run = unmess.load(unmess.capture(model, (x, x)), on="reference")
    a, b = torch.randn(3), torch.randn(3)
    assert torch.equal(run(a, b), model(a, b).detach())
