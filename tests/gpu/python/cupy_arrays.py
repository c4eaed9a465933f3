# SPDX-License-Identifier: Apache-2.0
"""Arrays and kernels of CuPy: cupy_arrays.py clean|grow|double-free|past-end

Exit status: 0, 77 without CuPy or GPU.
"""
# run: clean
# expect: clean
# run: grow
# expect: silent
# run: double-free
# expect: error double-free count=1 api=cudaFree stacks="allocated here"@twice:LINE(made),"first freed here"@twice:LINE(first),"freed again here"@twice:LINE(again)
# run: past-end-clean
# options: --guard
# expect: clean
# run: past-end
# options: --guard
# exit: signal 6
# not-checked: leak
# expect: error kernel-out-of-bounds message="40.0 KiB" line=LINE(launch)
# or: registers no longer hold the address
# expect: error kernel-fault line=LINE(launch)
# not-checked: leak

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from gpu_cupy import cupy

COUNT = 10240
CODE = """
extern "C" __global__ void differences(const float* values, float* sums, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sums[i] = values[i + 1] - values[i];
}
"""


def grow():
    """Each step keeps an array, so CuPy's pool asks for another segment."""
    kept = []
    for _ in range(20):
        kept.append(cupy.ones(1 << 20, dtype=cupy.float32))  # @grow
    cupy.cuda.Device().synchronize()
    return kept


def twice():
    address = cupy.cuda.runtime.malloc(4000)  # @made
    cupy.cuda.runtime.memset(address, 0, 4000)
    cupy.cuda.runtime.free(address)  # @first
    try:
        cupy.cuda.runtime.free(address)  # @again
    except cupy.cuda.runtime.CUDARuntimeError as error:
        print(error)


def past_end(count):
    cupy.cuda.set_allocator(None)  # each array is an allocation of its own
    values, sums = cupy.ones(COUNT, dtype=cupy.float32), cupy.zeros(COUNT, dtype=cupy.float32)
    kernel = cupy.RawKernel(CODE, "differences", options=("-lineinfo",))
    kernel((COUNT // 256,), (256,), (values, sums, cupy.int32(count)))  # @launch
    cupy.cuda.Device().synchronize()


def main(word):
    if word == "grow":
        main.kept = grow()
    elif word == "double-free":
        twice()
    elif word.startswith("past-end"):
        past_end(COUNT if word == "past-end" else COUNT - 1)
    else:
        kept = grow()
        assert float(kept[-1].sum()) == 1 << 20
        del kept
        cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    main(sys.argv[1])
