// SPDX-License-Identifier: Apache-2.0
// Calls through a statically linked runtime get the name that the program wrote.
#include <gtest/gtest.h>

#include "analyzer/symbols/runtime_names.h"

namespace gmt {
namespace {

Frame frame(std::string function, std::string file = "") {
  return {
    .address = 0, .function = std::move(function), .file = std::move(file), .module = "/bin/app"};
}

Finding leak(std::string api, std::vector<Frame> frames) {
  Finding f;
  f.kind = "leak";
  f.api = api;
  FindingStack& stack = f.stacks.emplace_back();
  stack.api = std::move(api);
  stack.frames = std::move(frames);
  return f;
}

TEST(RuntimeNames, ComeFromTheStaticRuntimesSymbols) {
  Finding f =
    leak("cuMemAlloc_v2", {frame("libcudart_static_5f0e"), frame("cudaMalloc"),
                           frame("cudaMalloc<float>", "/usr/local/cuda/include/cuda_runtime.h"),
                           frame("main", "app.cu")});
  const CallNames names = name_runtime_calls(f);
  EXPECT_EQ(f.stacks[0].api, "cudaMalloc");
  EXPECT_EQ(f.api, "cudaMalloc");
  EXPECT_EQ(names.of("cuMemAlloc_v2"), "cudaMalloc");
  EXPECT_EQ(names.of("cuMemAlloc"), "cuMemAlloc"); // no stack has it
  EXPECT_TRUE(names.is_runtime);
}

TEST(RuntimeNames, TheOutermostCallIsTheProgramsOwn) {
  Finding f = leak("cuMemHostAlloc",
                   {frame("cudaHostAlloc"), frame("cudaMallocHost<int>", "/include/cuda_runtime.h"),
                    frame("main", "a.cu")});
  name_runtime_calls(f);
  EXPECT_EQ(f.stacks[0].api, "cudaMallocHost");
}

TEST(RuntimeNames, AnInlineFunctionOfTheHeaderIsTheProgramsOwnCall) {
  Finding f = leak("cudaHostAlloc",
                   {frame("cudaHostAlloc"), frame("cudaMallocHost<int>", "/include/cuda_runtime.h"),
                    frame("main", "a.cu")});
  const CallNames names = name_runtime_calls(f);
  EXPECT_EQ(f.stacks[0].api, "cudaMallocHost");
  EXPECT_EQ(names.of("cudaHostAlloc"), "cudaMallocHost");
  EXPECT_FALSE(names.is_runtime); // no name was the driver's
}

TEST(RuntimeNames, AWrapperWithoutLinesIsNotTakenForTheRuntimesCall) {
  Finding f =
    leak("cudaHostAlloc", {frame("cudaHostAlloc"), frame("cudaTakePinned"), frame("main", "a.cu")});
  name_runtime_calls(f);
  EXPECT_EQ(f.stacks[0].api, "cudaHostAlloc");
}

TEST(RuntimeNames, ALaunchIsNotNamedByTheFunctionThatNvccCalls) {
  Finding f = leak("__cudaLaunchKernel", {frame("fill(float*)", "a.cu"), frame("main", "a.cu")});
  EXPECT_EQ(name_runtime_calls(f).of("__cudaLaunchKernel"), "cudaLaunchKernel");
}

TEST(RuntimeNames, LeaveDriverProgramsAlone) {
  Finding f = leak("cuMemAlloc_v2", {frame("take_memory", "app.cpp"), frame("main", "app.cpp")});
  const CallNames names = name_runtime_calls(f);
  EXPECT_EQ(f.stacks[0].api, "cuMemAlloc_v2");
  EXPECT_TRUE(names.renamed.empty());
  EXPECT_FALSE(names.is_runtime);
}

TEST(RuntimeNames, AFunctionOfTheUserBelowTheCallCountsForNothing) {
  Finding f =
    leak("cuMemAlloc_v2", {frame("take_memory", "app.cpp"), frame("cudaMyOwnHelper", "app.cpp"),
                           frame("main", "app.cpp")});
  name_runtime_calls(f);
  EXPECT_EQ(f.stacks[0].api, "cuMemAlloc_v2");
}

} // namespace
} // namespace gmt
