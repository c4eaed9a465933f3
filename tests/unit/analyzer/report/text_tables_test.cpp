// SPDX-License-Identifier: Apache-2.0
// The tables of the text report: who used the memory, what kernels' accesses cost. Their layout is
// an interface.
#include <gtest/gtest.h>

#include "tests/report/made_up_accesses.h"
#include "tests/unit/analyzer/report/text_of.h"

namespace gmt {
namespace {

using test::expect_contains;
using test::text_of;

TEST(ReportText, ShowsWhoUsedTheMemory) {
  expect_contains(text_of(test::with_tables()), R"(
memory                                     allocations   frees   allocated       peak   live at end
  device memory, device 0                        4,001   3,990     9.3 GiB    1.2 GiB       4.0 KiB
  stream-ordered device memory, device 1            90      90   498.5 MiB    1.0 MiB       0 bytes
  pinned host memory                                10       5     4.0 KiB   64.0 MiB      64.0 MiB
copied                       copies     bytes   from or to pageable memory
  host to device                 10   2.9 KiB                  1,000 bytes
  device to another device        2   1.1 KiB                            -
allocated by                 allocations   allocated   device at peak   live at end
  libcublas.so.13 (cuBLAS)             1    32.0 MiB         32.0 MiB       0 bytes
  train                            4,000     9.3 GiB          1.2 GiB      64.0 MiB
  (unknown)                          100      1 byte          0 bytes       0 bytes
held at the peak of 1.2 GiB of device memory
   77.6 %   953.7 MiB in 4 blocks   /src/train.cu:71  step(), through libcublas.so.13
   15.5 %   190.7 MiB in 1 block    /src/train.cu:40  setup()
    6.2 %   76.3 MiB in 2 blocks    (no call stack was recorded)
  8.1 MiB in 3 other places

peak 1.2 GiB of device memory)");
}

TEST(ReportText, ShowsOfLargeTablesAFewRowsAndOfSmallOnesNone) {
  Report report = test::with_tables();
  MemoryTables& tables = report.processes[0].tables;
  tables.memory_kinds.assign(7, tables.memory_kinds[0]);
  expect_contains(text_of(report), "\n  2 more rows not shown: --tables all shows all\n");
  EXPECT_EQ(text_of(report, {.tables = TableChoice::kAll}).find("not shown"), std::string::npos);
  EXPECT_EQ(text_of(report, {.tables = TableChoice::kNone}), text_of(test::clean()));
  tables.memory_kinds.resize(1);
  tables.copies.resize(1);
  tables.modules.resize(1);
  tables.holders.resize(1);
  EXPECT_EQ(text_of(report), text_of(test::clean())); // the totals say it all
  expect_contains(text_of(report, {.tables = TableChoice::kAll}), "\n  host to device ");
}

TEST(ReportText, ShowsTheTablesOfTheProcessWithTheHighestPeak) {
  Report report = test::with_tables();
  report.processes.push_back(test::process(4712));
  report.processes[1].tables.memory_kinds = {test::tables().memory_kinds[0],
                                             test::tables().memory_kinds[2]};
  report.processes[1].totals.peak_bytes *= 2;
  expect_contains(text_of(report), "\nof the process with the highest peak, pid 4712:\nmemory  ");
}

TEST(ReportText, SaysWhatKernelsAllocatedBesideTheTotals) {
  Report report = test::clean();
  report.processes.push_back(test::process(4712));
  for (ProcessReport& process : report.processes) {
    process.totals.device_heap_calls = 20;
    process.totals.device_heap_peak_bytes = 10 * 1024;
    process.totals.device_heap_live_bytes = 512;
  }
  expect_contains(
    text_of(report),
    "\ndevice heap, not counted above: 40 calls in kernels, peak 10.0 KiB, live at end "
    "1.0 KiB\nSUMMARY");
}

TEST(ReportText, HoldersWhoseShortenedNamesAreEqualHaveWholeOnes) {
  Report r = test::with_tables();
  const std::string long_name = "train::a_namespace_with_a_long_name::another_one_inside::Layer<";
  r.processes[0].tables.holders.clear();
  for (const char* size : {"64", "16"}) {
    const Frame made =
      test::frame(long_name + size + ", float, train::Policy>::allocate(int)", "/src/train.cu", 71);
    r.processes[0].tables.holders.push_back({1000, 1, test::stack("", "cudaMalloc", {made})});
  }
  r.processes[0].totals.peak_bytes = 2000;
  const std::string text = text_of(r);
  for (const char* size : {"64", "16"})
    EXPECT_NE(text.find(std::string("Layer<") + size), std::string::npos) << text;
  EXPECT_EQ(text.find("in 2 blocks"), std::string::npos) << text;
}

TEST(ReportText, ShowsTheUsersFrameOfHoldersAndJoinsEqualRows) {
  Report r = test::with_tables();
  Frame allocator = test::frame("c10::cuda::raw_alloc(unsigned long)", "/torch/c10/alloc.cpp", 9);
  allocator.module = "/usr/lib/libc10_cuda.so";
  Frame at = test::frame("at::empty(long)", "/torch/aten/empty.cpp", 4);
  at.module = "/usr/lib/libtorch_cuda.so";
  const Frame users = test::frame("step()", "/src/train.cu", 71);
  const Frame main = test::frame("main", "/src/train.cu", 120);
  r.processes[0].tables.holders = {
    {1000, 1, test::stack("", "cudaMalloc", {test::frame("other()", "/src/train.cu", 5), main})},
    {800, 4, test::stack("", "cudaMalloc", {allocator, at, users, main})},
    {700, 2, test::stack("", "cudaMalloc", {allocator, users, main})}};
  r.processes[0].totals.peak_bytes = 3000;
  expect_contains(text_of(r), R"(
held at the peak of 2.9 KiB of device memory
   50.0 %   1.5 KiB in 6 blocks      /src/train.cu:71  step(), through libc10_cuda.so
   33.3 %   1,000 bytes in 1 block   /src/train.cu:5  other()
)");
}

// PyTorch runs the backward pass on threads of its own, without a frame of Python.
TEST(ReportText, HoldersInTheBackwardPassAreNamedByIt) {
  Report r = test::with_tables();
  const auto in = [](const char* library, const char* function) {
    Frame frame = test::frame(function, "", 0);
    frame.module = library;
    return frame;
  };
  const Frame engine =
    in("/torch/libtorch_cpu.so", "torch::autograd::Engine::thread_main(std::shared_ptr<T> const&)");
  const Frame node = in("/torch/libtorch_cpu.so",
                        "torch::autograd::generated::AddmmBackward0::apply(std::vector<T>&&)");
  const Frame allocator = in("/torch/libc10_cuda.so", "c10::cuda::raw_alloc(unsigned long)");
  const Frame other = in("/torch/libc10_cuda.so", "c10::cuda::other_alloc(unsigned long)");
  r.processes[0].tables.holders = {
    {800, 4, test::stack("", "cudaMalloc", {allocator, node, engine})},
    {700, 2, test::stack("", "cudaMalloc", {other, node, engine})},
    {300, 1, test::stack("", "cudaMalloc", {other, engine})},
    {200, 1,
     test::stack("", "cudaMalloc",
                 {other, node, engine, test::frame("main", "/src/train.cu", 120)})}};
  r.processes[0].totals.peak_bytes = 3000;
  expect_contains(text_of(r), R"(
held at the peak of 2.9 KiB of device memory
   50.0 %   1.5 KiB in 6 blocks    PyTorch's autograd engine, AddmmBackward0, through libc10_cuda.so
   10.0 %   300 bytes in 1 block   PyTorch's autograd engine, through libc10_cuda.so
    6.7 %   200 bytes in 1 block   /src/train.cu:120  main, through libc10_cuda.so
)");
}

TEST(ReportText, DistinguishesHoldersAtOneLineByTheirCallers) {
  Report report = test::with_tables();
  auto& holders = report.processes[0].tables.holders;
  holders.resize(2);
  for (auto& holder : holders) {
    holder.stack.frames = {test::frame("take(int)", "/src/take.cu", 33)};
    holder.stack.frames.push_back(
      test::frame("main", "/src/main.cu", &holder == &holders[0] ? 7 : 8));
  }
  expect_contains(text_of(report), "/src/take.cu:33, called at /src/main.cu:8  main\n");
}

// Behind a constructor and a factory of the standard library all rows have one line.
TEST(ReportText, NamesTheFirstFrameAtWhichHoldersDiffer) {
  Report report = test::with_tables();
  auto& holders = report.processes[0].tables.holders;
  holders.resize(4);
  const Frame tensor = test::frame("Tensor::Tensor(unsigned long)", "/src/raii.cu", 12);
  const Frame factory = test::frame("std::make_unique<Tensor>(int)", "/usr/include/c++/p.h", 1065);
  const auto called_by = [&](const char* function, std::uint32_t line, std::uint32_t in_main) {
    return test::stack("", "cudaMalloc",
                       {tensor, factory, test::frame(function, "/src/raii.cu", line),
                        test::frame("main", "/src/raii.cu", in_main)});
  };
  holders[0].stack = called_by("Layer<4>::forward()", 21, 33);
  holders[1].stack = called_by("Layer<64>::forward()", 21, 33); // another function at that line
  holders[2].stack = called_by("Net::step(int)", 27, 33);
  holders[3].stack = called_by("Net::step(int)", 27, 34);
  const std::string text = text_of(report);
  const std::string site = "/src/raii.cu:12, called at raii.cu:";
  expect_contains(text, site + "21  Layer<4>::forward()\n");
  expect_contains(text, site + "21  Layer<64>::forward()\n");
  expect_contains(text, site + "33  main\n");
  expect_contains(text, site + "34  main\n");
}

TEST(ReportText, ShowsWhoHeldWhatWhenAnAllocationFailed) {
  Report report = test::short_of_memory();
  expect_contains(text_of(report), R"(
    failed here                      /src/train.cu:60  grow()
    held here: 1.0 GiB in 4 blocks   /src/train.cu:71  step()
    held in 2 other places: 512.0 MiB
    Right after it device 0 had 1.0 GiB of 4.0 GiB free. About 1.5 GiB (an estimate) were held by
    what is not traced: contexts, code, memory that pools keep, other programs.
    held by                      blocks       bytes
      train                           4     1.0 GiB
      libcublas.so.13 (cuBLAS)        1   512.0 MiB
      (unknown)                       1     0 bytes
    pool                   held      freed   largest piece   fragmentation   release threshold
      default pool    512.0 MiB    0 bytes               -               -                   -
      pool 0x5000       0 bytes   64.0 MiB        64.0 MiB             0 %                 all
      outside pools     1.0 GiB   64.0 MiB        16.0 MiB            75 %                   -
)");
  report.findings.erase(report.findings.begin()); // of the host nothing more is known
  EXPECT_EQ(text_of(report).find("Right after it"), std::string::npos);
  EXPECT_EQ(text_of(report).find("not known"), std::string::npos);
  report.findings[0].held->is_host = false;
  expect_contains(text_of(report),
                  "How much of the device was free, and what others held, is not known");
}

TEST(ReportText, ShowsWhereMemoryTrafficWent) {
  const std::string text = text_of(test::with_accesses());
  expect_contains(text, R"(
warning  uncoalesced             3.5 GiB
  4-byte loads in step at step.cu:12 move 8.0 times the sectors that their data fills.
    accessed here                           /src/step.cu:12  load(float*)
                                            /src/step.cu:40  step(float*)
    first launched here, cudaLaunchKernel   /src/train.cu:7  main
  Let threadIdx.x count along the dimension that is contiguous in memory.
)");
  expect_contains(text, R"(
13 of 16,354 launches were measured, 1,204 more were put off to save time; numbers for all take the
  others to be like them
global memory: 4.5 GiB moved in all launches, 3.5 GiB of it in vain; the lines that waste most
wasted      of all   x ideal   line
  3.5 GiB   77.8 %      8.00   /src/step.cu:12  4-byte load, stride of 8 or more in step
  1.0 MiB    0.0 %      8.00   at 0x120         access in gather<float, Stride<32u> >
kernel                           launches   measured   sectors a request   efficiency    wasted
  step                             16,353         12                18.0       22.2 %   3.5 GiB
  gather<float, Stride<32u> >    (device)          -                32.0       12.5 %   1.0 MiB
  gather<double, Stride<32u> >          1          1                   -            -         -
each launch of   counted      time        read   written     GB/s   of peak   L1 hits   L2 hits   sectors a load   a store
  step                 5   80.0 us   143.1 MiB   9.5 MiB   2000.0    62.5 %    25.0 %    90.0 %             32.0         -

peak )");
  EXPECT_EQ(text_of(test::with_accesses(), {.tables = TableChoice::kNone}).find("in vain"),
            std::string::npos);
}

TEST(ReportText, ReportsTrafficOfWhichNothingWasInVain) {
  Report report = test::with_accesses();
  report.processes[0].accesses->lines.clear();
  report.processes[0].accesses->wasted_bytes = 0;
  report.processes[0].accesses->put_off = 0;
  expect_contains(
    text_of(report),
    "\n13 of 16,354 launches were measured; numbers for all take the others to be like "
    "them\nglobal memory: 4.5 GiB moved in all launches, none of it in vain\nkernel  ");
  report.processes[0].accesses->launches = 13;
  expect_contains(text_of(report),
                  "\n\nglobal memory: 4.5 GiB moved in all launches, none of it in vain\nkernel  ");
  report.processes[0].accesses->moved_bytes = 0;
  expect_contains(text_of(report), "\nglobal memory: 0 bytes moved in all launches\nkernel  ");
  report.processes[0].accesses->kernels.clear();
  EXPECT_EQ(text_of(report).find("global memory"), std::string::npos);
}

TEST(ReportText, NumbersAreNotTornFromTheirPercentSign) {
  Report report = test::with_accesses();
  report.findings[0].message = std::string(95, 'x') + " 23 % of it"; // 23 alone would fit
  expect_contains(text_of(report), "x\n  23 % of it\n");
}

} // namespace
} // namespace gmt
