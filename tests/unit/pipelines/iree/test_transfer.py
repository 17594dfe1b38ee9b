"""Device failures while tensors are copied raise an Error with a hint."""

import pytest
import torch

import unmess
from pipelines.iree.transfer import Transfer


class Allocator:
    """Fails as IREE's allocator does."""

    def __init__(self, text):
        self.text = text

    def allocate_buffer_copy(self, **_):
        raise RuntimeError(f"Failed to allocate buffer copy: queue.c:1: {self.text}")


class Device:
    """A device with that allocator."""

    def __init__(self, text):
        self.allocator = Allocator(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("DATA_LOSS; [vkWaitSemaphores] VK_ERROR_DEVICE_LOST", "load the program again"),
        ("RESOURCE_EXHAUSTED; out of memory", "ran out of memory"),
        ("INTERNAL; something else", "unmess doctor"),
    ],
)
def test_failed_copy_raises_with_a_hint(text, hint):
    transfer = Transfer(Device(text), "vulkan")
    with pytest.raises(unmess.Error) as caught:
        transfer.to_device(torch.ones(3))
    assert caught.value.stage == "run"
    assert "copying 12 bytes to the device" in caught.value.cause
    assert hint in caught.value.hint
