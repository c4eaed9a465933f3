// SPDX-License-Identifier: Apache-2.0
// --kernel-checks on a program of the driver's interface: it sees its own kernels alone, by its own handles, and memory
// of the size that it asked for.
//
// libs: cuda
// unlike-fenced: blocks of the fence and checks in the code exclude each other
// run: text
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=24 message="store writes 4 bytes" stacks="accessed here","launched here"@main:LINE(launch),"allocated here"@main:LINE(block)
// expect: error kernel-out-of-bounds count=24 message="store writes 4 bytes" stacks="accessed here","launched here"@main:LINE(launch-ex),"allocated here"@main:LINE(block)
// run: without
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check
// expect: clean
#include "answers.h"
#include "first_device.h"

#include <cuda.h>

#undef NDEBUG
#include <cassert>
#include <initializer_list>

static void look_at(CUmodule module, CUdeviceptr block) {
  unsigned count = 0;
  CUfunction functions[4] = {};
  CHECK(cuModuleGetFunctionCount(&count, module));
  assert(count == 2);
  CHECK(cuModuleEnumerateFunctions(functions, 2, module));
  const char* name = nullptr;
  for (CUfunction function : {functions[0], functions[1]}) {
    CHECK(cuFuncGetName(&name, function));
    assert(strcmp(name, "store") == 0 || strcmp(name, "nothing") == 0);
  }
  CUdeviceptr begin = 0;
  size_t bytes = 0;
  CHECK(cuMemGetAddressRange(&begin, &bytes, block + 8));
  assert(begin == block && bytes == 4000);
  CHECK(cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, block + 8));
  assert(bytes == 4000);
}

int main(int argc, char** argv)
{
  const CUdevice device = enter_first_device();
  CUmodule module;
  CUfunction store;
  CUdeviceptr block;
  CHECK(cuModuleLoadData(&module, kStores));
  CHECK(cuModuleGetFunction(&store, module, "store"));
  CHECK(cuMemAlloc(&block, 4000)); // @block
  look_at(module, block);
  void* parameters[] = {&block};
  if (started_with(argc, argv, "text")) {
    CHECK(cuLaunchKernel(store, 4, 1, 1, 256, 1, 1, 0, nullptr, parameters, nullptr)); // @launch
    CUlaunchConfig config{};
    config.gridDimX = 4;
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 256;
    config.blockDimY = config.blockDimZ = 1;
    size_t size = sizeof block;
    void* buffer[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    CHECK(cuLaunchKernelEx(&config, store, nullptr, buffer)); // @launch-ex
  } else {
    CHECK(cuLaunchKernel(store, 3, 1, 1, 256, 1, 1, 0, nullptr, parameters, nullptr));
  }
  int last = 0;
  CHECK(cuMemcpyDtoH(&last, block + 4 * 767, sizeof last));
  assert(last == 767);
  CHECK(cuModuleUnload(module));
  CHECK(cuMemFree(block));
  CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}
