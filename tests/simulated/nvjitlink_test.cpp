// SPDX-License-Identifier: Apache-2.0
// What a program links with nvJitLink runs, though the library gives machine code. The driver's
// library has to come first, as `gpumemtrace --device simulated` puts it.
#include "cuda_support.h"

#include <nvJitLink.h>

#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr char kHead[] = ".version 8.3\n.target sm_90\n.address_size 64\n";
constexpr char kCaller[] =
  ".extern .func (.param .b32 r) twice(.param .b32 v);\n"
  ".visible .entry k(.param .u64 p) { .reg .b32 %r<4>; .reg .b64 %x<4>; ld.param.u64 %x0, [p];\n"
  "cvta.to.global.u64 %x1, %x0; ld.global.u32 %r0, [%x1];\n"
  "{ .param .b32 v; .param .b32 r; st.param.b32 [v], %r0; call (r), twice, (v);\n"
  "ld.param.b32 %r1, [r]; } st.global.u32 [%x1], %r1; ret; }\n";
constexpr char kCallee[] =
  ".visible .func (.param .b32 r) twice(.param .b32 v) { .reg .b32 %r<2>;\n"
  "ld.param.b32 %r0, [v]; shl.b32 %r0, %r0, 1; st.param.b32 [r], %r0; ret; }\n";

TEST(NvJitLink, LinkedPtxRuns) {
  const char* options[] = {"-arch=sm_90"};
  nvJitLinkHandle link = nullptr;
  ASSERT_EQ(nvJitLinkCreate(&link, 1, options), NVJITLINK_SUCCESS);
  for (const char* body : {kCaller, kCallee}) {
    const std::string text = std::string(kHead) + body;
    ASSERT_EQ(nvJitLinkAddData(link, NVJITLINK_INPUT_PTX, text.c_str(), text.size() + 1, "part"),
              NVJITLINK_SUCCESS);
  }
  ASSERT_EQ(nvJitLinkComplete(link), NVJITLINK_SUCCESS);
  std::size_t size = 0;
  ASSERT_EQ(nvJitLinkGetLinkedCubinSize(link, &size), NVJITLINK_SUCCESS);
  std::vector<char> code(size);
  ASSERT_EQ(nvJitLinkGetLinkedCubin(link, code.data()), NVJITLINK_SUCCESS);
  EXPECT_EQ(nvJitLinkDestroy(&link), NVJITLINK_SUCCESS);

  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;
  ASSERT_EQ(cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
            cudaSuccess);
  ASSERT_EQ(cudaLibraryGetKernel(&kernel, library, "k"), cudaSuccess);
  void* block = allocate(4);
  int value = 21;
  cudaMemcpy(block, &value, 4, cudaMemcpyHostToDevice);
  void* arguments[] = {&block};
  EXPECT_EQ(
    cudaLaunchKernel(reinterpret_cast<void*>(kernel), dim3(1), dim3(1), arguments, 0, nullptr),
    cudaSuccess);
  cudaMemcpy(&value, block, 4, cudaMemcpyDeviceToHost);
  EXPECT_EQ(value, 42);
  cudaFree(block);
  cudaLibraryUnload(library);
}

} // namespace
