// SPDX-License-Identifier: Apache-2.0
// Kernels of device 0 that are given memory of device 1. Without peer access one that reads it ends its context, one
// that does not is no mistake.
// run: reads
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect-simulated: error kernel-fault message="on device 1, to which device 0 has no access" stacks="accessed here"@scale:LINE(scale),"launched here"@main,"allocated here"@main:LINE(alloc)
// expect-real: warning peer-pointer count=1 message="behind it cudaDeviceSynchronize reported an illegal address" stacks="launched here"@main,"allocated here"@main:LINE(alloc),"reported here"@main
// expect-real: error kernel-fault message="A kernel used an illegal address" stacks="reported here"@main,"launched here"@main,"allocated here"@main:LINE(alloc)
// expect: error leak count=1 bytes=1024 stacks="allocated here"@main:LINE(alloc)
// unlike-fenced: the driver ends the program behind its core dump
// run: reads-fenced
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// options: --guard
// exit-real: signal 6
// expect-simulated: error kernel-fault message="on device 1, to which device 0 has no access" stacks="accessed here"@scale:LINE(scale),"launched here"@main,"allocated here"@main:LINE(alloc)
// expect-simulated: error leak count=1 bytes=1024 stacks="allocated here"@main:LINE(alloc)
// not-checked-real: leak
// expect-real: error kernel-fault message="on device 1, to which device 0 has no access" stacks="accessed here"@scale:LINE(scale),"launched here"@main,"allocated here"@main:LINE(alloc)
// run: enabled
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect: clean
// run: ignores
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect: clean
// run: structure
// devices: 2
// device: simulated
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect: clean
#include "answers.h"

#include <cuda_runtime.h>

struct Table {
  float* of_device[2];
};

__global__ void scale(float* x) { x[threadIdx.x] *= 2; } // @scale
__global__ void ignore(float* x) { (void)x; }
__global__ void pick(Table table) { (void)table; }

int main(int argc, char** argv)
{
  float* x = nullptr;
  CHECK(cudaSetDevice(1));
  CHECK(cudaMalloc(&x, 1024)); // @alloc
  TOUCH(x, 1024);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaSetDevice(0));
  if (started_with(argc, argv, "enabled"))
    CHECK(cudaDeviceEnablePeerAccess(1, 0));
  if (started_with(argc, argv, "ignores"))
    ignore<<<1, 32>>>(x);
  else if (started_with(argc, argv, "structure"))
    pick<<<1, 32>>>(Table{{nullptr, x}});
  else
    scale<<<1, 32>>>(x);
  if (cudaDeviceSynchronize() == cudaSuccess) // else the context of device 0 is dead, that of device 1 is not
    CHECK(cudaFree(x));
  return 0;
}
