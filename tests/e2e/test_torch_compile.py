"""Tests of `torch.compile(…, backend="unmess")`: it does what eager PyTorch does."""

import copy
import subprocess
import sys
import warnings

import pytest
import torch
import torch._dynamo
import torch.nn.functional as F
from torch.utils import _pytree as pytree

import unmess
from unmess.core.cache import artifacts

NAN, INF = float("nan"), float("inf")


@pytest.fixture(autouse=True)
def no_graphs_of_other_tests():
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()


def tensor(*shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(len(shape))
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(*shape, dtype=dtype, generator=generator)
    return torch.randint(0, 5, shape, generator=generator).to(dtype)


def graphs():
    return torch._dynamo.utils.counters["stats"]["unique_graphs"]


def graphs_of_pytorch(function, *calls):
    """Returns the number of graphs that PyTorch compiles with a backend of its own."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(function, backend="eager")
    for call in calls:
        compiled(*call)
    return graphs()


def described(function, call):
    """Returns everything that a call shows: results, aliases, gradients, mutations."""
    leaves = [leaf for leaf in pytree.tree_leaves(call) if isinstance(leaf, torch.Tensor)]
    torch.manual_seed(0)
    results, spec = pytree.tree_flatten(function(*call))
    found = [spec]
    for result in results:
        if isinstance(result, torch.Tensor):
            memory = result.untyped_storage().data_ptr()
            shares = [x.untyped_storage().data_ptr() == memory for x in leaves if x.numel()]
            is_input = [result is leaf for leaf in leaves]
            sizes = zip(result.shape, result.stride(), strict=True)
            strides = [stride for size, stride in sizes if size > 1]
            about = (strides, result.requires_grad, shares, is_input)
            found += [about, result.detach().clone()]
        else:
            found.append((type(result), result))
    losses = [_loss(x) for x in results if getattr(x, "requires_grad", False)]
    if losses:
        sum(losses).backward()
    if isinstance(function, torch.nn.Module):
        leaves += [*function.parameters(), *function.buffers()]
    for leaf in leaves:
        found += [leaf.detach().clone(), leaf.grad]
    return found


def _loss(x):
    # Equal weights would give gradients of 0 after a normalization.
    weights = torch.linspace(0.5, 2, max(x.numel(), 1))[: x.numel()].view(x.shape)
    return (x.abs().square() * weights).sum()


def check_as_eager(function, *calls, tolerance=1e-5, **options):
    """Compares calls of a compiled copy with calls of an eager copy, one after the other."""
    eager, own = copy.deepcopy(function), copy.deepcopy(function)
    compiled = torch.compile(own, backend="unmess", **options)
    for call in calls:
        expected = described(eager, copy.deepcopy(call))
        found = described(compiled, copy.deepcopy(call))
        assert len(expected) == len(found)
        for theirs, ours in zip(expected, found, strict=True):
            if isinstance(theirs, torch.Tensor):
                torch.testing.assert_close(
                    ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True
                )
            else:
                assert theirs == ours


def views(x):
    doubled = x * 2
    return doubled, doubled.t(), doubled[0], x[1:], x.view(-1)


def mutation(x, y):
    x[1:].mul_(3)
    y.add_(x)
    return x.sum(), y


def containers(x, y):
    return {"a": [x * 2, None], "b": (3, x.shape[0], y)}, y.t()


def written_copy(x, y):
    copied = x.clone()
    copied[0] = 5
    copied[:, 1] += y[:, 0]
    return copied, copied.max(0)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", [views, mutation, containers, written_copy])
def test_views_mutations_and_containers(function, dynamic):
    arguments = (tensor(3, 4), tensor(3, 4).flip(0))
    check_as_eager(function, arguments[: function.__code__.co_argcount], dynamic=dynamic)


def pixels_last(x):
    return x.permute(0, 2, 3, 1).reshape(x.shape[0], -1, x.shape[1])


def views_of_a_result(x):
    doubled = x * 2
    return doubled.transpose(1, 3)[:, 1:], doubled, doubled.unflatten(1, (2, -1))[:, 1]


def part_and_product(x):
    part = x.tensor_split(3, 2)[1]
    return part.transpose(0, 1), part * 2, part.sum()


def written_part(x):
    part = x[:, 1:].transpose(2, 3)
    part.mul_(3)
    return part, x.flatten(2)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "function", [pixels_last, views_of_a_result, part_and_product, written_part]
)
def test_views_with_other_strides(function, dynamic):
    """AOTAutograd restores views with the strides and the offset of the results of the graph."""
    calls = [(tensor(2, 4, 6, 5),), (tensor(3, 6, 9, 7),)]
    check_as_eager(function, *calls, dynamic=dynamic)
    check_as_eager(function, *[(x.requires_grad_(function is not written_part),) for (x,) in calls])


def test_strides_are_those_of_eager():
    image = tensor(2, 3, 4, 5)
    check_as_eager(
        lambda x: (torch.relu(x), x + x.amax((2, 3), keepdim=True), x.permute(0, 2, 3, 1) * 2),
        (image,),
        (image.contiguous(memory_format=torch.channels_last),),
    )


def test_arguments_of_any_layout():
    check_as_eager(
        lambda x: (x * 2, x.t() + 1), (tensor(4, 3).t(),), (tensor(6, 4)[::2],), (tensor(4)[None],)
    )


DTYPES = ["float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool", "complex64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    dtype = getattr(torch, dtype)
    x, y = tensor(3, 4, dtype=dtype), tensor(4, dtype=dtype)
    tolerance = 1e-2 if dtype in (torch.float16, torch.bfloat16) else 1e-5
    check_as_eager(
        lambda x, y: (x + y, torch.where(x == y, x, y), x.sum()), (x, y), tolerance=tolerance
    )


@pytest.mark.parametrize(
    "x",
    [torch.tensor([1.0, NAN, INF, -INF, -0.0]), torch.empty(0, 4), torch.ones(1), torch.ones(())],
    ids=["special", "empty", "one", "scalar"],
)
def test_hostile_values_and_sizes(x):
    check_as_eager(lambda x: (x.relu(), x / 0, x.sum(), torch.stack([x, x]).sign()), (x,))


class Trained(torch.nn.Module):
    """Has parameters, buffers that training updates, and random numbers."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Linear(4, 8)
        self.norm = torch.nn.BatchNorm1d(8)
        self.drop = torch.nn.Dropout(0.5)
        self.last = torch.nn.Linear(8, 2)

    def forward(self, x):
        return self.last(self.drop(self.norm(self.first(x)).sigmoid()))


def test_training_loop():
    eager = Trained()
    own = copy.deepcopy(eager)
    for model, function in ((eager, eager), (own, torch.compile(own, backend="unmess"))):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        torch.manual_seed(1)
        for step in range(3):
            loss = function(tensor(6, 4) + step).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert graphs() == 1
    for name, value in eager.state_dict().items():
        torch.testing.assert_close(own.state_dict()[name], value, rtol=1e-5, atol=1e-5)


def test_evaluation_without_gradients():
    with torch.no_grad():
        check_as_eager(Trained().eval(), (tensor(6, 4),), (tensor(2, 4),), fullgraph=True)


def test_gradients_of_arguments():
    x, y = tensor(3, 4).requires_grad_(), tensor(4).requires_grad_()
    check_as_eager(lambda x, y: ((x * y).sin(), y.exp(), x.detach()), (x, y))


class Counter(torch.nn.Module):
    """Updates buffers in place and by assignment."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.total = self.total + x
        self.calls += 1
        return self.total / self.calls


def test_buffers_that_calls_update():
    check_as_eager(Counter(), *[(tensor(3),)] * 3)


def rows(x, y):
    return torch.cat([x, x @ y])[: x.shape[0] + 1].softmax(-1).reshape(-1), x.shape[0] * 2


def test_dynamic_sizes_compile_once():
    calls = [(tensor(n, 4), tensor(4, 4)) for n in (3, 6, 9)]
    check_as_eager(rows, *calls, dynamic=True)
    assert graphs() == 1


def test_marked_dimension_compiles_once():
    compiled = torch.compile(rows, backend="unmess")
    for size in (5, 2, 7):
        x = tensor(size, 4)
        torch._dynamo.mark_dynamic(x, 0)
        for ours, theirs in zip(compiled(x, x.T @ x), rows(x, x.T @ x), strict=True):
            torch.testing.assert_close(ours, theirs)
    assert graphs() == 1


def test_another_size_and_number_recompile_as_pytorch_does():
    calls = [(tensor(3), 2), (tensor(3), 2), (tensor(5), 2), (tensor(6), 2), (tensor(6), 2.5)]
    check_as_eager(lambda x, n: x * n, *calls)
    assert graphs() == graphs_of_pytorch(lambda x, n: x * n, *calls) == 3


def branch(x):
    if x.sum() > 0:
        return x + 1
    return x[x < 0] * 2


def test_graph_breaks():
    calls = [(tensor(5).abs(),), (-tensor(5).abs(),)]
    check_as_eager(branch, *calls)
    assert graphs() == graphs_of_pytorch(branch, *calls) > 2
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(branch, backend="unmess", fullgraph=True)(tensor(5))


def test_autocast():
    def product(x, y):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return x @ y + 1

    check_as_eager(product, (tensor(3, 4), tensor(4, 5)), tolerance=1e-2)


def test_random_numbers_are_those_of_eager():
    check_as_eager(lambda x: (torch.rand_like(x) + x, torch.nn.functional.dropout(x)), (tensor(9),))


def test_random_numbers_without_fallback_differ_from_call_to_call():
    compiled = torch.compile(torch.rand_like, backend="unmess", options={"fallback": None})
    first, second = compiled(tensor(99)), compiled(tensor(99))
    assert not torch.equal(first, second)
    assert 0 <= first.min() < 0.2 < 0.8 < first.max() <= 1


def test_operators_of_optimizers_compile():
    """TorchDynamo replaces them by an operator of its own."""

    def step(x, y, factor):
        x.addcmul_(y, y, value=0.5)
        x.addcdiv_(y, y * y + 1, value=-2.0)
        return x.add_(y, alpha=factor)

    call = tensor(3, 4), tensor(3, 4), torch.tensor(0.25)
    check_as_eager(step, call, options={"fallback": None})


def spectrum(x):
    scaled = x @ x.t() + x.sum()
    values = torch.linalg.eigvals(scaled)  # no lowering
    return values.abs().sort().values * 2 + 1


def test_operator_without_lowering_runs_in_eager():
    x = tensor(4, 4)
    line = spectrum.__code__.co_firstlineno + 2
    with pytest.warns(UserWarning, match=rf"aten\.linalg_eig.*test_torch_compile\.py:{line}: "):
        check_as_eager(spectrum, (x,), tolerance=1e-4)
    torch._dynamo.reset()
    with pytest.raises(unmess.Error) as caught:
        torch.compile(spectrum, backend="unmess", options={"fallback": None})(x)
    assert "aten.linalg_eig" in caught.value.cause
    assert caught.value.where == f"{__file__}:{line}"
    assert isinstance(caught.value, torch._dynamo.exc.BackendCompilerFailed)


def test_linear_algebra_of_dynamic_size_runs_in_eager():
    compiled = torch.compile(lambda x: torch.linalg.inv(x * 2) + 1, backend="unmess", dynamic=True)
    with pytest.warns(UserWarning, match=r"aten\.linalg_inv_ex"):
        for size in (3, 5):
            x = tensor(size, size)
            torch.testing.assert_close(compiled(x), torch.linalg.inv(x * 2) + 1)


ATTENTION = {
    "causal": {"is_causal": True, "scale": 0.3},
    "mask of each head": {"attn_mask": tensor(2, 4, 5, 5)},
    # The third query sees no key.
    "masked": {"attn_mask": torch.ones(5, 5, dtype=torch.bool).tril(-1)[[1, 2, 0, 3, 4]]},
}


@pytest.mark.parametrize("fallback", ["eager", None])
@pytest.mark.parametrize("call", ATTENTION.values(), ids=ATTENTION)
def test_gradients_of_attention(call, fallback):
    """The gradient reads a second result of the forward operator."""

    def attended(query, key, value):
        # Two heads of the query share a head of the keys.
        return F.scaled_dot_product_attention(query, key, value, enable_gqa=True, **call)

    sizes = (1, 2) if call.get("attn_mask") is None else (2,)
    calls = [
        [tensor(batch, heads, 5, 8).requires_grad_() for heads in (4, 2, 2)] for batch in sizes
    ]
    check_as_eager(attended, *calls, tolerance=1e-4, options={"fallback": fallback})


def test_gradients_of_a_transformer_layer():
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    check_as_eager(layer, (tensor(2, 3, 4),), tolerance=1e-4, options={"fallback": None})


def test_failure_at_run_time_is_an_error():
    compiled = torch.compile(lambda x, i: x[i] + 1, backend="unmess")
    assert torch.equal(compiled(tensor(3), torch.tensor([2])), tensor(3)[2:] + 1)
    with pytest.raises(unmess.Error, match="index out of range") as caught:
        compiled(tensor(3), torch.tensor([7]))
    assert caught.value.stage == "run"


def solution(a, b):
    # PyTorch's fake tensor has other strides than the result of `solve`.
    logarithms = *torch.linalg.slogdet(a), torch.linalg.det(a.mT)
    return torch.linalg.solve(a, b).contiguous(), *logarithms


@pytest.mark.parametrize("fallback", ["eager", None])
def test_checks_of_linear_algebra(fallback):
    """AOTAutograd orders such checks by tokens."""
    options = {"options": {"fallback": fallback}, "fullgraph": True}
    matrix = tensor(3, 3).requires_grad_()
    check_as_eager(solution, (matrix, tensor(3, 2)), tolerance=1e-4, **options)
    compiled = torch.compile(solution, backend="unmess", **options)
    with pytest.raises(unmess.Error, match="the matrix is singular"):
        compiled(torch.zeros(3, 3), tensor(3, 2))


def test_gradient_reads_a_result_that_is_not_compiled():
    """The decomposition of `ctc_loss` does not compute the variables that its gradient reads."""
    # PyTorch has no fake kernel for this operator. The import registers one.
    import importers.decompositions.ctc_loss  # noqa: F401

    scores, targets = tensor(4, 1, 3).log_softmax(2).requires_grad_(), torch.tensor([[1, 2]])
    lengths = torch.tensor([4]), torch.tensor([2])
    with pytest.warns(UserWarning, match="ctc_loss"):
        check_as_eager(torch.nn.functional.ctc_loss, (scores, targets, *lengths))


def test_iree():
    eager = Trained()
    check_as_eager(eager, (tensor(6, 4),), options={"on": "iree-cpu"}, tolerance=1e-4)


def test_denied_operators_run_in_eager(monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no warning: the user asked for it
        check_as_eager(views, (tensor(3, 4),), options={"deny_ops": ["aten::mul"]})


@pytest.mark.parametrize(
    ("arguments", "cause", "hint"),
    [
        ({"options": {"fallbak": None}}, "no option 'fallbak'", "did you mean fallback?"),
        ({"options": {"on": "referenc"}}, "unknown runner 'referenc'", "iree-cpu"),
        ({"options": {"cache": 1}}, "the option cache of the backend unmess is 1", "True or False"),
        ({"options": {"fallback": "none"}}, "is 'none'", "'eager' or None"),
        ({"options": {"fallback": None, "deny_ops": ["aten::mul"]}}, "a fallback", "'eager'"),
        ({"options": {"deny_ops": ["aten::mulx"]}}, "aten::mulx", "aten::mul"),
        ({"mode": "max-autotune"}, "no mode 'max-autotune'", "leave out mode"),
    ],
)
def test_wrong_options(arguments, cause, hint):
    with pytest.raises(unmess.Error) as caught:
        torch.compile(views, backend="unmess", **arguments)(tensor(3, 4))
    assert caught.value.stage == "usage"
    assert cause in caught.value.cause
    assert hint in caught.value.hint


def test_other_devices_are_refused():
    def place(x):
        return x + 1, torch.ones(3, device="meta") * 2

    with pytest.raises(unmess.Error, match="device meta") as caught:
        torch.compile(place, backend="unmess")(tensor(3))
    assert caught.value.where == f"{__file__}:{place.__code__.co_firstlineno + 1}"


def test_cache_of_compiled_programs(monkeypatch, tmp_path):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))
    found = []
    for cache in (False, True, True):
        torch._dynamo.reset()
        torch.compile(views, backend="unmess", options={"cache": cache})(tensor(3, 4))
        found.append(artifacts.list_artifacts())
    assert found[0] == []
    # The third one reads what the second one has written.
    assert [entry.runner for entry in found[1]] == ["reference"]
    assert [entry.key for entry in found[2]] == [entry.key for entry in found[1]]
    assert found[2][0].used > found[1][0].used


def test_registration():
    assert "unmess" in torch._dynamo.list_backends()
    code = "import sys, unmess; assert 'torch' not in sys.modules, 'import unmess imports torch'"
    subprocess.run([sys.executable, "-c", code], check=True)
