// SPDX-License-Identifier: Apache-2.0
// Linkers of PTX (cuLinkCreate), as a program has that compiles kernels while it runs: destroyed, kept, and destroyed
// twice. What a GPU's driver does with a linker that is gone is not defined, so the last runs on the simulated device.
// libs: cuda
//
// run:
// expect: clean
// run: kept
// expect: warning object-leak count=150 message="150 linkers made by cuLinkCreate were never destroyed" stacks="created here"@link:LINE(create)
// run: few
// expect: clean
// run: twice
// device: simulated
// expect: error double-free count=1 api=cuLinkDestroy message="of a linker that was already destroyed, made by cuLinkCreate" stacks="destroyed again here"@twice:LINE(again),"first destroyed here"@twice:LINE(first),"created here"@link:LINE(create)
#include "answers.h"

#include <cstddef>
#include <cuda.h>

static const char kKernel[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry nothing() { ret; }\n";

static CUlinkState link()
{
  CUlinkState linker = nullptr;
  CHECK(cuLinkCreate(0, nullptr, nullptr, &linker)); // @create
  CHECK(cuLinkAddData(linker, CU_JIT_INPUT_PTX, const_cast<char*>(kKernel), sizeof kKernel, "nothing", 0, nullptr,
                      nullptr));
  void* code = nullptr;
  std::size_t bytes = 0;
  CHECK(cuLinkComplete(linker, &code, &bytes));
  CUmodule module = nullptr;
  CHECK(cuModuleLoadData(&module, code));
  CHECK(cuModuleUnload(module));
  return linker;
}

static void twice()
{
  CUlinkState linker = link();
  CHECK(cuLinkDestroy(linker)); // @first
  ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuLinkDestroy(linker)); // @again
}

int main(int argc, char** argv)
{
  CUdevice device;
  CUcontext context;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  if (started_with(argc, argv, "twice")) {
    twice();
  } else if (started_with(argc, argv, "kept") || started_with(argc, argv, "few")) {
    const int count = started_with(argc, argv, "few") ? 99 : 150;
    for (int i = 0; i < count; ++i)
      link();
  } else {
    for (int i = 0; i < 150; ++i)
      CHECK(cuLinkDestroy(link()));
  }
  return 0;
}
