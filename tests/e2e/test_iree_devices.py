"""Models on IREE's Vulkan, CUDA and HIP runners match eager PyTorch, where there is a device."""

import pytest
import torch

import unmess
from pipelines.iree import backend, open_devices
from pipelines.iree.devices import devices
from pipelines.iree.targets import driver

RUNNERS = ("iree-vulkan", "iree-cuda", "iree-hip")


@pytest.fixture(params=RUNNERS)
def runner(request):
    if request.param == "iree-vulkan":
        request.getfixturevalue("vulkan")
    answer = devices(driver(request.param))
    if answer.default is None:
        pytest.skip(f"{request.param}: {answer.problem}")
    return request.param


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.normalization = torch.nn.BatchNorm2d(8)
        self.head = torch.nn.Linear(8, 5)

    def forward(self, image):
        features = torch.relu(self.normalization(self.convolution(image)))
        return torch.softmax(self.head(features.mean((2, 3))), dim=-1)


def test_a_network(runner):
    torch.manual_seed(0)
    report = unmess.check(unmess.capture(Network().eval(), (torch.randn(2, 3, 16, 16),)), runner)
    assert report.ok, report.error
    assert report.max_abs_error < 1e-5


def test_a_transformer(runner):
    report = unmess.check(unmess.capture("hf:bert"), runner, calls=1)
    assert report.ok, report.error
    assert report.max_abs_error < 1e-4


def test_a_device_that_is_lost_during_the_load_is_opened_again(runner, monkeypatch):
    used = []

    class LostOnce(backend.Program):
        def __init__(self, artifact, notes=()):
            super().__init__(artifact, notes=notes)
            used.append(self._transfer._device)
            if len(used) == 1:
                raise RuntimeError("DATA_LOSS; [vkWaitSemaphores] VK_ERROR_DEVICE_LOST")

    monkeypatch.setattr(backend, "Program", LostOnce)
    monkeypatch.setattr(open_devices, "_lost", [])  # this device works, and must be closed
    x = torch.ones(3)
    run = unmess.load(unmess.capture(lambda x: x * 2, (x,)), on=runner)
    assert torch.equal(run(x), x * 2)
    assert len(used) == 2 and used[0] is not used[1]
    assert "device" in [note.kind for note in run.notes]


def test_dtypes_are_kept(runner):
    def function(double, long, half, brain, byte):
        return double / 3, long * 3_000_000_019, half * 2, brain + 1, byte + byte, long > 2

    arguments = (
        torch.tensor([1.0, 1e-300], dtype=torch.float64),
        torch.tensor([1, 2**40], dtype=torch.int64),
        torch.tensor([0.5, 3.0], dtype=torch.float16),
        torch.tensor([0.5, 3.0], dtype=torch.bfloat16),
        torch.tensor([1, 100], dtype=torch.uint8),
    )
    actual = unmess.load(unmess.capture(function, arguments), on=runner)(*arguments)
    for ours, theirs in zip(actual, function(*arguments), strict=True):
        assert ours.dtype == theirs.dtype
        assert torch.equal(ours, theirs)


def test_state_stays_on_the_device_until_it_is_read(runner, monkeypatch):
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(1000))

        def forward(self, x):
            self.total += x
            return self.total[:2] * 2

    run = unmess.load(unmess.capture(Counter(), (torch.ones(1000),)), on=runner)
    uploaded = []
    to_device = run._program._transfer.to_device
    monkeypatch.setattr(
        run._program._transfer, "to_device", lambda t: uploaded.append(t.data_ptr()) or to_device(t)
    )
    x = torch.ones(1000)
    for step in (1, 2, 3):
        assert torch.equal(run(x), torch.full((2,), 2.0 * step))
    # Only the initial state and the argument of each call are uploaded.
    assert len(uploaded) == 4
    assert torch.equal(run.state["total"], torch.full((1000,), 3.0))
    run.state["total"] = torch.full((1000,), 10.0)
    assert torch.equal(run(x), torch.full((2,), 22.0))
    run.state["total"].zero_()
    assert torch.equal(run(x), torch.full((2,), 2.0))
