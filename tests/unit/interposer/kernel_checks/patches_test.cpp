// SPDX-License-Identifier: Apache-2.0
// --kernel-checks=libraries: which modules are patched, which launches are checked, and what
// becomes of the records of patches. The patches are the test.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <vector>

#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/patches/patches.h"
#include "interposer/kernel_checks/library/patches/sanitizer.h"
#include "interposer/kernel_checks/library/replacements.h"
#include "interposer/kernel_checks/library/reports.h"
#include "made_up_driver.h"
#include "made_up_sanitizer.h"

namespace gmt::interposer::kernel_checks {
namespace {

const auto kFunction = reinterpret_cast<CUfunction>(0x5500);      // NOLINT: handles
const auto kModule = reinterpret_cast<CUmodule>(0x6600);          // NOLINT
const auto kCurrentContext = reinterpret_cast<CUcontext>(0x1000); // NOLINT: of the made-up driver

// Memory at the address that the table asks for, where patches take what they are given.
void* pages_of_table() {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  static void* const pages =
    mmap(reinterpret_cast<void*>(kWantedTable), kBytes, PROT_READ | PROT_WRITE, // NOLINT
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  return pages;
}

struct KernelCheckPatches : testing::Test {
  void SetUp() override {
    settings.patches_code = true;
    ASSERT_NE(pages_of_table(), MAP_FAILED);
    is_address_given = true;
    begin_made_up_driver();
    abandon_patches();
    replace_launches();
    has_registered_memory = true;
    sanitizer = {};
    sanitizer.environment = {{"GPUMEMTRACE_SANITIZER", kAnyLibrary}};
    with_toolkit = *core;
    with_toolkit.toolkit = made_up_sanitizer_search;
    core = &with_toolkit;
    if (!table().prepare() || table().options().table != kWantedTable)
      GTEST_SKIP() << "an earlier test of this process has placed the table";
  }
  void TearDown() override {
    for (CUmodule module : sanitizer.patched) unload(module);
    settings.patches_code = false;
    is_address_given = false;
    while_launching = nullptr;
    abandon_patches();
    begin_made_up_driver();
  }

  static void load(CUmodule module, const char* code = "machine code") {
    const SanitizerModule loaded{kCurrentContext, module, std::strlen(code), code, nullptr};
    sanitizer.callback(nullptr, static_cast<std::uint32_t>(SanitizerDomain::kResource),
                       static_cast<std::uint32_t>(ResourceEvent::kModuleLoaded), &loaded);
  }
  static void unload(CUmodule module) {
    const SanitizerModule unloaded{kCurrentContext, module, 0, nullptr, nullptr};
    sanitizer.callback(nullptr, static_cast<std::uint32_t>(SanitizerDomain::kResource),
                       static_cast<std::uint32_t>(ResourceEvent::kModuleUnloadStarting), &unloaded);
  }
  // The driver launches code of the module, and `patch` runs in its threads.
  static CUresult launch(CUmodule module, const std::function<void(std::uint64_t data)>& patch) {
    while_launching = [module, &patch](CUfunction function) {
      if (sanitizer.callback == nullptr) return; // nothing subscribed
      SanitizerLaunch launch{};
      launch.module = module;
      launch.function = function;
      sanitizer.callback(nullptr, static_cast<std::uint32_t>(SanitizerDomain::kLaunch),
                         kLaunchBegin, &launch);
      const std::uint64_t data = sanitizer.data.empty() ? 0 : sanitizer.data.back();
      if (data != 0) patch(data);
    };
    return call_replaced("cuLaunchKernel", kFunction, 1u, 1u, 1u, 32u, 1u, 1u, 0u,
                         static_cast<CUstream>(nullptr), static_cast<void**>(nullptr),
                         static_cast<void**>(nullptr));
  }
  static CUresult launch(CUmodule module) {
    return launch(module, [](std::uint64_t) {});
  }
  // As check_access.cu does.
  static void mistake(std::uint64_t data, std::uint64_t address, std::uint32_t thread,
                      std::uint64_t times = 1) {
    auto& control = *reinterpret_cast<PatchControl*>(data / kDataBytes * kDataBytes); // NOLINT
    const std::uint64_t pc = kCode + 0x1a0;
    control.counts[site_of(pc)] += times;
    PatchRecord& record = reinterpret_cast<PatchRecord*>(control.records)[control.used++]; // NOLINT
    record.pc = pc;
    record.address = address;
    record.bytes = 4;
    record.flags = kPatchWrites;
    record.entry = entry_at(address);
    record.thread[0] = thread;
    record.data = static_cast<std::uint32_t>(data);
    record.is_whole = 1;
    *reinterpret_cast<std::uint32_t*>(control.flag) = 1; // NOLINT
  }
  static CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(call_replaced("cuMemAlloc_v2", &address, bytes), CUDA_SUCCESS);
    return address;
  }
  static bool said(std::string_view what) {
    return std::ranges::any_of(reported.plain, [what](const Reported::Plain& one) {
      return one.reason.find(what) != std::string::npos;
    });
  }

  KernelChecksCore with_toolkit;
};

TEST_F(KernelCheckPatches, AMistakeOfCodeWithoutPtxIsReportedWithItsLaunch) {
  begin_patches();
  load(kModule);
  load(reinterpret_cast<CUmodule>(0x7700)); // NOLINT
  EXPECT_EQ(sanitizer.times_added, 1);      // once a context
  const CUdeviceptr block = allocate(1000);
  launch(kModule, [&](std::uint64_t data) {
    mistake(data, block + 1000, 7);
    mistake(data, block + 1000, 3, 100); // 99 of them have no record
  });
  fetch_reports();
  ASSERT_EQ(reported.faults.size(), 1u);
  const Reported::Fault& fault = reported.faults[0];
  EXPECT_EQ(fault.kind, trace::ExecutionReport::kOutOfBounds);
  EXPECT_EQ(fault.address, block + 1000);
  EXPECT_EQ(fault.thread, 3u);
  EXPECT_EQ(fault.count, 101u);
  EXPECT_EQ(fault.kernel, "k");
  EXPECT_EQ(fault.call, 1u);
  EXPECT_EQ(fault.instruction, "machine code at 0x1a0");
  EXPECT_EQ(fault.space, trace::ExecutionSpace::kGlobal);
  finish();
  EXPECT_EQ(reported.faults.size(), 1u);
  ASSERT_EQ(reported.plain.size(), 1u); // it ran with checks
  EXPECT_EQ(reported.plain[0].launches, 0u);
  EXPECT_TRUE(said("in 1 launch of 1 kernel whose machine code was patched"));
}

TEST_F(KernelCheckPatches, FreedMemoryIsNamedAndEachLaunchHasItsOwnReport) {
  begin_patches();
  load(kModule);
  const CUdeviceptr block = allocate(4096);
  call_replaced("cuMemFree_v2", block);
  for (int i = 0; i < 2; ++i) launch(kModule, [&](std::uint64_t data) { mistake(data, block, 1); });
  fetch_reports();
  ASSERT_EQ(reported.faults.size(), 2u);
  for (const Reported::Fault& fault : reported.faults)
    EXPECT_EQ(fault.kind, trace::ExecutionReport::kUseAfterFree);
  EXPECT_NE(sanitizer.data[0], sanitizer.data[1]);
}

TEST_F(KernelCheckPatches, CodeWithChecksOfItsOwnIsLeftAsItIs) {
  begin_patches();
  load(kModule, "a table of symbols with __gmt_counts in it");
  load(kModule, "and one with gmt_mark");
  EXPECT_TRUE(sanitizer.patched.empty());
  allocate(16);
  launch(kModule);
  EXPECT_TRUE(sanitizer.data.empty());
  finish();
  EXPECT_EQ(reported.plain.size(), 1u); // it ran without checks
}

// What the tool launches itself, and launches into another context, have patches that do nothing.
TEST_F(KernelCheckPatches, OtherLaunchesAreNotChecked) {
  begin_patches();
  load(kModule);
  launch(kModule); // no context has the table: this one gets it
  EXPECT_NE(sanitizer.data.back(), 0u);
  SanitizerLaunch own_launch{};
  own_launch.module = kModule;
  sanitizer.callback(nullptr, static_cast<std::uint32_t>(SanitizerDomain::kLaunch), kLaunchBegin,
                     &own_launch);
  EXPECT_EQ(sanitizer.data.back(), 0u);
}

// A graph's kernels are known when it is launched. Each gives its patches something, or they would
// be given what no one knows.
TEST_F(KernelCheckPatches, KernelsOfGraphsAreChecked) {
  begin_patches();
  load(kModule);
  const CUdeviceptr block = allocate(1000);
  SanitizerNode node{};
  node.type = CU_GRAPH_NODE_TYPE_KERNEL;
  node.launch.context = kCurrentContext;
  node.launch.module = kModule;
  node.launch.name = "k";
  const auto node_begins = [&node] {
    sanitizer.callback(nullptr, static_cast<std::uint32_t>(SanitizerDomain::kGraphs),
                       kNodeLaunchBegin, &node);
  };
  node_begins();
  mistake(sanitizer.data.back(), block + 1000, 7);
  fetch_reports();
  ASSERT_EQ(reported.faults.size(), 1u);
  EXPECT_EQ(reported.faults[0].kernel, "k");
  EXPECT_EQ(reported.faults[0].call, 1u);                    // the launch of the graph
  node.launch.context = reinterpret_cast<CUcontext>(0x1800); // NOLINT: another one
  node_begins();
  EXPECT_EQ(sanitizer.data.back(), 0u);
  node.launch.module = reinterpret_cast<CUmodule>(0x7700); // NOLINT: without patches
  node_begins();
  EXPECT_EQ(sanitizer.data.size(), 2u);
}

TEST_F(KernelCheckPatches, LaterLaunchesAreCountedAsNotChecked) {
  with_toolkit.settings.launches = 2;
  begin_patches();
  load(kModule);
  for (int i = 0; i < 5; ++i) launch(kModule);
  EXPECT_NE(sanitizer.data[1], 0u);
  EXPECT_EQ(sanitizer.data[2], 0u); // patched, but not checked any more
  finish();
  ASSERT_EQ(reported.plain.size(), 2u); // and what patches leave out
  EXPECT_EQ(reported.plain[0].launches, 3u);
  EXPECT_TRUE(said("--checked-launches"));
}

TEST_F(KernelCheckPatches, AModuleThatIsNotPatchedIsSaidOnceAndRunsPlain) {
  begin_patches();
  sanitizer.answer_of_patch_module = 999;
  load(kModule);
  launch(kModule);
  finish();
  EXPECT_TRUE(said("did not patch a module (999)"));
  EXPECT_TRUE(sanitizer.data.empty());
}

TEST_F(KernelCheckPatches, WithoutTheLibraryItIsSaid) {
  sanitizer.environment["GPUMEMTRACE_SANITIZER"] = "/none/libsanitizer-public.so";
  begin_patches();
  EXPECT_TRUE(said("libsanitizer-public.so was not found"));
  allocate(16);
  launch(kModule);
  finish();
  EXPECT_EQ(reported.plain.size(), 2u); // the kernel, too
}

TEST_F(KernelCheckPatches, AnotherToolKeepsThemAway) {
  sanitizer.environment["CUDA_INJECTION64_PATH"] = "/opt/tool.so";
  begin_patches();
  EXPECT_TRUE(said("another tool is injected"));
}

TEST(KernelCheckPatchControl, AnAddressHasItsEntryAsCheckedCodeHasIt) {
  rewriter::Options options;
  options.table = 0x500000000000;
  options.window = 0x7e0000000000;
  options.window_bits = 40;
  const auto size = static_cast<std::uint32_t>(rewriter::window_bytes(options) >> 32);
  const auto window = static_cast<std::uint32_t>(options.window >> 32);
  for (const std::uint64_t address :
       {std::uint64_t{0}, std::uint64_t{0x302000000}, std::uint64_t{0x7fffffffff},
        std::uint64_t{0x7e0000000000}, std::uint64_t{0x7e1234567890},
        std::uint64_t{0x7e7fffffffff}}) {
    std::uint64_t joined = 0;
    ASSERT_TRUE(join_windows(address, window, size, joined)) << address;
    EXPECT_EQ(options.table + (joined >> 9) * 2, rewriter::entry_address(options, address));
  }
  for (const std::uint64_t address : {std::uint64_t{0x8000000000}, std::uint64_t{0x7dffffffffff},
                                      std::uint64_t{0x7e8000000000}, ~std::uint64_t{0}}) {
    std::uint64_t joined = 0;
    EXPECT_FALSE(join_windows(address, window, size, joined)) << address;
  }
}

} // namespace
} // namespace gmt::interposer::kernel_checks
