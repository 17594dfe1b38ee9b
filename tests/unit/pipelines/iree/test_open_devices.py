"""All programs share a device, until it is closed or lost."""

import pytest

from pipelines.iree import open_devices as subject
from pipelines.iree.open_devices import close_device, device_error, open_device


@pytest.fixture(autouse=True)
def _no_driver(monkeypatch):
    """Opens objects instead of devices."""
    monkeypatch.setattr(subject, "_open", {})
    monkeypatch.setattr(subject, "_lost", [])
    monkeypatch.setattr(subject.rt, "get_device", lambda driver, cache: object())


def test_a_device_is_opened_once():
    assert open_device("vulkan") is open_device("vulkan")
    assert open_device("vulkan") is not open_device("cuda")


def test_a_closed_device_is_opened_again():
    closed = open_device("vulkan")
    close_device("vulkan")
    close_device("cuda")
    assert open_device("vulkan") is not closed


@pytest.mark.parametrize(
    ("problem", "is_kept"),
    [("DATA_LOSS; [vkWaitSemaphores] VK_ERROR_DEVICE_LOST", False), ("INTERNAL; other", True)],
)
def test_only_a_lost_device_is_opened_again(problem, is_kept):
    before = open_device("vulkan")
    device_error(RuntimeError(problem), "vulkan", "running the program")
    assert (open_device("vulkan") is before) == is_kept
    # Buffers may still refer to it.
    assert subject._lost == ([] if is_kept else [before])
