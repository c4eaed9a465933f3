// SPDX-License-Identifier: Apache-2.0
// Calls through a statically linked runtime get the name that the program wrote.
#include <gtest/gtest.h>

#include "analyzer/symbols/runtime_names.h"

namespace gmt {
namespace {

Frame frame(std::string function, std::string file = "") {
  return {.address = 0, .function = std::move(function), .file = std::move(file), .module = "/bin/app"};
}

Finding leak(std::vector<Frame> frames) {
  Finding f;
  f.kind = "leak";
  f.message = "4.0 KiB allocated by cuMemAlloc_v2 was never freed.";
  f.advice = "Call cuMemFree for it; cuMemFreeAsync will not do.";
  f.stacks.push_back({.label = "allocated here", .stack = {1}, .api = "cuMemAlloc_v2", .frames = std::move(frames)});
  return f;
}

TEST(RuntimeNames, ComeFromTheStaticRuntimesSymbols) {
  Finding f = leak({frame("libcudart_static_5f0e"), frame("cudaMalloc"),
                    frame("cudaMalloc<float>", "/usr/local/cuda/include/cuda_runtime.h"), frame("main", "app.cu")});
  name_runtime_calls(f);
  EXPECT_EQ(f.stacks[0].api, "cudaMalloc");
  EXPECT_EQ(f.message, "4.0 KiB allocated by cudaMalloc was never freed.");
  EXPECT_EQ(f.advice, "Call cudaFree for it; cudaFreeAsync will not do.");
}

TEST(RuntimeNames, TheOutermostCallIsTheProgramsOwn) {
  Finding f = leak({frame("cudaHostAlloc"), frame("cudaMallocHost<int>", "/include/cuda_runtime.h"), frame("main", "a.cu")});
  name_runtime_calls(f);
  EXPECT_EQ(f.stacks[0].api, "cudaMallocHost");
}

Finding pinned_by(std::string api, std::vector<Frame> frames) {
  Finding f = leak(std::move(frames));
  f.message = "4.0 KiB allocated by " + api + " was never freed.";
  f.stacks[0].api = std::move(api);
  return f;
}

TEST(RuntimeNames, AnInlineFunctionOfTheHeaderIsTheProgramsOwnCall) {
  Finding f = pinned_by("cudaHostAlloc", {frame("cudaHostAlloc"), frame("cudaMallocHost<int>", "/include/cuda_runtime.h"),
                                          frame("main", "a.cu")});
  name_runtime_calls(f);
  EXPECT_EQ(f.stacks[0].api, "cudaMallocHost");
  EXPECT_EQ(f.message, "4.0 KiB allocated by cudaMallocHost was never freed.");
  EXPECT_EQ(f.advice, "Call cuMemFree for it; cuMemFreeAsync will not do."); // the runtime's name needed no driver's
}

TEST(RuntimeNames, AWrapperWithoutLinesIsNotTakenForTheRuntimesCall) {
  Finding f = pinned_by("cudaHostAlloc", {frame("cudaHostAlloc"), frame("cudaTakePinned"), frame("main", "a.cu")});
  name_runtime_calls(f);
  EXPECT_EQ(f.stacks[0].api, "cudaHostAlloc");
}

TEST(RuntimeNames, ALaunchIsNotNamedByTheFunctionThatNvccCalls) {
  Finding f = pinned_by("__cudaLaunchKernel", {frame("fill(float*)", "a.cu"), frame("main", "a.cu")});
  name_runtime_calls(f);
  EXPECT_EQ(f.message, "4.0 KiB allocated by cudaLaunchKernel was never freed.");
}

TEST(RuntimeNames, ErrorsAreTheRuntimesToo) {
  const std::string told = "cuCtxSetLimit failed with CUDA_ERROR_INVALID_VALUE (1); CUDA_ERROR_IS_NO_CODE.";
  const auto message = [&](std::vector<Frame> frames) {
    Finding f = leak(std::move(frames));
    f.message = told;
    f.stacks[0].api = "cuCtxSetLimit";
    name_runtime_calls(f);
    return f.message;
  };
  EXPECT_EQ(message({frame("cudaDeviceSetLimit"), frame("main", "app.cu")}),
            "cudaDeviceSetLimit failed with cudaErrorInvalidValue (1); CUDA_ERROR_IS_NO_CODE.");
  EXPECT_EQ(message({frame("main", "app.cpp")}), told);
}

TEST(RuntimeNames, LeaveDriverProgramsAlone) {
  Finding f = leak({frame("take_memory", "app.cpp"), frame("main", "app.cpp")});
  name_runtime_calls(f);
  EXPECT_EQ(f.stacks[0].api, "cuMemAlloc_v2");
  EXPECT_EQ(f.advice, "Call cuMemFree for it; cuMemFreeAsync will not do.");
}

TEST(RuntimeNames, AFunctionOfTheUserBelowTheCallCountsForNothing) {
  Finding f = leak({frame("take_memory", "app.cpp"), frame("cudaMyOwnHelper", "app.cpp"), frame("main", "app.cpp")});
  name_runtime_calls(f);
  EXPECT_EQ(f.stacks[0].api, "cuMemAlloc_v2");
}

} // namespace
} // namespace gmt
