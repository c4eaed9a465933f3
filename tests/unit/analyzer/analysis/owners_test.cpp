// SPDX-License-Identifier: Apache-2.0
// What known libraries allocate for themselves is excused, and what only passes through them is
// not.

#include "analyzer/analysis/owners.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/trace_reader/stack_table.h"
#include "analyzer/wording/wording.h"
#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

Finding leak_with(std::vector<Frame> frames) {
  Finding f;
  f.kind = "leak";
  f.severity = Severity::kError;
  f.message = "20.0 MiB of device memory was never freed";
  f.stacks.push_back(stack_as(StackRole::kAllocated, {}, "cudaMalloc"));
  f.stacks.back().frames = std::move(frames);
  return f;
}

Frame frame(const char* module, const char* function) {
  Frame f;
  f.module = module;
  f.function = function;
  return f;
}

TEST(Owners, CachingAllocatorIsANote) {
  Finding f =
    leak_with({frame("/usr/lib/libcudart.so.13", "cudaMalloc"),
               frame("/venv/torch/lib/libc10_cuda.so",
                     "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc()"),
               frame("/usr/bin/python3", "main")});
  apply_owner_rules(f);
  EXPECT_EQ(f.severity, Severity::kNote);
  EXPECT_EQ(
    in_words(f, {}).message,
    "20.0 MiB of device memory was never freed; PyTorch's caching allocator holds it: it keeps "
    "freed blocks for reuse.");
}

// Of a stack that was cut off the innermost frames are gone, and with them the owner's. Without
// libunwind there are none but Python's.
TEST(Owners, ACutStackMayBeALoadedOwners) {
  const std::vector<Frame> outer = {frame("/usr/bin/python3", "main")};
  std::vector<Frame> python = {frame("", "train")};
  python[0].language = "python";
  Module app{}, torch{};
  app.path = "/usr/bin/python3";
  torch.path = "/venv/torch/lib/libc10_cuda.so";
  const std::vector<Module> plain = {app}, with_torch = {app, torch};
  const auto leak_of = [&](std::uint32_t stack) {
    std::vector<Finding> findings = {leak_with(outer)};
    findings[0].stacks[0].stack = {stack};
    return findings;
  };
  std::vector<Finding> cut = leak_of(StackTable::kMostStacks + 1);
  excuse_cut_stacks(cut, plain);
  EXPECT_EQ(cut[0].severity, Severity::kError);
  excuse_cut_stacks(cut, with_torch);
  EXPECT_EQ(cut[0].severity, Severity::kNote);
  EXPECT_EQ(in_words(cut[0], {}).message,
            "20.0 MiB of device memory was never freed; its call stack is known in part, and "
            "PyTorch's caching allocator may hold it: it keeps freed blocks for reuse.");
  std::vector<Finding> whole = leak_of(StackTable::kMostStacks);
  excuse_cut_stacks(whole, with_torch);
  EXPECT_EQ(whole[0].severity, Severity::kError);
  std::vector<Finding> unwound = {leak_with(python), leak_with({})};
  unwound[0].stacks[0].stack = {5};
  excuse_cut_stacks(unwound, with_torch);
  EXPECT_EQ(unwound[0].severity, Severity::kNote);
  EXPECT_EQ(unwound[1].severity, Severity::kNote);
}

TEST(Owners, AUsersLibraryIsNoOwner) {
  Finding f = leak_with({frame("/home/me/libmine.so", "CUDACachingAllocator::malloc()")});
  apply_owner_rules(f);
  EXPECT_EQ(f.severity, Severity::kError);
}

TEST(Owners, CodeThatAnOwnerCallsBackIsNoOwner) {
  Finding f = leak_with({frame("/home/me/libmine.so", "kernel_wrapper()"),
                         frame("/venv/jaxlib/xla_cuda_plugin.so", "xla::gpu::CustomCall()")});
  apply_owner_rules(f);
  EXPECT_EQ(f.severity, Severity::kError);
  f = leak_with(
    {frame("/venv/jaxlib/xla_cuda_plugin.so", ""), frame("/home/me/libmine.so", "main()")});
  apply_owner_rules(f);
  EXPECT_EQ(f.severity, Severity::kNote);
}

// What programs ask PyTorch for comes from its caches.
TEST(Owners, WhatPyTorchAllocatesByItselfIsItsOwn) {
  Finding f = leak_with({frame("/usr/lib/libcudart.so.13", "cudaHostAlloc"),
                         frame("/venv/torch/lib/libtorch_cuda.so", "at::native::compare()")});
  apply_owner_rules(f);
  EXPECT_EQ(f.severity, Severity::kNote);
  f = leak_with({frame("/home/me/extension.so", "make_buffer()"),
                 frame("/venv/torch/lib/libtorch_cuda.so", "at::native::compare()")});
  apply_owner_rules(f);
  EXPECT_EQ(f.severity, Severity::kError);
}

TEST(Owners, HandlesThatAFrameworkKeepsAreItsOwn) {
  Finding f = leak_with({frame("/usr/lib/libcusolver.so.12", "cusolverDnCreate"),
                         frame("/venv/jax_cuda13_plugin/_solver.so",
                               "jax::HandlePool<cusolverDnContext*, CUstream_st*>::Borrow()")});
  apply_owner_rules(f);
  EXPECT_EQ(f.owner.name, "JAX");
  f = leak_with({frame("/usr/lib/libcusolver.so.12", "cusolverDnCreate"),
                 frame("/home/me/app", "make_solver()")});
  apply_owner_rules(f);
  EXPECT_EQ(f.severity, Severity::kError);
}

// cuSOLVER's gesvdj takes pinned memory at its first call, which lives as long as PyTorch's handle.
TEST(Owners, WhatALibraryTakesForAFrameworkIsTheFrameworks) {
  Finding f =
    leak_with({frame("/usr/lib/libcusolver.so.12", ""),
               frame("/usr/lib/libcusolver.so.12", "cusolverDnSgesvdj"),
               frame("/venv/torch/lib/libtorch_cuda_linalg.so", "at::native::svd_cusolver()")});
  apply_owner_rules(f);
  EXPECT_EQ(f.owner.name, "PyTorch");
  f = leak_with({frame("/usr/lib/libcusolver.so.12", "cusolverDnSgesvdj"),
                 frame("/venv/jax_cuda13_plugin/_solver.so", "jax::Svd()")});
  apply_owner_rules(f);
  EXPECT_EQ(f.owner.name, "JAX");
  f = leak_with({frame("/usr/lib/libcusolver.so.12", "cusolverDnSgesvdj"),
                 frame("/home/me/extension.so", "decompose()"),
                 frame("/venv/torch/lib/libtorch_cuda.so", "at::native::compare()")});
  apply_owner_rules(f);
  EXPECT_EQ(f.severity, Severity::kError);
}

Frame python_frame(const char* file, const char* function) {
  Frame f;
  f.language = "python";
  f.file = file;
  f.function = function;
  return f;
}

// Its native frames are those of any caller of ctypes.
TEST(Owners, NumbasQueueIsKnownByItsPythonFrames) {
  const char* const driver = "/venv/site-packages/numba_cuda/numba/cuda/cudadrv/driver.py";
  const auto leak = [&](const char* file) {
    Finding f = leak_with({frame("/usr/lib/libffi.so.8", ""),
                           frame("/usr/lib/python3.11/lib-dynload/_ctypes.so", "_call_function"),
                           python_frame(file, "Driver.safe_cuda_api_call"),
                           python_frame(file, "NumbaCUDAMemoryManager.memalloc"),
                           python_frame("/home/me/train.py", "main")});
    apply_owner_rules(f);
    return f;
  };
  EXPECT_EQ(leak(driver).owner.name, "Numba's queue of deferred frees");
  EXPECT_EQ(leak(driver).severity, Severity::kNote);
  EXPECT_EQ(leak("/venv/site-packages/numba/cuda/cudadrv/driver.py").severity, Severity::kNote);
  EXPECT_EQ(leak("/home/me/driver.py").severity, Severity::kError);
}

TEST(Owners, ObjectsThatALibraryKeepsAreItsOwn) {
  const auto made_in = [](const char* module, const char* function) {
    Finding f;
    f.kind = "object-leak";
    f.severity = Severity::kWarning;
    f.message = "128 streams made by cudaStreamCreateWithPriority were never destroyed";
    f.stacks.push_back(stack_as(StackRole::kCreated, {}, "cudaStreamCreateWithPriority"));
    f.stacks.back().frames = {frame("/usr/lib/libcudart.so.13", "cudaStreamCreateWithPriority"),
                              frame(module, function)};
    apply_owner_rules(f);
    return f;
  };
  const Finding pool = made_in("/venv/torch/lib/libc10_cuda.so", "c10::cuda::initDeviceStreams()");
  EXPECT_EQ(pool.severity, Severity::kNote);
  EXPECT_EQ(in_words(pool, {}).message,
            "128 streams made by cudaStreamCreateWithPriority were never destroyed; PyTorch made "
            "them for itself.");
  EXPECT_EQ(made_in("/usr/lib/libnccl.so.2", "").severity, Severity::kNote);
  EXPECT_EQ(made_in("/usr/lib/libcublas.so.13", "cublasCreate_v2").owner.name, "cuBLAS");
  EXPECT_EQ(made_in("/home/me/app", "main").severity, Severity::kWarning);
  // Memory that only passes through that file is the program's.
  Finding memory = leak_with({frame("/venv/torch/lib/libc10_cuda.so", "c10::cuda::other()")});
  apply_owner_rules(memory);
  EXPECT_EQ(memory.severity, Severity::kError);
}

TEST(Owners, ChurnOfAnOwnerIsItsOwnBusiness) {
  Finding f = leak_with({frame("/usr/lib/libnccl.so.2", "")});
  f.kind = "churn";
  f.severity = Severity::kWarning;
  apply_owner_rules(f);
  EXPECT_EQ(f.severity, Severity::kNote);
  EXPECT_EQ(in_words(f, {}).message,
            "20.0 MiB of device memory was never freed; NCCL does that itself.");
}

TEST(Owners, WhatAnOwnerDoesNotUseIsItsOwnBusiness) {
  Finding f = leak_with({frame("/usr/lib/libcudnn_graph.so.9", "")});
  f.kind = "unused";
  f.severity = Severity::kWarning;
  f.message = "1.0 MiB of device memory was never used";
  apply_owner_rules(f);
  EXPECT_EQ(f.severity, Severity::kNote);
  const ReportedFinding reported = in_words(f, {});
  EXPECT_EQ(reported.message,
            "1.0 MiB of device memory was never used; cuDNN allocated it for itself.");
  EXPECT_EQ(reported.advice, "Nothing to do.");
}

TEST(Owners, SeveralCallSitesAreALibrarysIfAllAre) {
  const auto owner_of = [](const char* second) {
    Finding f = leak_with({frame("/usr/lib/libcublas.so.13", "")});
    f.kind = "unused";
    f.severity = Severity::kNote;
    f.stacks.push_back(f.stacks.front());
    f.stacks[0].amount = f.stacks[1].amount = MemoryAmount{1 << 20, 1};
    f.stacks[1].frames = {frame(second, "")};
    apply_owner_rules(f);
    return f.owner.name;
  };
  EXPECT_EQ(owner_of("/usr/lib/libcublas.so.13"), "cuBLAS");
  EXPECT_EQ(owner_of("/usr/lib/libnccl.so.2"), "");
  EXPECT_EQ(owner_of("/home/me/libmine.so"), "");
}

TEST(Owners, AccessesOfALibrarysKernelAreItsOwnBusiness) {
  const auto checked = [](const char* module, const char* launched_by = "/home/me/app") {
    Finding f = leak_with({});
    f.kind = "uncoalesced";
    f.severity = Severity::kWarning;
    f.advice = "Let neighbouring threads use neighbouring elements.";
    f.access.emplace();
    f.stacks.front().role = StackRole::kAccessed;
    f.stacks.front().frames = {frame(module, "kernel(float*)")};
    FindingStack launch = f.stacks.front();
    launch.role = StackRole::kLaunched;
    launch.frames = {frame(launched_by, "")};
    f.stacks.push_back(launch);
    apply_owner_rules(f);
    return f;
  };
  EXPECT_EQ(checked("/usr/lib/libcufft.so.12").severity, Severity::kNote);
  EXPECT_EQ(checked("/venv/torch/lib/libtorch_cuda.so").severity, Severity::kNote);
  EXPECT_EQ(
    in_words(checked("/usr/lib/libcublasLt.so.13"), {}).advice,
    "This is cuBLASLt's own kernel: nothing to do, unless another of its functions, data types or "
    "layouts serves as well.");
  EXPECT_EQ(checked("/home/me/libmine.so").severity, Severity::kWarning);
  EXPECT_EQ(checked("").severity, Severity::kWarning);
  EXPECT_EQ(checked("image-0").severity, Severity::kWarning);
  EXPECT_EQ(checked("image-0", "/usr/lib/libcublasLt.so.13").severity, Severity::kNote);
  EXPECT_EQ(checked("/tmp/gpumemtrace.app.host.7/image-12", "/usr/lib/libcublasLt.so.13").severity,
            Severity::kNote);
  EXPECT_EQ(checked("/home/me/app", "/usr/lib/libcublasLt.so.13").severity, Severity::kWarning);
}

TEST(Owners, OtherFindingsAreLeftAlone) {
  Finding f = leak_with({frame("/usr/lib/libcublas.so.13", "")});
  f.kind = "double-free";
  apply_owner_rules(f);
  EXPECT_EQ(f.severity, Severity::kError);
}

Finding fault_with(std::vector<std::pair<StackRole, Frame>> launches) {
  Finding f;
  f.kind = "kernel-fault";
  f.severity = Severity::kError;
  f.message = "A 16-byte load of gemm() met a fault";
  f.fault.emplace();
  f.stacks.push_back(stack_as(StackRole::kAccessed, {}, {}));
  for (auto& [role, caller] : launches) {
    f.stacks.push_back(stack_as(role, {}, "cuLaunchKernel"));
    f.stacks.back().frames = {frame("/usr/lib/libcudart.so.13", "cudaLaunchKernel"), caller};
  }
  f.stacks.push_back(stack_as(StackRole::kAllocated, {}, "cudaMalloc"));
  f.stacks.back().frames = {frame("/usr/lib/libnccl.so.2", "")};
  return f;
}

TEST(Owners, AFaultOfALibrarysKernelNamesIt) {
  Finding f =
    fault_with({{StackRole::kLaunched, frame("/usr/local/cuda/lib64/libcublasLt.so.13", "")}});
  apply_owner_rules(f);
  EXPECT_EQ(f.severity, Severity::kError);
  const ReportedFinding reported = in_words(f, {});
  EXPECT_EQ(reported.owner, "cuBLASLt");
  EXPECT_EQ(reported.message,
            "A 16-byte load of gemm() met a fault; the kernel is one of cuBLASLt's own.");
  EXPECT_NE(reported.advice.find("gave to cuBLASLt"), std::string::npos);
}

TEST(Owners, AFaultInAGraphIsItsMakers) {
  Finding f = fault_with({{StackRole::kGraphLaunched, frame("/home/me/app", "main")},
                          {StackRole::kCaptured, frame("/venv/torch/lib/libtorch_cuda.so", "")}});
  apply_owner_rules(f);
  EXPECT_EQ(in_words(f, {}).owner, "PyTorch");
  f = fault_with({{StackRole::kGraphLaunched, frame("/venv/torch/lib/libtorch_cuda.so", "")},
                  {StackRole::kCaptured, frame("/home/me/app", "main")}});
  apply_owner_rules(f);
  EXPECT_EQ(in_words(f, {}).owner, "");
}

TEST(Owners, AFaultThatTheProgramMayHaveLaunchedIsNoLibrarys) {
  Finding f = fault_with({{StackRole::kLaunched, frame("/usr/lib/libcublas.so.13", "")},
                          {StackRole::kLaunched, frame("/home/me/app", "main")}});
  apply_owner_rules(f);
  EXPECT_EQ(in_words(f, {}).owner, "");
  EXPECT_EQ(in_words(f, {}).message, "A 16-byte load of gemm() met a fault.");
}

} // namespace
} // namespace gmt::test
