# SPDX-License-Identifier: Apache-2.0
"""Correct programs of cuda.core: cuda_core_programs.py NAME. Exit status: 0 the program ran, 2 no such program."""

import sys

import numpy
from program import main, program

try:
    from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch
except ImportError:
    from cuda.core.experimental import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = """
extern "C" __global__ void add(const float *a, const float *b, float *c, unsigned long long n) {
  for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    c[i] = a[i] + b[i];
}
extern "C" __global__ void count(float *c, unsigned long long n) {
  for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    c[i] = i;
}
"""


def compiled(device, name):
    program = Program(SOURCE, "c++", ProgramOptions(std="c++17", arch=f"sm_{device.arch}"))
    return program.compile("cubin").get_kernel(name)


@program
def sums():
    import cupy

    device = Device()
    device.set_current()
    stream, kernel, count = device.create_stream(), compiled(device, "add"), 50_000
    a, b = (cupy.random.standard_normal(count, dtype=cupy.float32) for _ in range(2))
    c = cupy.zeros_like(a)
    cupy.cuda.Device().synchronize()
    for _ in range(10):
        where = (a.data.ptr, b.data.ptr, c.data.ptr)
        launch(stream, LaunchConfig(grid=64, block=256), kernel, *where, numpy.uint64(count))
    stream.sync()
    assert cupy.allclose(a + b, c)


@program
def buffers():
    device = Device()
    device.set_current()
    stream, kernel, count = device.create_stream(), compiled(device, "count"), 4096
    for _ in range(20):
        a, b = (device.allocate(count * 4, stream=stream) for _ in range(2))
        launch(stream, LaunchConfig(grid=4, block=256), kernel, a, numpy.uint64(count))
        b.copy_from(a, stream=stream)
        for buffer in (a, b):
            buffer.close(stream)
    stream.sync()


if __name__ == "__main__":
    sys.exit(main())
