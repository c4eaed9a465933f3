// SPDX-License-Identifier: Apache-2.0
// Which frames are cut from stacks: those of the recorder, of CUDA, of start-up code, and what
// compilers put before a launch.
#include "analyzer/symbols/frame_trim.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/report/made_up_reports.h"

namespace gmt {
namespace {

Frame of_module(std::string function, std::string module) {
  Frame f;
  f.function = std::move(function);
  f.module = std::move(module);
  return f;
}

TEST(TrimFrames, CutsRecorderRuntimeAndStartUp) {
  std::vector<Frame> frames = {
    of_module("gmt::x()", "/opt/libgpumemtrace.so"),
    of_module("cuMemAlloc_v2", "/usr/lib/libcuda.so.1"),
    of_module("", "/usr/local/lib/libcudart.so.13"),
    of_module("", "/py/libcudart-d0da41ae.so.11.0"),
    of_module("libcudart_static_0123", "/home/me/app"),
    of_module("cudaMalloc", "/home/me/app"),
    test::frame("cudaError cudaMalloc<float>(float**, unsigned long)", "/c/cuda_runtime.h", 9),
    test::frame("nvtxMemRegionsRegister", "/c/include/nvtx3/nvtxDetail/nvtxExtImplMem_v1.h", 140),
    test::frame("cudaWrapper(int)", "/src/mine.cu", 3), // has a source file: the user's
    of_module("cudnnCreate", "/py/libcudnn.so.9"),
    of_module("main", "/home/me/app"),
    of_module("", "/lib/x86_64-linux-gnu/libc.so.6"),
    of_module("__libc_start_main_impl", "/lib/x86_64-linux-gnu/libc.so.6"),
    of_module("_start", "/home/me/app")};
  trim_frames(frames);
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[0].function, "cudaWrapper(int)");
  EXPECT_EQ(frames[2].function, "main");
}

TEST(TrimFrames, CutsTheCLibraryThatCudaCalled) {
  const std::string c_library = "/lib/x86_64-linux-gnu/libc.so.6";
  std::vector<Frame> frames = {
    of_module("pthread_once", c_library), of_module("", "/usr/local/lib/libcudart.so.13"),
    of_module("cudaMalloc", "/usr/local/lib/libcudart.so.13"), of_module("main", "/home/me/app")};
  trim_frames(frames);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].function, "main");
  frames = {of_module("", "/usr/local/lib/libcudart.so.13"), of_module("exit", c_library),
            of_module("main", "/home/me/app")};
  trim_frames(frames);
  EXPECT_EQ(frames.size(), 2u); // the program called it
}

TEST(TrimFrames, CutsTheRecorderWhereverItStands) {
  std::vector<Frame> frames = {of_module("free_all", "/home/me/plugin.so"),
                               of_module("dlclose", "/lib/x86_64-linux-gnu/libc.so.6"),
                               of_module("dlclose", "/opt/libgpumemtrace.so"),
                               of_module("main", "/home/me/app")};
  trim_frames(frames);
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[1].module, "/lib/x86_64-linux-gnu/libc.so.6");
}

TEST(TrimFrames, CutsWhatNvccPutsBeforeALaunch) {
  std::vector<Frame> frames = {test::frame("__cudaLaunchKernel_helper",
                                           "/usr/local/cuda/include/crt/device_functions.h", 2963),
                               test::frame("__device_stub__Z4fillPf(float*)",
                                           "/tmp/tmpxft_00006427-6_fill.cudafe1.stub.c", 13),
                               test::frame("fill(float*)", "/home/me/fill.cu", 1),
                               test::frame("main", "/home/me/fill.cu", 7)};
  trim_frames(frames);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].line, 7u);
}

TEST(TrimFrames, CutsWhatNvccPutsBeforeALaunchOfATemplate) {
  std::vector<Frame> frames = {
    test::frame("__device_stub__ZN36_GLOBAL__N__f2454071_4_t_cu_7d25bc404stepIiEEvPT_(int*)",
                "/tmp/tmpxft_0c63_0-6_t.cudafe1.stub.c", 1),
    test::frame("void (anonymous namespace)::__wrapper__device_stub_step<int>(int*&)",
                "/tmp/tmpxft_0c63_0-6_t.cudafe1.stub.c", 1),
    test::frame("void (anonymous namespace)::step<int>(int*)", "/home/me/step.cu", 1),
    test::frame("main", "/home/me/step.cu", 7)};
  trim_frames(frames);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].function, "main");
}

TEST(TrimFrames, CutsWhatClangPutsBeforeALaunch) {
  std::vector<Frame> frames = {
    test::frame("void (anonymous namespace)::__device_stub__step<int>(int*)", "/home/me/step.cu",
                1),
    test::frame("launch(int*)", "/home/me/step.cu", 5), test::frame("main", "/home/me/step.cu", 7)};
  trim_frames(frames);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].function, "launch(int*)");
}

// The kernel's host function jumped to the stub, so the launch itself comes next.
TEST(TrimFrames, LeavesTheCallerOfAnElidedKernelFrame) {
  std::vector<Frame> frames = {
    test::frame("__device_stub__Z4fillPf(float*)", "/tmp/tmpxft_0c63_0-6_fill.cudafe1.stub.c", 13),
    test::frame("launch", "/home/me/fill.cu", 5), test::frame("main", "/home/me/fill.cu", 7)};
  trim_frames(frames);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].function, "launch");
}

Frame of_python(const char* function, const char* file) {
  Frame frame = test::frame(function, file, 5);
  frame.language = "python";
  return frame;
}

TEST(TrimFrames, CutsWhatStartsAndLaunchesKernelsOfTriton) {
  const char* const run = "/venv/triton/runtime/jit.py";
  std::vector<Frame> frames = {of_python("Device.call", "/venv/gpumemtrace/_device.py"),
                               of_python("JITFunction.run", run),
                               of_python("wrapped", "/venv/gpumemtrace/triton.py"),
                               of_python("KernelInterface", run),
                               of_python("step", "/home/me/train.py"),
                               of_python("run", run), // called in between: the program's business
                               of_python("<module>", "/home/me/train.py"),
                               of_python("run_path", "<frozen runpy>"),
                               of_python("main", "/venv/gpumemtrace/simulated.py"),
                               of_python("_run_code", "<frozen runpy>")};
  trim_frames(frames);
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames.front().function, "step");
  EXPECT_EQ(frames.back().function, "<module>");
}

TEST(TrimFrames, LeavesOtherFilesOfTheSameNames) {
  std::vector<Frame> frames = {of_python("launch", "/home/me/triton.py"),
                               of_python("<module>", "/home/me/gpumemtrace/app.py")};
  trim_frames(frames);
  EXPECT_EQ(frames.size(), 2u);
}

TEST(TrimFrames, LeavesAStackOfNothingElseWhole) {
  std::vector<Frame> frames = {of_module("cuInit", "/usr/lib/libcuda.so.1"),
                               of_module("clone3", "/lib/libc.so.6")};
  trim_frames(frames);
  EXPECT_EQ(frames.size(), 2u);
  frames.clear();
  trim_frames(frames);
  EXPECT_TRUE(frames.empty());
}

} // namespace
} // namespace gmt
