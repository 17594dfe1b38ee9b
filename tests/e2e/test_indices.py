"""Indices from data: runners and bundles raise where eager does, and report the user's line."""

import functools

import pytest
import torch
import torch.nn.functional as F

import unmess
import unmess.bundle
from unmess.packaging import package

ROWS, COLUMNS = 8, 4


def embedding(x, i):
    return F.embedding(i, x)


def embedding_bag(x, i):
    return F.embedding_bag(i[None], x)


def rows(x, i):
    return x[i]


def columns(x, i):
    return x[:, i]


def elements(x, i):
    return x[i, i]


def one_row(x, i):
    return x[i[1]]


def index_select(x, i):
    return x.index_select(0, i)


def gather(x, i):
    return x.gather(0, i[:, None].expand(2, 4))


def take(x, i):
    return x.take(i)


def take_along_dim(x, i):
    return x.take_along_dim(i[:, None], 0)


def index_put(x, i):
    return x.index_put((i,), torch.ones(2, 4))


def index_put_elements(x, i):
    return x.index_put((i, i), torch.ones(2))


def accumulate(x, i):
    return x.index_put((i,), torch.ones(2, 4), accumulate=True)


def scatter(x, i):
    return x.scatter(0, i[:, None], 1.0)


def scatter_add(x, i):
    return x.scatter_add(0, i[:, None].expand(2, 4), torch.ones(2, 4))


def scatter_reduce(x, i):
    return x.scatter_reduce(0, i[:, None].expand(2, 4), torch.ones(2, 4), "amax")


def index_add(x, i):
    return x.index_add(0, i, torch.ones(2, 4))


def index_copy(x, i):
    return x.index_copy(0, i, torch.ones(2, 4))


def index_fill(x, i):
    return x.index_fill(0, i, 2.0)


def computed(x, i):
    return x[(i * 3 + 1) - torch.arange(2)]


def looked_up(x, i):
    return x[torch.tensor([0, 3, 5, 9])[i]]


def nll_loss(x, i):
    return F.nll_loss(x[:2], i)


def set_row(x, i):
    y = x.clone()
    y[i[1]] = 2.0
    return y


def set_column(x, i):
    y = x.clone()
    y[..., i[1]] = torch.ones(1, 1, len(x), dtype=torch.float64)
    return y


def set_element(x, i):
    y = x.clone()
    y[i[1].int(), i[1]] = torch.tensor(True)
    return y


def set_between(x, i):
    y = x.clone().reshape(1, len(x), 4)
    y[-1, :, i[1]] = torch.arange(float(len(x)))
    return y


def add_to_row(x, i):
    y = x.clone()
    y[i[1]] += torch.ones(4)
    return y


def set_row_by_number(x, i):
    y = x.clone()
    y[i[1].item()] = torch.ones(4)
    return y


def put_row(x, i):
    return x.index_put((i[1],), torch.ones(4))


def select_scatter(x, i):
    return x.select_scatter(torch.ones(len(x)), 1, i[1].item())


def set_narrow(x, i):
    y = x.clone()
    y.narrow(1, i[1], 2).copy_(torch.ones(2))
    return y


def set_slice(x, i):
    y = x.clone()
    y[:, i[1] : i[1] + 2] = torch.ones(1)
    return y


def add_to_slice(x, i):
    y = x.clone()
    y[..., i[1].item() :: 2] += 1.0
    return y


def set_in_a_slice(x, i):
    y = x.clone()
    y[0:1, i[1], None] = torch.ones(1)
    return y


def narrow(x, i):
    return x.narrow(0, i[1], 1), torch.narrow(x, dim=1, start=i[1].int(), length=2)


def narrow_copy(x, i):
    return torch.narrow_copy(x, -1, i[1].item(), 3)


def select_copy(x, i):
    return torch.select_copy(x, 1, i[1].item())


def slices(x, i):
    n = i[1].item()
    return x[n:], x[:n], x[:, n : n + 1], x[:, -n : i[1] : 2], x[..., i[0], n:]


def element_of_rows(x, i):
    return x[i, i[1]], x[i[1], i]


def parts(x, i):
    n = i[1].clamp(min=-(2**62))
    return x.tensor_split((n.item(),)), torch.tensor_split(x, n.reshape(1).cpu(), 1)


def roll(x, i):
    n = i[1].clamp(min=-(2**62)).item()
    return x.roll(n, 0), x.roll(n), x.roll((1, n), (0, 1))


# These functions index in their second line.
WRITES = [set_row, set_column, set_element, set_between, add_to_row, set_row_by_number]
VIEWS = [set_narrow, set_slice, add_to_slice, set_in_a_slice]
LONGER = [*WRITES, *VIEWS]
VIEWS += [narrow, narrow_copy, select_copy, slices, element_of_rows, parts, roll]
FUNCTIONS = [
    *WRITES,
    put_row,
    select_scatter,
    embedding,
    embedding_bag,
    rows,
    columns,
    elements,
    one_row,
    index_select,
    gather,
    take,
    take_along_dim,
    index_put,
    index_put_elements,
    accumulate,
    scatter,
    scatter_add,
    scatter_reduce,
    index_add,
    index_copy,
    index_fill,
    computed,
    looked_up,
    nll_loss,
]
HOSTILE = (-1, 3, 4, -5, 7, 8, -8, -9, 31, 32, -33, 2**31, 2**32 + 1, -(2**32), 10**11, 2**63 - 1)
HOSTILE += (-(2**63),)


class Each(torch.nn.Module):
    """Calls each function with its own indices. One compilation is faster than many."""

    def __init__(self, functions):
        super().__init__()
        self.functions = functions

    def forward(self, x, indices):
        return [function(x, i) for function, i in zip(self.functions, indices, strict=True)]


X = torch.arange(ROWS * COLUMNS, dtype=torch.float32).reshape(ROWS, COLUMNS)


def calls(functions, valid):
    """Yields each function with each hostile index. The other functions get valid indices."""
    for position, function in enumerate(functions):
        for index in HOSTILE:
            indices = [valid for _ in functions]
            indices[position] = torch.tensor([0, index])
            yield function, indices


def literal_place(x):
    return x[torch.tensor([5])]


def counted_places(x):
    return x[torch.arange(4) + 2]


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
@pytest.mark.parametrize("function", [literal_place, counted_places])
def test_dynamic_sizes(function, runner):
    size = torch.export.Dim("size", min=0)
    program = unmess.capture(function, (torch.randn(8),), dynamic_shapes=({0: size},))
    run = unmess.load(program, on=runner)
    for length in (8, 6, 100, 5, 3, 1, 0):
        x = torch.randn(length)
        if length > 5:
            torch.testing.assert_close(run(x), function(x))
            continue
        with pytest.raises(IndexError):
            function(x)
        with pytest.raises(unmess.Error, match="index out of range") as caught:
            run(x)
        assert caught.value.where == f"{__file__}:{function.__code__.co_firstlineno + 1}"


def rows_with_an_id(x, ids):
    mask = ids == 3
    if mask.any():
        x = x.masked_scatter(mask[:, None].expand_as(x), x.new_ones(1, 3) * 2)
    return x


def test_a_draft_does_not_run_checks_while_it_is_captured():
    """PyTorch's draft export also computes with values, but not with those of the arguments."""
    x, ids = torch.randn(4, 3), torch.tensor([0, 1, 3, 2])
    program = unmess.capture(rows_with_an_id, (x, ids))
    assert program.strategy == "draft"
    run = unmess.load(program)
    for ids in ([0, 1, 3, 2], [3, 0, 0, 0]):
        ids = torch.tensor(ids)
        torch.testing.assert_close(run(x, ids), rows_with_an_id(x, ids))


def folded():
    return torch.tensor([-1, -7, 6]) % 9


def test_the_remainder_of_a_literal():
    """torch-mlir folds it with the sign of the element, which makes an index invalid."""
    assert torch.equal(unmess.load(unmess.capture(folded, ()))(), folded())


def beyond(x):
    return x[torch.arange(8) + 5], x[torch.arange(8) + 10**12]


def test_indices_that_depend_on_no_input_are_checked():
    """Without checks, both read memory outside the tensor, and the second one crashes."""
    run = unmess.load(unmess.capture(beyond, (torch.randn(8),)))
    with pytest.raises(unmess.Error, match="index out of range"):
        run(torch.randn(8))


def test_unchecked(tmp_path):
    """`unchecked` removes the assertions. A note and the manifest of a bundle report it."""
    program = unmess.capture(rows, (X, torch.tensor([2, 1])))
    for runner in ("reference", "iree-cpu"):
        run = unmess.load(program, on=runner, unchecked=True)
        torch.testing.assert_close(run(X, torch.tensor([3, -1])), X[[3, -1]])
        assert [note.kind for note in run.notes].count("unchecked") == 1
    assert not package(program, tmp_path / "bundle", unchecked=True).checked
    assert not unmess.bundle.load(tmp_path / "bundle").manifest.checked


VALID = torch.tensor([2, 1])


def expect_eagers_answers(functions, run, x=X, valid=VALID):
    """Calls each function with each hostile index, and compares results and errors with eager."""
    for function, indices in calls(functions, valid):
        about = f"{function.__name__} of {indices[functions.index(function)].tolist()}"
        try:
            expected = Each(functions)(x, indices)
        except (IndexError, RuntimeError):
            with pytest.raises(unmess.Error) as caught:
                run(x, indices)
                pytest.fail(f"{about}: no error")
            assert caught.value.stage == "run", about
            assert "out of range" in caught.value.cause, about
            line = function.__code__.co_firstlineno + (2 if function in LONGER else 1)
            assert caught.value.where == f"{__file__}:{line}", about
            continue
        for found, wanted in zip(run(x, indices), expected, strict=True):
            torch.testing.assert_close(found, wanted, msg=about)


def captured(functions, x=X, valid=VALID, **options):
    return unmess.capture(Each(functions), (x, [valid for _ in functions]), **options)


# Each program is captured once, for all runners.
@functools.cache
def all_functions():
    return captured(FUNCTIONS)


@pytest.mark.parametrize("runner", ["reference", "iree-cpu", "bundle"])
def test_raises_where_eager_does(runner, tmp_path):
    program = all_functions()
    if runner == "bundle":
        assert package(program, tmp_path / "bundle").checked
        loaded = unmess.bundle.load(tmp_path / "bundle")

        def run(x, indices):
            results = loaded(x.numpy(), [i.numpy() for i in indices])
            return [torch.from_numpy(result) for result in results]

    else:
        run = unmess.load(program, on=runner)
    expect_eagers_answers(FUNCTIONS, run)


@functools.cache
def functions_of_a_single_row():
    # These functions need several rows, or have weights of their own.
    larger = (embedding, embedding_bag, computed, nll_loss)
    functions = [each for each in FUNCTIONS if each not in larger]
    x, valid = torch.randn(1, COLUMNS), torch.tensor([0, 0])
    return functions, x, valid, captured(functions, x, valid)


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_indices_of_a_single_row_are_checked(runner):
    """torch-mlir drops the indices of a dimension of size 1, since only one element is valid."""
    functions, x, valid, program = functions_of_a_single_row()
    expect_eagers_answers(functions, unmess.load(program, on=runner), x, valid)


@functools.cache
def captured_together(functions, rows):
    """Returns the functions as one combined program. `rows` is the dynamic first size of each x."""
    shapes = None if rows is None else ({0: rows}, None)
    programs = {
        f.__name__: unmess.capture(f, (X, torch.tensor([0, 0])), dynamic_shapes=shapes)
        for f in functions
    }
    return unmess.combine(programs)


def loaded_together(functions, runner, rows=None):
    entries = unmess.load(captured_together(tuple(functions), rows), on=runner)

    def run(x, indices):
        return [entries[f.__name__](x, i) for f, i in zip(functions, indices, strict=True)]

    return run


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_views_at_positions_from_data(runner):
    expect_eagers_answers(VIEWS, loaded_together(VIEWS, runner))


def test_views_of_complex_numbers():
    x, functions = torch.complex(X, -X), (slices, narrow, add_to_row, set_slice)
    programs = {f.__name__: unmess.capture(f, (x, torch.tensor([0, 0]))) for f in functions}
    run = unmess.load(unmess.combine(programs))
    for function in functions:
        for i in (torch.tensor([0, place]) for place in (0, 2, -2, -4)):
            torch.testing.assert_close(run[function.__name__](x, i), function(x, i))


POSITIVE = torch.export.Dim("rows", min=1)


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_positions_in_a_dynamic_size(runner):
    functions = [set_row, add_to_row, set_in_a_slice, select_copy, narrow, slices]
    run = loaded_together(functions, runner, POSITIVE)
    for x in (X, X[:1]):
        expect_eagers_answers(functions, run, x, torch.tensor([0, 0]))


def test_a_source_of_another_size_than_its_slice():
    def scatter(x, i):
        return x.slice_scatter(torch.ones(8, 2), 1, i, i + 2)

    def copy(x, i):
        y = x.clone()
        y[:, i : i + 2] = torch.ones(8, 2)
        return y

    programs = {f.__name__: unmess.capture(f, (X, torch.tensor(0))) for f in (scatter, copy)}
    run = unmess.load(unmess.combine(programs))
    for function in (scatter, copy):
        for i in map(torch.tensor, (0, 2, -4, -3)):
            torch.testing.assert_close(run[function.__name__](X, i), function(X, i))
        for i in map(torch.tensor, (3, 4, -1, -2, 2**63 - 1)):
            with pytest.raises(RuntimeError):
                function(X, i)
            with pytest.raises(unmess.Error, match="a check in the program failed"):
                run[function.__name__](X, i)


def selected_columns(x, i):
    return x.index_select(1, i)


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_indices_of_an_empty_tensor(runner):
    """Eager does not read the indices of `x[:, i]` if there are no rows."""
    functions, x = [columns, selected_columns], torch.zeros(0, COLUMNS)
    n = torch.export.Dim("n")
    program = captured(functions, x, dynamic_shapes=(None, [{0: n} for _ in functions]))
    expect_eagers_answers(functions, unmess.load(program, on=runner), x)


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_indices_of_no_rows(runner):
    """The number of rows is dynamic, and 0 in the calls."""
    rows = torch.export.Dim("rows", min=0)
    program = captured([columns], dynamic_shapes=({0: rows}, [None]))
    run = unmess.load(program, on=runner)
    expect_eagers_answers([columns], run, torch.zeros(0, COLUMNS))
    expect_eagers_answers([columns], run)


def test_raises_where_eager_does_via_stablehlo():
    """StableHLO itself clamps indices, and IREE does not check those of a scatter."""
    # Assertions of numbers do not lower to StableHLO.
    without = (one_row, scatter_reduce, add_to_row, select_scatter)
    functions = [each for each in FUNCTIONS if each not in without]
    module = unmess.lower(captured(functions), "stablehlo")
    expect_eagers_answers(functions, unmess.load(module, on="iree-cpu"))


def test_raises_via_tosa():
    """IREE itself does not check the indices of TOSA's gather."""
    run = unmess.load(unmess.lower(captured([embedding]), "tosa"), on="iree-cpu")
    for index in (-1, ROWS, 2**31 - 1):
        with pytest.raises(unmess.Error, match="index out of range"):
            run(X, [torch.tensor([0, index])])


def test_sequences_of_positions():
    def at_pairs(x, pairs):
        y = x.clone()
        rows, columns = zip(*pairs, strict=True)
        y[rows, columns] = 7.0
        return y, x[rows, 1:], x[[pairs[0, 0], 2], columns[:2]]

    args = torch.randn(3, 4), torch.tensor([[0, 1], [2, 3], [-1, 1]])
    report = unmess.check(unmess.capture(at_pairs, args), on="reference")
    assert report.ok, report


def read_from_views(x, i):
    return (
        x[..., 3].gather(0, i),
        x[1, :, ::2].mT[i[0]],
        x[:, 1:, ::2].mT[i[0], 1],
        x[..., 1].reshape(-1)[i],
        F.pad(x[..., 1][None], (2, 2), mode="reflect"),
    )


@pytest.mark.parametrize("dynamic", [False, True])
def test_indices_of_views_with_strides(dynamic):
    """IREE does not gather from a view whose elements are not adjacent along its last axis."""
    sizes = {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}
    args = torch.randn(5, 6, 8), torch.randint(0, 4, (5, 6))
    shapes = (sizes, sizes) if dynamic else None
    run = unmess.load(unmess.capture(read_from_views, args, dynamic_shapes=shapes), on="iree-cpu")
    for rows, columns in [(5, 6), *([(7, 9)] if dynamic else [])]:
        args = torch.randn(rows, columns, 8), torch.randint(0, 4, (rows, columns))
        for ours, theirs in zip(run(*args), read_from_views(*args), strict=True):
            assert torch.equal(ours, theirs)


@pytest.mark.parametrize("function", [torch.argsort, lambda x: x.sort(descending=True).indices])
def test_places_of_a_long_sort(function):
    """If only the indices are used, IREE sorts the values on the stack, which has 32 KiB."""
    x = torch.randperm(10_000).float()
    run = unmess.load(unmess.capture(function, (x,)), on="iree-cpu")
    assert torch.equal(run(x), function(x))
