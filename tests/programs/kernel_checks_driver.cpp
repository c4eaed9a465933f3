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

#include <cuda.h>

#undef NDEBUG
#include <cassert>
#include <initializer_list>

// Stores each thread's number where it belongs: to[i] = i.
static const char kText[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 variable;
.visible .entry store(.param .u64 store_0)
{
  .reg .b32 %r<5>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [store_0];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  mul.wide.s32 %rd3, %r4, 4;
  add.s64 %rd4, %rd2, %rd3;
  st.global.u32 [%rd4], %r4;
  ret;
}
.visible .entry nothing()
{
  ret;
}
)";

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
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction store;
  CUdeviceptr block;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, kText));
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
