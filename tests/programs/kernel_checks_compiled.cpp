// SPDX-License-Identifier: Apache-2.0
// --kernel-checks on a program that compiles its kernels by the ptxas that TRITON_PTXAS_PATH names and gives the driver
// what comes out, as Triton does. Without the option it gives the driver its text: only the simulated device has the variable
// set then, too. A driver may refuse a checked text as a whole program, and compile it to be linked.
//
// libs: cuda
// unlike-fenced: blocks of the fence and checks in the code exclude each other
// run: compiled
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=24 message="scale writes 4 bytes" stacks="accessed here","launched here"@main:LINE(launch),"allocated here"@main:LINE(block)
// run: refused
// env: STAGED_REFUSE=cuModuleLoadDataEx
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=24 message="scale writes 4 bytes" stacks="accessed here","launched here"@main:LINE(launch),"allocated here"@main:LINE(block)
// run: without
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check
// expect: clean
#include "answers.h"
#include "first_device.h"

#include <cuda.h>

#undef NDEBUG
#include <cassert>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>

// to[i] = 2 i, with the lines of a source in Python.
static const char kText[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry scale(.param .u64 scale_0)
{
  .reg .b32 %r<6>;
  .reg .b64 %rd<5>;
  .loc 1 5 3
  ld.param.u64 %rd1, [scale_0];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  mul.wide.s32 %rd3, %r4, 4;
  add.s64 %rd4, %rd2, %rd3;
  .loc 1 7 5
  add.s32 %r5, %r4, %r4;
  st.global.u32 [%rd4], %r5;
  ret;
}
.file 1 "scale.py"
)";

static std::string compiled()
{
  char folder[] = "/tmp/kernel_checks_compiled.XXXXXX";
  assert(mkdtemp(folder) != nullptr);
  const std::string base = folder, input = base + "/scale.ptx", output = base + "/scale.cubin", version = base + "/version";
  std::ofstream(input) << kText;
  const std::string ptxas = std::string("'") + std::getenv("TRITON_PTXAS_PATH") + "'";
  assert(std::system((ptxas + " --version >" + version).c_str()) == 0);
  std::ifstream words(version);
  assert((std::string{std::istreambuf_iterator<char>(words), {}}).find("release 1") != std::string::npos);
  assert(std::system((ptxas + " -lineinfo -v --gpu-name=sm_90 " + input + " -o " + output).c_str()) == 0);
  std::ifstream file(output, std::ios::binary);
  std::string image{std::istreambuf_iterator<char>(file), {}};
  std::system(("rm -r " + base).c_str());
  return image;
}

int main(int argc, char** argv)
{
  const bool checked = started_with(argc, argv, "compiled");
  assert(!checked || std::getenv("TRITON_PTXAS_PATH") != nullptr);
  const CUdevice device = enter_first_device();
  CUmodule module;
  CUfunction scale;
  CUdeviceptr block;
  const std::string image = checked ? compiled() : kText;
  CUjit_option option = CU_JIT_MAX_REGISTERS;
  void* registers = reinterpret_cast<void*>(64);
  if (started_with(argc, argv, "refused"))
    CHECK(cuModuleLoadDataEx(&module, image.data(), 1, &option, &registers));
  else CHECK(cuModuleLoadData(&module, image.data()));
  CHECK(cuModuleGetFunction(&scale, module, "scale"));
  CHECK(cuMemAlloc(&block, 4000)); // @block
  void* parameters[] = {&block};
  const unsigned blocks = started_with(argc, argv, "without") ? 3 : 4; // 1,000 threads have a place
  CHECK(cuLaunchKernel(scale, blocks, 1, 1, 256, 1, 1, 0, nullptr, parameters, nullptr)); // @launch
  int last = 0;
  CHECK(cuMemcpyDtoH(&last, block + 4 * 767, sizeof last));
  assert(last == 2 * 767);
  CHECK(cuModuleUnload(module));
  CHECK(cuMemFree(block));
  CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}
