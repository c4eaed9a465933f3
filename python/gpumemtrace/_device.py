# SPDX-License-Identifier: Apache-2.0
"""The driver's functions that a launch needs, for the simulated device: memory, code, launches.

Nothing of CUDA has to be installed: libcuda.so.1 is the one that `gpumemtrace --device simulated` has loaded.
"""

import ctypes
import os
import threading
from collections.abc import Sequence

from gpumemtrace._command import GpumemtraceError

# Of cuda.h.
_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76
_FUNCTION_REGISTERS, _FUNCTION_DYNAMIC_SHARED = 4, 8
_LAUNCH_COOPERATIVE, _LAUNCH_CLUSTER, _LAUNCH_PROGRAMMATIC = 2, 4, 6
_MAP_BYTES, _MAP_ALIGNMENT = 128, 64
_MORE_THAN_ASKED_FOR = 48 * 1024  # bytes of dynamic shared memory from which on a kernel has to ask for them


class _LaunchAttribute(ctypes.Structure):
    _fields_ = (("id", ctypes.c_uint), ("pad", ctypes.c_uint), ("value", ctypes.c_uint * 16))


class _LaunchConfig(ctypes.Structure):
    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_LaunchAttribute)),
        ("attribute_count", ctypes.c_uint),
    )


def is_simulated() -> bool:
    """Whether the command has given this process the simulated device."""
    return os.environ.get("GPUMEMTRACE_DEVICE") == "simulated"


class Device:
    """The first device, whose primary context is current in each thread that calls. Each refused call raises GpumemtraceError."""

    def __init__(self) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._thread = threading.local()
        self._context = ctypes.c_void_p()
        self._thread.is_ready = True
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), 0)
        self.call("cuCtxSetCurrent", self._context)

    def call(self, name: str, *words) -> None:
        if not getattr(self._thread, "is_ready", False):
            self._thread.is_ready = True
            self.call("cuCtxSetCurrent", self._context)
        status = getattr(self._driver, name)(*words)
        if status != 0:
            text = ctypes.c_char_p()
            self._driver.cuGetErrorName(status, ctypes.byref(text))
            raise GpumemtraceError(f"{name} answers {(text.value or b'an unknown error').decode()} ({status})")

    def attribute(self, number: int) -> int:
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), number, 0)
        return value.value

    def capability(self) -> tuple[int, int]:
        return self.attribute(_CAPABILITY_MAJOR), self.attribute(_CAPABILITY_MINOR)

    def allocate(self, size: int) -> int:
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address.value

    def free(self, address: int) -> None:
        self.call("cuMemFree_v2", ctypes.c_uint64(address))

    def fill(self, address: int, size: int) -> None:
        self.call("cuMemsetD8_v2", ctypes.c_uint64(address), ctypes.c_ubyte(0), ctypes.c_size_t(size))

    def to_device(self, address: int, host: int, size: int) -> None:
        self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), ctypes.c_void_p(host), ctypes.c_size_t(size))

    def to_host(self, host: int, address: int, size: int) -> None:
        self.call("cuMemcpyDtoH_v2", ctypes.c_void_p(host), ctypes.c_uint64(address), ctypes.c_size_t(size))

    def load(self, ptx: bytes, kernel: str) -> tuple[ctypes.c_void_p, ctypes.c_void_p]:
        """The module of this PTX, and its kernel."""
        module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(ptx))
        return module, self.kernel_of(module, kernel)

    def kernel_of(self, module: ctypes.c_void_p, name: str) -> ctypes.c_void_p:
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function

    def unload(self, module: ctypes.c_void_p) -> None:
        self.call("cuModuleUnload", module)

    def registers(self, function: ctypes.c_void_p) -> int:
        value = ctypes.c_int()
        self.call("cuFuncGetAttribute", ctypes.byref(value), _FUNCTION_REGISTERS, function)
        return value.value

    def parameter_count(self, function: ctypes.c_void_p) -> int:
        offset, size = ctypes.c_size_t(), ctypes.c_size_t()
        count = 0
        ask = self._driver.cuFuncGetParamInfo
        while ask(function, ctypes.c_size_t(count), ctypes.byref(offset), ctypes.byref(size)) == 0:
            count += 1
        return count

    def tensor_map(
        self,
        address: int,
        element: int,
        shape: Sequence[int],
        stride_bytes: Sequence[int],
        box: Sequence[int],
        swizzle: int,
        *,
        fills_nan: bool,
    ) -> bytes:
        """A CUtensorMap. Sizes are of the innermost dimension first, which has no stride."""
        buffer = ctypes.create_string_buffer(2 * _MAP_BYTES)
        begin = -ctypes.addressof(buffer) % _MAP_ALIGNMENT
        rank = len(shape)
        self.call(
            "cuTensorMapEncodeTiled",
            ctypes.c_void_p(ctypes.addressof(buffer) + begin),
            element,
            rank,
            ctypes.c_void_p(address),
            (ctypes.c_uint64 * rank)(*shape),
            (ctypes.c_uint64 * max(rank - 1, 1))(*stride_bytes),
            (ctypes.c_uint32 * rank)(*box),
            (ctypes.c_uint32 * rank)(*[1] * rank),
            0,
            swizzle,
            0,
            int(fills_nan),
        )
        return buffer.raw[begin : begin + _MAP_BYTES]

    def launch(
        self,
        function: ctypes.c_void_p,
        grid: Sequence[int],
        threads: int,
        values: Sequence[bytes],
        *,
        shared_bytes: int = 0,
        cluster: int = 1,
        cooperative: bool = False,
        programmatic: bool = False,
    ) -> None:
        """Runs a grid to its end. `values` are the bytes of the parameters, one by one."""
        if shared_bytes > _MORE_THAN_ASKED_FOR:
            self.call("cuFuncSetAttribute", function, _FUNCTION_DYNAMIC_SHARED, shared_bytes)
        attributes = []
        if cluster > 1:
            attributes.append(_attribute(_LAUNCH_CLUSTER, cluster, 1, 1))
        if cooperative:
            attributes.append(_attribute(_LAUNCH_COOPERATIVE, 1))
        if programmatic:
            attributes.append(_attribute(_LAUNCH_PROGRAMMATIC, 1))
        config = _LaunchConfig(
            grid=tuple(grid),
            block=(threads, 1, 1),
            shared_bytes=shared_bytes,
            attributes=(_LaunchAttribute * len(attributes))(*attributes),
            attribute_count=len(attributes),
        )
        kept = [(ctypes.c_char * len(value)).from_buffer_copy(value) for value in values]
        parameters = (ctypes.c_void_p * len(kept))(*[ctypes.addressof(value) for value in kept])
        self.call("cuLaunchKernelEx", ctypes.byref(config), function, parameters, None)
        self.call("cuCtxSynchronize")


def _attribute(number: int, *words: int) -> _LaunchAttribute:
    return _LaunchAttribute(id=number, value=words)
