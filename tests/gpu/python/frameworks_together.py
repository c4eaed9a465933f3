# SPDX-License-Identifier: Apache-2.0
"""PyTorch, CuPy and JAX in one process, and CuPy's own ways to write kernels: frameworks_together.py WORD

Words: exchange (arrays that one framework makes and another uses, by DLPack and by the array interface), streams (one
framework's stream in another), managed (CuPy's managed memory as a tensor), kernels (CuPy's raw modules, fusion, jit and
cooperative launches), profiler (JAX's, which uses CUPTI). Nothing is wrong with any of them. Exit status: 0, 77 without
the frameworks or a GPU.
"""
# run: exchange
# expect: clean
# run: exchange
# options: --guard
# expect: clean
# run: streams
# expect: clean
# run: streams
# options: --guard
# expect: clean
# run: managed
# expect: clean
# run: kernels
# expect: clean
# run: kernels
# options: --guard
# expect: clean
# run: profiler
# expect: clean

import os
import pathlib
import sys
import tempfile

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the others need memory, too

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from gpu_cupy import cupy
from gpu_jax import jax
from gpu_torch import torch


def exchange():
    for size in (1, 1000, 1 << 18):
        tensor = torch.arange(size, device="cuda", dtype=torch.float32)
        array = cupy.from_dlpack(tensor)
        del tensor
        array *= 2
        jaxed = jax.numpy.from_dlpack(array)
        del array
        again = torch.from_dlpack(jaxed + 1)
        assert again[-1].item() == 2 * (size - 1) + 1
        viewed = torch.as_tensor(cupy.arange(size, dtype=cupy.float32), device="cuda")
        wrapped = cupy.asarray(viewed)
        wrapped += 1
        assert viewed[0].item() == 1
        back = jax.numpy.from_dlpack(viewed)
        assert float(back[0]) == 1
        del viewed, wrapped, back


def streams():
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream), cupy.cuda.ExternalStream(stream.cuda_stream):
        tensor = torch.ones(1 << 18, device="cuda")
        array = cupy.asarray(tensor) * 3
        total = torch.as_tensor(array, device="cuda").sum()
    stream.synchronize()
    assert total.item() == 3 << 18
    own = cupy.cuda.Stream(non_blocking=True)
    with own, torch.cuda.stream(torch.cuda.ExternalStream(own.ptr)):
        array = cupy.random.rand(1000)
        tensor = torch.as_tensor(array, device="cuda").sort().values
        event = own.record()
    event.synchronize()
    assert bool((tensor[1:] >= tensor[:-1]).all())
    cupy.cuda.set_allocator(cupy.cuda.MemoryPool().malloc)
    kept = [cupy.zeros(size) for size in (10, 1000, 100000)]
    tensors = [torch.as_tensor(one, device="cuda") for one in kept]
    del kept
    assert sum(one.sum().item() for one in tensors) == 0


def managed():
    cupy.cuda.set_allocator(cupy.cuda.MemoryPool(cupy.cuda.malloc_managed).malloc)
    array = cupy.arange(1 << 20, dtype=cupy.float32)
    device = cupy.cuda.Device().id
    cupy.cuda.runtime.memAdvise(array.data.ptr, array.nbytes, cupy.cuda.runtime.cudaMemAdviseSetReadMostly, device)
    cupy.cuda.runtime.memPrefetchAsync(array.data.ptr, array.nbytes, device, 0)
    tensor = torch.as_tensor(array, device="cuda")
    assert tensor.max().item() == (1 << 20) - 1
    assert cupy.asnumpy(array)[7] == 7


MODULE = r"""
struct Pair { float a; int b; };
__constant__ float factors[4];
__device__ int counter;
extern "C" __global__ void pairs(const Pair* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { out[i] = in[i].a * factors[in[i].b & 3]; atomicAdd(&counter, 1); }
}
template <typename T> __global__ void scaled(T* x, T by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
"""
TOGETHER = r"""
#include <cooperative_groups.h>
extern "C" __global__ void together(int* x, int n) {
  auto grid = cooperative_groups::this_grid();
  for (int i = grid.thread_rank(); i < n; i += grid.size()) x[i] = i;
  grid.sync();
  if (grid.thread_rank() == 0) x[0] = x[n - 1];
}
"""


def raw_module():
    import numpy

    module = cupy.RawModule(code=MODULE, options=("-std=c++17",), name_expressions=("scaled<double>", "scaled<int>"))
    factors = cupy.ndarray(4, cupy.float32, module.get_global("factors"))
    factors[...] = cupy.asarray([1, 2, 3, 4], dtype=cupy.float32)
    pairs = numpy.zeros(1000, dtype=[("a", numpy.float32), ("b", numpy.int32)])
    pairs["a"], pairs["b"] = 1, numpy.arange(1000)
    given = cupy.asarray(pairs.view(numpy.int64))
    out = cupy.empty(1000, cupy.float32)
    module.get_function("pairs")((8,), (128,), (given, out, numpy.int32(1000)))
    assert float(out.sum()) == 2500
    assert int(cupy.ndarray((), cupy.int32, module.get_global("counter"))) == 1000
    doubles, ints = cupy.ones(300), cupy.ones(300, cupy.int32)
    module.get_function("scaled<double>")((3,), (128,), (doubles, 2.5, 300))
    module.get_function("scaled<int>")((3,), (128,), (ints, numpy.int32(3), 300))
    assert float(doubles.sum()) == 750 and int(ints.sum()) == 900


def kernels():
    from cupyx import jit

    raw_module()
    together = cupy.RawKernel(TOGETHER, "together", enable_cooperative_groups=True)
    numbers = cupy.zeros(10000, cupy.int32)
    together((4,), (128,), (numbers, 10000))
    assert int(numbers[0]) == 9999

    @cupy.fuse()
    def fused(x, y):
        return cupy.sqrt(x * x + y * y) - x

    @jit.rawkernel()
    def added(x, y, size):
        at = jit.grid(1)
        if at < size:
            y[at] = x[at] + y[at]

    x, y = cupy.random.rand(5000), cupy.random.rand(5000)
    fused(x, y), added[40, 128](x, y, 5000)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        stream.begin_capture()
        added[40, 128](x, y, 5000)
        graph = stream.end_capture()
        for _ in range(3):
            graph.launch()
        stream.synchronize()


def profiler():
    with tempfile.TemporaryDirectory() as folder, jax.profiler.trace(folder):
        product = jax.jit(lambda x: (x @ x).sum())(jax.numpy.ones((500, 500)))
        product.block_until_ready()
    assert float(product) == 500.0**3


if __name__ == "__main__":
    torch.manual_seed(0)
    {word.__name__: word for word in (exchange, streams, managed, kernels, profiler)}[sys.argv[1]]()
