"""State that stays on a device until it is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping

import iree.runtime as rt
import torch

from pipelines.iree.transfer import Transfer


class DeviceState(MutableMapping[str, torch.Tensor]):
    """Tensors by name, which stay where the last call left them.

    Reading a tensor moves it to the CPU, where it may be changed in place. The next call moves it
    back to the device. Tensors that are not read stay on the device.
    """

    def __init__(self, tensors: Mapping[str, torch.Tensor], transfer: Transfer):
        self._transfer = transfer
        self._dtypes = {name: tensor.dtype for name, tensor in tensors.items()}
        self._values: dict[str, torch.Tensor | rt.HalBufferView] = dict(tensors)

    def __getitem__(self, name: str) -> torch.Tensor:
        value = self._values[name]
        if isinstance(value, rt.HalBufferView):
            value = self._values[name] = self._transfer.to_torch(value, self._dtypes[name])
        return value

    def __setitem__(self, name: str, value: torch.Tensor) -> None:
        self._values[name] = value

    def __delitem__(self, name: str) -> None:
        del self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def tensor_or_buffer(self, name: str) -> torch.Tensor | rt.HalBufferView | None:
        """Returns the tensor if it is on the CPU, or else its device buffer; None if unknown."""
        return self._values.get(name)

    def keep(self, name: str, value: torch.Tensor | rt.HalBufferView, dtype: torch.dtype) -> None:
        """Stores the state that a call returned."""
        self._dtypes[name] = dtype
        self._values[name] = value
