"""Operations that several threads compute: the same bits, and failures that stay a call's own."""

import pytest
import torch
from torch import nn

import unmess


class Everything(nn.Module):
    """What is cut along batches, rows, columns, rows of a softmax, and single elements."""

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
    """Sets PyTorch's number of threads, and puts it back."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def inputs():
    torch.manual_seed(0)
    return torch.randn(4, 384, 256), torch.randn(2, 8, 72, 72), torch.randint(100, (4, 384))


def load(model, inputs):
    return unmess.load(unmess.capture(model.eval(), inputs), on="reference")


def test_any_number_of_threads_computes_the_same_bits(threads, inputs):
    torch.manual_seed(0)
    model = Everything()
    results = {}
    # With three, no size is a multiple of the number.
    for count in (1, 2, 3, 4):
        threads(count)
        results[count] = load(model, inputs)(*inputs)
    with torch.no_grad():
        torch.testing.assert_close(results[1], model(*inputs), rtol=1e-5, atol=1e-5)
    for count in (2, 3, 4):
        assert all(map(torch.equal, results[count], results[1]))
    # Fewer threads than there are parts, too.
    threads(4)
    run = load(model, inputs)
    threads(1)
    assert all(map(torch.equal, run(*inputs), results[1]))


def test_a_check_that_fails_in_a_thread_ends_the_call_alone(threads, inputs):
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
