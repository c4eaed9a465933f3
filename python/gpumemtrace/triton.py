# SPDX-License-Identifier: Apache-2.0
"""Triton's kernels on the simulated device: Triton itself compiles them for sm_90, without a GPU.

Arguments of kernels are NumPy arrays or PyTorch's tensors of the processor. gpumemtrace.simulated runs programs so.
"""

import functools
import struct

import triton
from triton.backends.compiler import GPUTarget

from gpumemtrace._arguments import Loan
from gpumemtrace._command import GpumemtraceError
from gpumemtrace._device import Device, is_simulated

_OLDEST = (3, 4)
_WARP = 32
# Of cuda.h: what Triton asks of a device, and the attribute that has it.
_PROPERTIES = {
    "max_shared_mem": 97,
    "max_num_regs": 12,
    "multiprocessor_count": 16,
    "warpSize": 10,
    "sm_clock_rate": 13,
    "mem_clock_rate": 36,
    "mem_bus_width": 37,
}
# Triton's numbers of element types that are others in CUtensorMapDataType: float, double and bfloat16.
_MAP_TYPES = {8: 10, 9: 8, 10: 9}
_MAP_TF32 = 11
_FORMS = {
    "i1": "b", "i8": "b", "i16": "h", "i32": "i", "i64": "q",
    "u1": "B", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
    "fp16": "e", "fp32": "f", "f32": "f", "fp64": "d",
}  # fmt: skip


@functools.cache
def _device() -> Device:
    return Device()


def _flat(values, kinds):
    """Pairs of values and their kinds, with tuples taken apart."""
    for value, kind in zip(values, kinds, strict=True):
        if isinstance(kind, tuple):
            yield from _flat(value, kind)
        else:
            yield value, kind


def _parameter(value, kind: str) -> bytes:
    """The bytes of a kernel's parameter."""
    if kind[0] == "*":
        if value is None:
            address = 0
        else:
            address = value.data_ptr() if hasattr(value, "data_ptr") else int(value)
        return struct.pack("Q", address)
    if kind == "map":
        return value
    if kind == "bf16":
        word = struct.unpack("I", struct.pack("f", float(value)))[0]
        return struct.pack("H", (word + 0x7FFF + (word >> 16 & 1)) >> 16)
    form = _FORMS[kind]
    return struct.pack(form, float(value) if form in "efd" else int(value))


def _tensor_map(descriptor, about) -> bytes:
    """What the kernel's copies of tensors read: CUDA counts dimensions from the innermost one, Triton to it."""
    if about.get("is_im2col"):
        raise GpumemtraceError("the simulated device has no descriptors of the kind im2col")
    shape = list(descriptor.shape)
    if about["fp4_padded"]:
        shape[-1] *= 2
    element = _MAP_TYPES.get(about["elem_type"], about["elem_type"])
    if getattr(descriptor, "round_f32_to_tf32", False):
        element = _MAP_TF32
    return _device().tensor_map(
        descriptor.base.data_ptr(),
        element,
        shape[::-1],
        [about["elem_size"] * stride for stride in descriptor.strides[-2::-1]],
        about["block_size"][::-1],
        about["swizzle"],
        fills_nan=getattr(descriptor, "padding", "zero") == "nan",
    )


class _Launcher:
    """Launches one compiled kernel. Triton makes it, and calls it with grid and arguments."""

    def __init__(self, source, metadata) -> None:
        self._kinds = tuple(source.signature.values())
        self._metadata = metadata

    def __call__(self, x, y, z, stream, function, packed, launch_metadata, enter, leave, *values) -> None:
        if enter is not None:
            enter(launch_metadata)
        grid = (x, y, z)
        if x * y * z > 0:
            with Loan(_device()) as loan:
                self._launch(grid, function, [loan.lend(value) for value in values], loan)
        if leave is not None:
            leave(launch_metadata)

    def _launch(self, grid, function, values, loan: Loan) -> None:
        about = self._metadata
        kinds = self._kinds
        if len(values) != len(kinds):
            kinds = tuple(kind for kind in kinds if kind != "constexpr")
        parameters = [
            _parameter(value, kind)
            for value, kind in self._without_descriptors(_flat(values, kinds))
            if kind != "constexpr"
        ]
        clusters = getattr(about, "num_ctas", 1)
        blocks = grid[0] * grid[1] * grid[2] * clusters
        missing = _device().parameter_count(function) - len(parameters)
        for name in ("global_scratch_size", "profile_scratch_size")[: max(missing, 0)]:
            size = getattr(about, name, 0) * blocks
            parameters.append(struct.pack("Q", loan.scratch(size) if size else 0))
        _device().launch(
            function,
            (grid[0] * clusters, grid[1], grid[2]),
            about.num_warps * _WARP,
            parameters,
            shared_bytes=about.shared,
            cluster=clusters,
            cooperative=getattr(about, "launch_cooperative_grid", False),
            programmatic=getattr(about, "launch_pdl", False),
        )

    def _without_descriptors(self, pairs):
        """Tensor descriptors become what the compiler has made of them: a map or a pointer, shape and strides."""
        maps = iter(getattr(self._metadata, "tensordesc_meta", None) or ())
        for value, kind in pairs:
            if not kind.startswith("tensordesc"):
                yield value, kind
                continue
            about = next(maps, None)
            if about is None:
                raise GpumemtraceError(f"the simulated device cannot be given a descriptor of the kind '{kind}'")
            yield _tensor_map(value, about), "map"
            yield from ((size, "i32") for size in value.shape)
            yield from ((stride, "i64") for stride in value.strides)


class _Utils:
    """What Triton asks of a driver's module in C."""

    def load_binary(self, name: str, code: bytes, shared_bytes: int, device: int):
        if code.startswith(b"\x7fELF"):
            raise GpumemtraceError(
                "Triton has made machine code, which the simulated device cannot run: TRITON_PTXAS_PATH and "
                "TRITON_PTXAS_BLACKWELL_PATH have to name what gpumemtrace sets"
            )
        module, function = _device().load(code, name)
        most_threads = 1024
        return module, function, max(_device().registers(function), 1), 0, most_threads

    def unload_module(self, module) -> None:
        _device().unload(module)

    def get_device_properties(self, device: int) -> dict[str, int]:
        return {name: _device().attribute(number) for name, number in _PROPERTIES.items()}


class SimulatedDriver:
    """Triton's driver. Each launch is over when it returns."""

    launcher_cls = _Launcher

    def __init__(self) -> None:
        self.utils = _Utils()

    @staticmethod
    def is_active() -> bool:
        return is_simulated()

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        pass

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        return _device().capability()

    def get_current_target(self) -> GPUTarget:
        major, minor = self.get_device_capability()
        return GPUTarget("cuda", 10 * major + minor, _WARP)

    def get_active_torch_device(self):
        """Where programs are to make their tensors."""
        import torch

        return torch.device("cpu")

    def get_benchmarker(self):
        """Times say nothing here: each configuration runs once, so that it is checked, and the first one is taken."""

        def run_once(call, quantiles=None, **_):
            call()
            return [1.0] * len(quantiles) if quantiles else 1.0

        return run_once

    def get_empty_cache_for_benchmark(self) -> None:
        return None

    def clear_cache(self, cache) -> None:
        pass

    def map_python_to_cpp_type(self, kind: str) -> str:
        return kind


def _with_arrays(run):
    """JITFunction.run, which may be given arrays of the host."""

    @functools.wraps(run)
    def wrapped(self, *words, warmup, **named):
        with Loan(None if warmup else _device()) as loan:
            lent = [loan.lend(word) for word in words]
            return run(self, *lent, warmup=warmup, **{name: loan.lend(word) for name, word in named.items()})

    wrapped.takes_arrays = True
    return wrapped


def activate() -> None:
    """From here on Triton compiles for the simulated device, and launches go there."""
    if tuple(map(int, triton.__version__.split(".")[:2])) < _OLDEST:
        raise GpumemtraceError(f"Triton {triton.__version__} is too old: the simulated device needs 3.4 or newer")
    _device()
    triton.runtime.driver.set_active(SimulatedDriver())
    function = triton.runtime.jit.JITFunction
    if not hasattr(function.run, "takes_arrays"):
        function.run = _with_arrays(function.run)
