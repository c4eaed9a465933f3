// SPDX-License-Identifier: Apache-2.0
// The text report: its wording and layout are an interface, people and scripts read them. One file,
// because all of it is one page and shares the few words above the tests.
#include <gtest/gtest.h>

#include <sstream>

#include "analyzer/report/output_format.h"
#include "tests/report/made_up_reports.h"

namespace gmt {
namespace {

std::string text_of(const Report& report, const OutputOptions& options = {}) {
  for (const OutputInfo* output : outputs()) {
    if (output->id != "text") continue;
    std::ostringstream out;
    output->write(report, options, out);
    return out.str();
  }
  return "no text output is registered";
}

std::string last_line(const std::string& text) {
  const std::size_t before = text.rfind('\n', text.size() - 2);
  return text.substr(before + 1, text.size() - before - 2);
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "missing:\n" << part << "\nin:\n" << text;
}

TEST(ReportText, ShowsTheWholeStoryOfAnOrdinaryReport) {
  EXPECT_EQ(text_of(test::ordinary()), R"(gpumemtrace 0.1.0   ./train --epochs 1
  pid 4711   2 threads   8,412 events   ended: killed by SIGKILL

error    double-free             2 times, 1.0 MiB
  cudaFree of 0x7f0000000000, which had been freed already (1.0 MiB, cudaMalloc).
    freed again here   /src/train.cu:85   destroy(Model*)
                       /src/train.cu:88   release_all()
                       /src/train.cu:120  main
    first freed here   /src/train.cu:71   step()
    allocated here     /src/train.cu:40   setup()
  Remove the second cudaFree, or set the pointer to null after the first.

error    leak                    64.0 MiB in 16 blocks
  16 blocks of device memory were never freed.
  first in range epoch 1
    allocated here, cudaMalloc   libloader.so.2+0x4568
                                 0x10
  Call cudaFree.

warning  unused                  4.0 KiB in 1 block
  Device memory was allocated and never touched.
    allocated here, cudaMallocAsync   (no call stack was recorded)

peak 1.2 GiB of device memory, in range epoch 2 / forward
in all, host memory included: allocated 9.8 GiB in 4,101 calls, live at end 64.0 MiB in 16 blocks
SUMMARY: gpumemtrace: 2 errors, 1 warning (1 double-free, 1 leak 64.0 MiB, 1 unused)
)");
}

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
   50.0 %   1.5 KiB in 6 blocks      /src/train.cu:71, called at /src/train.cu:120, through libc10_cuda.so
   33.3 %   1,000 bytes in 1 block   /src/train.cu:5  other()
)");
}

// A check whose files have everything is short.
TEST(ReportText, KeepsFindingsWithinSomeLines) {
  const auto lines_of_findings = [](const std::string& text) {
    const std::size_t end = text.find("not shown here");
    return std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
  };
  const Report many = test::many(100);
  const std::string text = text_of(many, {.finding_lines = 40});
  EXPECT_LE(lines_of_findings(text), 40 + 4); // and the head
  expect_contains(text, "\nerror    double-free ");
  expect_contains(text, "96 more findings not shown here: the files below have all\n");
  expect_contains(text, "SUMMARY: gpumemtrace: 100 errors");
  // One finding that alone is too long loses outer frames
  Report deep = test::clean();
  deep.findings = {test::double_free()};
  deep.findings[0].stacks[0].frames.assign(60, test::frame("deep()", "/src/train.cu", 1));
  const std::string cut = text_of(deep, {.finding_lines = 40});
  expect_contains(cut, "outer frames not shown");
  EXPECT_LE(std::count(cut.begin(), cut.end(), '\n'), 40 + 6);
  EXPECT_EQ(text_of(many).find("not shown here"), std::string::npos);
}

TEST(ReportText, OnlyCountsWhatTheBaselineHas) {
  Report r = test::ordinary();
  r.findings[0].baseline = BaselineState::kKnown;
  r.findings[1].baseline = BaselineState::kGrown;
  const std::string text = text_of(r);
  EXPECT_EQ(text.find("double-free"), std::string::npos);
  expect_contains(text, "1 finding not shown: in the baseline\n");
  expect_contains(last_line(text),
                  "1 error, 1 warning (1 leak 64.0 MiB, 1 unused); 1 in the baseline");
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
  expect_contains(text_of(report), "/src/take.cu:33, called at /src/main.cu:8\n");
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

TEST(ReportText, ShowsWhichThreadOfAKernelItWas) {
  const std::string text = text_of(test::with_kernels());
  const std::string indent(38, ' ');
  expect_contains(text, "    allocated here, malloc            /src/node.h:5    make_node\n" +
                          indent + "launch 3 of step(int*), block (0, 1, 0), thread (31, 0, 0)\n");
  expect_contains(text, "    freed here                        (line unknown)\n" + indent +
                          "block (0, 0, 0), thread (0, 0, 0)\n");
  expect_contains(text, "    launched here, cudaLaunchKernel   /src/train.cu:7  main\n");
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

TEST(ReportText, SaysPlainlyThatNothingIsWrong) {
  const std::string text = text_of(test::clean());
  expect_contains(text, "ended: exit status 0");
  EXPECT_EQ(last_line(text), "SUMMARY: gpumemtrace: no errors");
}

TEST(ReportText, NeverTakesSilenceForHealth) {
  const std::string text = text_of(test::nothing_seen());
  expect_contains(text, "nothing was checked: no CUDA call was seen");
  EXPECT_EQ(last_line(text), "SUMMARY: gpumemtrace: no CUDA call was seen, nothing was checked");
}

TEST(ReportText, NamesEveryLimitAndEveryLoss) {
  const std::string text = text_of(test::troubled());
  expect_contains(
    text, "gpumemtrace 0.1.0   ./train --epochs 1   3 processes   ended: killed by SIGKILL\n");
  expect_contains(
    text, "simulated device: no GPU took part; kernels were not run (300 launches skipped)");
  expect_contains(
    text, "\nprocess   ./train --epochs 1\n"
          "  pid 4712   2 threads   8,412 events   ended: replaced by another program (exec)\n");
  expect_contains(text, "ended: still running\n  no findings\n");
  expect_contains(text, "2 findings not shown: smaller than --min-bytes\n");
  expect_contains(text, "1 finding not shown: of kinds that were not asked for\n");
  expect_contains(
    text,
    "5 findings suppressed by 2 rules (known.supp: leak:libfoo* 4, known.supp: pitch-*:* 1)\n");
  expect_contains(text, "4 events lost (damaged in the trace 1, disk full or file size limit 3)");
  expect_contains(text, "2 records never finished");
  expect_contains(
    text, "not checked:\n  uncoalesced  needs --coalescing\n"
          "  symbols of /opt/lib/libloader.so.2: the file has changed since the recording\n");
  expect_contains(text, "\n'bash' was started without the checker\n");
  EXPECT_EQ(last_line(text),
            "SUMMARY: gpumemtrace: 2 errors, 1 warning, 1 note "
            "(1 double-free, 1 leak 64.0 MiB, 1 unused); 5 suppressed; 4 events lost");
}

TEST(ReportText, ProcessesWithoutFindingsAreOneLine) {
  Report report = test::clean();
  report.processes.push_back(test::process(4712));
  expect_contains(text_of(report), "\nno findings in 2 processes\n");
  report.findings = {test::leak()};
  expect_contains(text_of(report), "\nno findings in 1 other process\n");
  report.findings.push_back(test::double_free());
  report.findings[1].process = 1;
  const std::string text = text_of(report, {.limit = 1});
  // Held back is not the same as none
  EXPECT_EQ(text.find("no findings"), std::string::npos) << text;
}

ReportedFinding kept_by(const std::string& owner, std::uint64_t mib, std::uint64_t blocks,
                        unsigned frames) {
  ReportedFinding finding;
  finding.kind = "leak";
  finding.measure = Measure::kLostBlocks;
  finding.severity = Severity::kNote;
  finding.owner = owner;
  finding.bytes = mib << 20;
  finding.count = blocks;
  finding.owner_clause = "; " + owner + " keeps it";
  finding.message = "memory was never freed" + finding.owner_clause + ".";
  finding.advice = "Nothing to do, unless it grows from run to run.";
  std::vector<Frame> stack;
  for (unsigned i = 0; i < frames; ++i)
    stack.push_back(test::frame("f" + std::to_string(i), "/cache.cpp", 7));
  finding.stacks.push_back(test::stack("allocated here", "cudaMalloc", stack));
  return finding;
}

TEST(ReportText, ShowsInBriefWhatLibrariesKeep) {
  Report report = test::clean();
  const auto add = [&report](ReportedFinding finding, std::size_t process) {
    finding.process = process;
    report.findings.push_back(std::move(finding));
  };
  add(kept_by("PyTorch", 40, 3, 9), 0);
  add(kept_by("cuBLAS", 20, 1, 6), 0);
  add(kept_by("PyTorch", 2, 1, 1), 0);
  add(kept_by("PyTorch", 1, 2, 1), 0);
  const std::string text = text_of(report);
  expect_contains(text, R"(
note     leak                    43.0 MiB in 6 blocks
  43.0 MiB in 6 blocks, allocated at 3 places, was never freed; PyTorch keeps it.
    the largest allocated here, cudaMalloc   /cache.cpp:7  f0
                                             /cache.cpp:7  f1
                                             /cache.cpp:7  f2
                                             /cache.cpp:7  f3
                                             /cache.cpp:7  f4
                                             /cache.cpp:7  f5
                                             (3 outer frames not shown)
  Nothing to do, unless it grows from run to run.

note     leak                    20.0 MiB in 1 block
  memory was never freed; cuBLAS keeps it.
)");
  EXPECT_EQ(last_line(text), "SUMMARY: gpumemtrace: no errors, 4 notes");
  expect_contains(text_of(report, {.stack_depth = 128}), "f8\n");
}

TEST(ReportText, ShowsInBriefWhatLibrariesKernelsDo) {
  Report report = test::with_accesses();
  for (std::uint64_t i = 0; i < 12; ++i) {
    ReportedFinding finding = report.findings[0];
    finding.severity = Severity::kNote;
    finding.owner = i < 10 ? "cuBLASLt" : "cuDNN";
    finding.message = "access " + std::to_string(i);
    finding.advice = "Nothing to do.";
    report.findings.push_back(finding);
  }
  const std::string text = text_of(report);
  expect_contains(text, "access 0\n");
  EXPECT_EQ(text.find("access 1\n"), std::string::npos);
  expect_contains(
    text,
    "  Nothing to do. 9 other places in cuBLASLt's kernels of which the same is true are not shown:\n"
    "  --format json lists all.\n");
  expect_contains(text, "access 10\n");
  expect_contains(
    text,
    "  Nothing to do. 1 other place in cuDNN's kernels of which the same is true is not shown: --format\n"
    "  json lists all.\n");
}

TEST(ReportText, CountsWhatTheLimitHoldsBack) {
  const std::string text = text_of(test::ordinary(), {.limit = 1});
  EXPECT_EQ(text.find("error    leak"), std::string::npos);
  expect_contains(text, "2 more findings not shown: --limit 0 shows all\n");
  expect_contains(last_line(text), "2 errors, 1 warning"); // the verdict is about all of them
}

TEST(ReportText, CutsStacksToTheDepthAskedFor) {
  const std::string text = text_of(test::ordinary(), {.stack_depth = 1});
  EXPECT_EQ(text.find("release_all"), std::string::npos);
  expect_contains(text, "(2 outer frames not shown)\n");
}

TEST(ReportText, ColoursTheSeverityOnly) {
  const std::string plain = text_of(test::troubled());
  EXPECT_EQ(plain.find('\033'), std::string::npos);
  std::string colored = text_of(test::troubled(), {.color = true});
  expect_contains(colored, "\033[1;31merror\033[0m    double-free");
  expect_contains(colored, "\033[1;33mwarning\033[0m  unused");
  expect_contains(colored, "\033[1;36mnote\033[0m     unfinished-call");
  for (std::size_t at = 0; (at = colored.find('\033')) != std::string::npos;) {
    colored.erase(at, colored.find('m', at) - at + 1);
  }
  EXPECT_EQ(colored, plain);
}

TEST(ReportText, LetsNoNameSteerTheTerminal) {
  const std::string text = text_of(test::hostile());
  for (const char c : text) {
    EXPECT_TRUE(c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f))
      << static_cast<int>(c);
  }
  EXPECT_EQ(last_line(text).rfind("SUMMARY: gpumemtrace: 2 errors", 0), 0u);
}

TEST(ReportText, StaysWithinAHundredColumns) {
  Report report = test::ordinary();
  std::string words = "word";
  for (int i = 0; i < 60; ++i) words += " another";
  report.findings[0].message = report.findings[0].advice = words;
  report.findings[0].stacks[0].frames[0].function =
    "std::map<std::string, std::vector<int>> ns::load<std::map<std::string, std::vector<int>>, "
    "std::allocator<int>>"
    "(std::map<std::string, std::vector<int>> const&, unsigned long)";
  report.remarks = {words};
  report.not_checked = {{"uncoalesced", words}};
  report.processes[0].arguments.assign(40, "argument");
  std::istringstream lines(text_of(report));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

} // namespace
} // namespace gmt
