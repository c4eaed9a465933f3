# SPDX-License-Identifier: Apache-2.0
"""CuPy with other allocators than its pool: cupy_allocators.py WORD

Words: ordered (the device's stream-ordered pool), managed (a pool of managed memory), none (each array by cudaMalloc),
graph (a captured stream), texture, raw (a module compiled by NVRTC with a variable of its own). Nothing is wrong with
any of them, so no report may have an error or a warning. Exit status: 0, 77 without CuPy or GPU.
"""
# run: ordered
# expect: clean
# run: ordered
# options: --guard
# expect: clean
# run: managed
# expect: clean
# run: none
# options: --guard
# expect: clean
# run: graph
# expect: clean
# run: texture
# expect: clean
# run: raw
# options: --guard
# expect: clean

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from gpu_cupy import cupy

SOURCE = r"""
__device__ float factor;
extern "C" __global__ void scale(float* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor;
}
extern "C" __global__ void sample(cudaTextureObject_t texture, float* out, int width) {
  const int x = threadIdx.x, y = blockIdx.x;
  out[y * width + x] = tex2D<float>(texture, x + 0.5f, y + 0.5f);
}
"""


def compute():
    a = cupy.random.rand(300, 300)
    parts = [a @ a, cupy.sort(a, axis=0), cupy.fft.fft(a), a[a > 0.5], a.T.copy()]
    assert all(bool(cupy.isfinite(part).all()) for part in parts)


def ordered():
    cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)
    compute()
    with cupy.cuda.Stream(non_blocking=True) as stream:
        compute()
        stream.synchronize()


def managed():
    cupy.cuda.set_allocator(cupy.cuda.MemoryPool(cupy.cuda.malloc_managed).malloc)
    compute()


def none():
    cupy.cuda.set_allocator(None)
    compute()


def graph():
    a = cupy.ones(1000)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        a *= 1  # compiled before the capture
        a += 0
        stream.begin_capture()
        a *= 2
        a += 1
        captured = stream.end_capture()
        for _ in range(3):
            captured.launch(stream)
        stream.synchronize()
    assert float(a[0]) == 15


def texture():
    width, height = 64, 16
    texture_of = cupy.cuda.texture
    form = texture_of.ChannelFormatDescriptor(32, 0, 0, 0, cupy.cuda.runtime.cudaChannelFormatKindFloat)
    array = texture_of.CUDAarray(form, width, height)
    values = cupy.arange(width * height, dtype=cupy.float32).reshape(height, width)
    array.copy_from(values)
    resource = texture_of.ResourceDescriptor(cupy.cuda.runtime.cudaResourceTypeArray, cuArr=array)
    clamp = cupy.cuda.runtime.cudaAddressModeClamp
    description = texture_of.TextureDescriptor(
        (clamp, clamp), cupy.cuda.runtime.cudaFilterModePoint, cupy.cuda.runtime.cudaReadModeElementType
    )
    sampler = texture_of.TextureObject(resource, description)
    out = cupy.zeros_like(values)
    cupy.RawModule(code=SOURCE).get_function("sample")((height,), (width,), (sampler, out, width))
    assert bool((out == values).all())


def raw():
    module = cupy.RawModule(code=SOURCE)
    factor = cupy.ndarray((1,), cupy.float32, module.get_global("factor"))
    factor[:] = 3
    values = cupy.ones(1000, dtype=cupy.float32)
    module.get_function("scale")((4,), (256,), (values, 1000))
    assert float(values.sum()) == 3000


if __name__ == "__main__":
    words = {"ordered": ordered, "managed": managed, "none": none, "graph": graph, "texture": texture, "raw": raw}
    words[sys.argv[1]]()
    cupy.cuda.Device().synchronize()
