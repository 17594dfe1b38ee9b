"""Tests the peak memory of a call."""

import pytest
import torch

import unmess
from benchmarks.peak_memory import peak_memory

_MB = 1 << 20


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_a_chain_needs_two_buffers_at_a_time():
    """Sixteen steps of 4 MB each. Every step reads the result of the previous one."""

    def chain(x):
        for _ in range(16):
            # Not fused with its neighbors: each result element reads many operand elements.
            x = x.cumsum(0)
        return x

    # In f32, each sum would also have two temporaries in f64.
    x = torch.zeros(1024, 512, dtype=torch.float64)
    run = unmess.load(unmess.capture(chain, (x,)))
    # Pages that were resident before are not counted.
    assert 7 * _MB <= peak_memory(lambda: run(x)) < 20 * _MB
