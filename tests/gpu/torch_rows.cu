// SPDX-License-Identifier: Apache-2.0
// A kernel for tensors of PyTorch, as a library of its own that torch_rows.py calls: each row plus
// the next one. The last row has no next one. Expectations of runs of torch_rows.py:
//
// run: plain
// expect: clean
// run: past-end
// options: --guard=tensors
// exit: signal 6
// not-checked: leak
// expect: error kernel-out-of-bounds message="right behind the end of 64.0 KiB" stacks="accessed here"@add_next_row:LINE(read),"launched here"@add_rows:LINE(launch),"allocated here"
// or: registers no longer hold the address
// expect: error kernel-fault message="its launch was given 2 blocks of memory" stacks="accessed here"@add_next_row:LINE(read),"launched here"@add_rows:LINE(launch),"allocated here","allocated here"
// not-checked: leak
// run: freed
// options: --guard=tensors
// exit: signal 6
// not-checked: leak
// expect: error use-after-free message="already freed: 64.0 KiB" stacks="launched here"@add_rows:LINE(launch),"freed here","allocated here"
// expect: error kernel-use-after-free message="reads 4 bytes" stacks="accessed here"@add_next_row:LINE(read),"launched here"@add_rows:LINE(launch),"freed here","allocated here"
// or: registers no longer hold the address
// expect: error use-after-free message="already freed: 64.0 KiB" stacks="launched here"@add_rows:LINE(launch),"freed here","allocated here"
// expect: error kernel-fault message="is 64.0 KiB of device memory" stacks="accessed here"@add_next_row:LINE(read),"launched here"@add_rows:LINE(launch),"allocated here"
// not-checked: leak
#include <cuda_runtime.h>

__global__ void add_next_row(const float* rows, float* sums, int count, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count * columns) sums[i] = rows[i] + rows[i + columns]; // @read
}

extern "C" int add_rows(const float* rows, float* sums, int count, int columns, void* stream) {
  const int blocks = (count * columns + 255) / 256;
  const auto on = static_cast<cudaStream_t>(stream);
  add_next_row<<<blocks, 256, 0, on>>>(rows, sums, count, columns); // @launch
  return cudaGetLastError();
}
