# SPDX-License-Identifier: Apache-2.0
"""Arrays of the host as arguments of one launch: NumPy's, and tensors of PyTorch that lie on the processor.

Each array's own memory becomes a block of the device, of the same size, so that an access past the array meets
nothing. Views share the block of what they look into. Behind the launch the blocks' bytes come back.
"""

import dataclasses
import sys

from gpumemtrace._command import GpumemtraceError
from gpumemtrace._device import Device

_NOWHERE = 1 << 20  # aligned as a block is; where nothing is launched


class DeviceArray:
    """One array while its launch lasts. What is no question of its memory, the array itself answers."""

    def __init__(self, array, address: int) -> None:
        self._array = array
        self._address = address

    def data_ptr(self) -> int:
        return self._address

    def __getattr__(self, name: str):
        return getattr(self._array, name)


@dataclasses.dataclass
class _Extent:
    """Memory of the host that an array lies in."""

    start: int
    size: int
    is_writeable: bool


@dataclasses.dataclass
class _Block:
    address: int
    host: _Extent


def is_array(value) -> bool:
    return _is_numpy(value) or (hasattr(value, "data_ptr") and hasattr(value, "device"))


def _is_numpy(value) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def _first_byte(array) -> int:
    return array.ctypes.data if _is_numpy(array) else array.data_ptr()


def _extent(array) -> _Extent:
    if not _is_numpy(array):
        if getattr(array.device, "type", None) != "cpu":
            raise GpumemtraceError(
                f"a tensor is on '{array.device}'; the simulated device takes those of the processor"
            )
        storage = array.untyped_storage()
        return _Extent(storage.data_ptr(), storage.nbytes(), True)
    is_writeable = array.flags.writeable
    while _is_numpy(array.base):
        array = array.base
    if array.size == 0:
        return _Extent(0, 0, False)
    steps = [(count - 1) * stride for count, stride in zip(array.shape, array.strides, strict=True)]
    before = -sum(step for step in steps if step < 0)
    behind = sum(step for step in steps if step > 0) + array.itemsize
    return _Extent(array.ctypes.data - before, before + behind, is_writeable)


class Loan:
    """The blocks of one launch: `with Loan(device) as loan: launch(loan.lend(arguments))`."""

    def __init__(self, device: Device | None) -> None:
        """Without a device arrays only get addresses that are aligned as a block's would be."""
        self._device = device
        self._blocks: list[_Block] = []
        self._scratch: list[int] = []

    def __enter__(self) -> "Loan":
        return self

    def __exit__(self, kind, error, trace) -> None:
        try:
            if kind is None:
                self._bring_back()
        finally:
            self._free()

    def lend(self, value):
        """The argument, with DeviceArrays in the place of arrays, inside of tuples and tensor descriptors, too."""
        if isinstance(value, DeviceArray):
            return value
        if is_array(value):
            return DeviceArray(value, self._address_of(value))
        if isinstance(value, (tuple, list)):
            parts = [self.lend(part) for part in value]
            return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
        if dataclasses.is_dataclass(value) and hasattr(value, "block_shape"):
            return dataclasses.replace(value, base=self.lend(value.base))
        return value

    def scratch(self, size: int) -> int:
        """Memory of zeros that no array has."""
        address = self._device.allocate(size)
        self._scratch.append(address)
        self._device.fill(address, size)
        return address

    def _address_of(self, array) -> int:
        host = _extent(array)
        if host.size == 0:
            return 0
        offset = _first_byte(array) - host.start
        if self._device is None:
            return _NOWHERE + offset
        block = self._block_of(host)
        block.host.is_writeable |= host.is_writeable
        return block.address + (host.start - block.host.start) + offset

    def _block_of(self, host: _Extent) -> _Block:
        """The block that has this memory."""
        for block in self._blocks:
            begin, end = block.host.start, block.host.start + block.host.size
            if begin <= host.start and host.start + host.size <= end:
                return block
            is_apart = host.start >= end or host.start + host.size <= begin
            if not is_apart and (host.is_writeable or block.host.is_writeable):
                raise GpumemtraceError(
                    "two arrays of a launch share a part of their memory, and none is a view of the other: the "
                    "simulated device needs views of one array"
                )
        block = _Block(self._device.allocate(host.size), host)
        self._blocks.append(block)
        self._device.to_device(block.address, host.start, host.size)
        return block

    def _bring_back(self) -> None:
        for block in self._blocks:
            if block.host.is_writeable:
                self._device.to_host(block.host.start, block.address, block.host.size)

    def _free(self) -> None:
        addresses = [block.address for block in self._blocks] + self._scratch
        self._blocks.clear()
        self._scratch.clear()
        for address in addresses:
            try:
                self._device.free(address)
            except GpumemtraceError:
                return  # a fault has ended the context, and the memory with it
