"""Tests of operations split over threads: bitwise equal results, errors that affect one call."""

import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree

import unmess


class Everything(nn.Module):
    """Operations that are split along batches, rows, columns, softmax rows and elements."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(256, 512)
        self.convolution = nn.Conv2d(8, 32, 3, padding=1)
        self.depthwise = nn.Conv2d(32, 32, 3, padding=1, stride=2, groups=32)
        self.norm = nn.LayerNorm(512)
        self.table = nn.Embedding(100, 512)

    def forward(self, x, image, ids):
        hidden = self.norm(self.linear(x)) + self.table(ids)
        scores = torch.softmax(hidden @ hidden.mT, -1)
        features = self.convolution(image)
        return scores @ hidden, torch.tanh(features), self.depthwise(features), x.cumsum(-1)


@pytest.fixture
def threads():
    """The function that sets PyTorch's number of threads. The old number is restored at the end."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def inputs():
    torch.manual_seed(0)
    return torch.randn(4, 384, 256), torch.randn(2, 8, 72, 72), torch.randint(100, (4, 384))


def load(model, inputs):
    return unmess.load(unmess.capture(model.eval(), inputs), on="reference")


def test_results_do_not_depend_on_the_number_of_threads(threads, inputs):
    torch.manual_seed(0)
    model = Everything()
    results = {}
    # Three does not divide most of the sizes.
    for count in (1, 2, 3, 4):
        threads(count)
        results[count] = load(model, inputs)(*inputs)
    with torch.no_grad():
        torch.testing.assert_close(results[1], model(*inputs), rtol=1e-5, atol=1e-5)
    for count in (2, 3, 4):
        assert all(map(torch.equal, results[count], results[1]))
    # Load with four threads and call with one: there are fewer threads than parts.
    threads(4)
    run = load(model, inputs)
    threads(1)
    assert all(map(torch.equal, run(*inputs), results[1]))


class Dynamic(nn.Module):
    """Operations of which a dynamic axis, or an axis next to it, is split."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(96, 640)
        self.few = nn.Linear(640, 24)
        self.convolution = nn.Conv2d(8, 16, 3, padding=1)
        self.depthwise = nn.Conv2d(16, 16, 3, padding=1, stride=2, groups=16)

    def forward(self, rows, images):
        hidden = self.linear(rows).tanh()
        scores = (hidden @ hidden.mT).softmax(-1)
        features = self.convolution(images).relu()
        place = torch.arange(rows.shape[0])[:, None] + hidden
        return self.few(scores @ hidden), self.depthwise(features), place, rows.sum(-1)


def test_dynamic_sizes_do_not_depend_on_the_number_of_threads(threads):
    """Some sizes are too small for several threads, and some leave a shorter last part, or none."""
    torch.manual_seed(0)
    model = Dynamic().eval()
    rows, images = torch.randn(7, 96), torch.randn(2, 8, 40, 40)
    sizes = {0: torch.export.Dim("rows", min=0)}, {0: torch.export.Dim("images", min=0)}
    runs = {}
    for count in (1, 2, 3, 4):
        threads(count)
        program = unmess.capture(model, (rows, images), dynamic_shapes=sizes)
        runs[count] = unmess.load(program, on="reference")
    for length, number in ((1000, 5), (5, 1), (97, 3), (0, 0), (1, 2)):
        rows, images = torch.randn(length, 96), torch.randn(number, 8, 40, 40)
        results = {}
        for count, run in runs.items():
            threads(count)
            results[count] = run(rows, images)
        with torch.no_grad():
            torch.testing.assert_close(results[1], model(rows, images), rtol=1e-5, atol=1e-5)
        for count in (2, 3, 4):
            assert all(map(torch.equal, results[count], results[1])), (length, number, count)


class Contractions(nn.Module):
    """Products and convolutions whose parts have few rows, other last columns or fewer rows of an
    image than the whole, or some of the images.
    """

    def __init__(self):
        super().__init__()
        self.convolutions = nn.ModuleList(
            nn.Conv2d(128, filters, size, padding=size // 2) for filters, size in ((32, 1), (72, 3))
        )

    def forward(self, pairs, images):
        return [a @ b for a, b in pairs], [
            convolution(image) for convolution in self.convolutions for image in images
        ]


def test_contractions_do_not_depend_on_the_number_of_threads(threads):
    torch.manual_seed(0)
    pairs = [
        (torch.randn(rows, 1100), torch.randn(1100, columns))
        for rows in (20, 72)
        for columns in (49, 104)
    ]
    # A part of these is small, but it needs vector code as the whole does.
    pairs += [(torch.randn(rows, 300), torch.randn(300, 320)) for rows in (1, 2)]
    sizes = (1, 7), (1, 33), (1, 56), (3, 14)
    inputs = pairs, [torch.randn(count, 128, size, size) for count, size in sizes]
    model, results = Contractions(), []
    for count in (1, 2, 3, 5):
        threads(count)
        results.append(pytree.tree_leaves(load(model, inputs)(*inputs)))
    for others in results[1:]:
        assert all(map(torch.equal, others, results[0]))


class Chain(nn.Module):
    """Operations of which each part reads only the same part of the one before, or all parts."""

    def __init__(self):
        super().__init__()
        self.expand = nn.Conv2d(16, 96, 1, bias=False)
        self.depthwise = nn.Conv2d(96, 96, 3, padding=1, groups=96, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(96) for _ in range(2))
        self.squeeze = nn.Linear(96, 96)
        self.project = nn.Conv2d(96, 16, 1)

    def forward(self, x):
        wide = nn.functional.hardswish(self.norms[0](self.expand(x)))
        deep = nn.functional.silu(self.norms[1](self.depthwise(wide)))
        scale = torch.sigmoid(self.squeeze(deep.mean((2, 3))))
        return x + self.project(deep * scale[..., None, None]), (wide - deep).flip(1)


# With 8 images, the program has a part for each image, also for one thread.
@pytest.mark.parametrize(
    "shape", [(1, 16, 30, 30), (1, 16, 64, 64), (3, 16, 28, 28), (8, 16, 20, 20)]
)
def test_merged_parts_do_not_depend_on_the_number_of_threads(threads, shape):
    torch.manual_seed(0)
    model, x = Chain(), torch.randn(shape)
    results = []
    for count in (1, 2, 3, 6):
        threads(count)
        run = load(model, (x,))
        # A race would not show in each call.
        results += [run(x) for _ in range(20)]
    with torch.no_grad():
        torch.testing.assert_close(results[0], model(x), rtol=1e-5, atol=1e-5)
    for others in results[1:]:
        assert all(map(torch.equal, others, results[0]))


class ShortRows(nn.Module):
    """Sums of short rows, between operations that are large enough for several threads."""

    def __init__(self):
        super().__init__()
        self.expand = nn.Conv2d(8, 31, 1)
        self.depthwise = nn.Conv2d(31, 31, 3, padding=1, groups=31)
        self.project = nn.Conv2d(31, 12, 1)

    def forward(self, x):
        wide = torch.relu(self.expand(x))
        scale = torch.softmax(wide.mean((2, 3)), -1)
        scaled = self.depthwise(wide) * scale[..., None, None]
        return (
            scaled.sum(-1),
            scaled.amax(1),
            self.project(scaled),
            (scaled - scaled.mean(1, keepdim=True)).var((2, 3)),
            scaled.flatten(2).cumsum(-1),
        )


def test_small_sums_do_not_depend_on_the_number_of_threads(threads):
    torch.manual_seed(0)
    model, images = ShortRows(), torch.randn(20, 2, 8, 14, 14)
    results = []
    for count in (1, 2, 3):
        threads(count)
        run = load(model, (images[0],))
        results.append([result for x in images for result in run(x)])
    for others in results[1:]:
        assert all(map(torch.equal, others, results[0]))


def test_short_rows_do_not_depend_on_the_number_of_threads(threads):
    """Adds rows that LLVM can unroll: 3,000 of them, so that parts have other numbers of rows."""
    torch.manual_seed(0)
    tables = [torch.randn(3000, length) for length in (5, 14, 16, 25, 31, 36, 49, 64, 65)]

    class Sums(nn.Module):
        def forward(self, tables):
            return [torch.relu(table).sum(-1) for table in tables]

    results = []
    for count in (1, 2, 4, 7):
        threads(count)
        results.append(load(Sums(), (tables,))(tables))
    for others in results[1:]:
        assert all(map(torch.equal, others, results[0]))


def test_a_failed_check_in_a_thread_fails_that_call_only(threads, inputs):
    threads(2)

    class Lookup(nn.Module):
        def forward(self, table, ids):
            return table[ids]

    table = torch.arange(100.0 * 512).reshape(100, 512)
    run = load(Lookup(), (table, inputs[2]))
    assert torch.equal(run(table, inputs[2]), table[inputs[2]])
    beyond = inputs[2].clone()
    beyond[-1, -1] = 100
    for _ in range(3):
        with pytest.raises(unmess.Error) as problem:
            run(table, beyond)
        assert problem.value.stage == "run" and "test_parts.py:" in problem.value.where
    assert torch.equal(run(table, inputs[2]), table[inputs[2]])
