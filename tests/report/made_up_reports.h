// SPDX-License-Identifier: Apache-2.0
// Reports made by hand, one for each situation that an output must handle. They stand alone; it
// is one file because it is one list of them.
#pragma once

#include <string>
#include <vector>

#include "analyzer/report/fingerprint.h"
#include "analyzer/report/report.h"

namespace gmt::test {

inline Frame frame(std::string function, std::string file, std::uint32_t line,
                   std::uint64_t address = 0x555500001234) {
  Frame f;
  f.address = address;
  f.function = std::move(function);
  f.file = std::move(file);
  f.line = line;
  f.module = "/home/me/train";
  f.module_offset = address & 0xffff;
  return f;
}

inline LabelledStack stack(std::string label, std::string api, std::vector<Frame> frames) {
  LabelledStack s;
  s.label = std::move(label);
  s.api = std::move(api);
  s.frames = std::move(frames);
  return s;
}

inline ProcessReport process(std::uint32_t pid = 4711) {
  ProcessReport p;
  p.pid = pid;
  p.host = "node1";
  p.executable = "/home/me/train";
  p.arguments = {"./train", "--epochs", "1"};
  p.trace = "gpumemtrace.train.node1." + std::to_string(pid);
  p.device = "real";
  p.ended = {Ending::How::kExited, 0, 0};
  p.totals = {.events = 8412,
              .threads = 2,
              .allocations = 4101,
              .allocated_bytes = 10'522'669'875,
              .frees = 4085,
              .copies = 12,
              .copied_bytes = 4096,
              .launches = 300,
              .peak_bytes = 1'288'490'189,
              .peak_order = 5120,
              .peak_range = "epoch 2 / forward",
              .live_bytes = 67'108'864,
              .live_blocks = 16};
  return p;
}

inline ReportedFinding double_free() {
  ReportedFinding f;
  f.kind = "double-free";
  f.message = "cudaFree of 0x7f0000000000, which had been freed already (1.0 MiB, cudaMalloc).";
  f.advice = "Remove the second cudaFree, or set the pointer to null after the first.";
  f.bytes = 1 << 20;
  f.count = 2;
  f.address = 0x7f0000000000;
  f.api = "cudaFree";
  Frame inlined = frame("destroy(Model*)", "/src/train.cu", 85);
  inlined.inlined = true;
  f.stacks = {stack("freed again here", "cudaFree",
                    {inlined, frame("release_all()", "/src/train.cu", 88),
                     frame("main", "/src/train.cu", 120)}),
              stack("first freed here", "cudaFree", {frame("step()", "/src/train.cu", 71)}),
              stack("allocated here", "cudaMalloc", {frame("setup()", "/src/train.cu", 40)})};
  for (LabelledStack& named : f.stacks) named.shows_call = false;
  return f;
}

inline ReportedFinding leak() {
  ReportedFinding f;
  f.kind = "leak";
  f.measure = Measure::kLostBlocks;
  f.message = "16 blocks of device memory were never freed.";
  f.range = "epoch 1";
  f.advice = "Call cudaFree.";
  f.bytes = 64 << 20;
  f.count = 16;
  Frame unknown;
  unknown.address = 0x7f1200004568;
  unknown.module = "/opt/lib/libloader.so.2";
  unknown.module_offset = 0x4568;
  Frame nowhere;
  nowhere.address = 0x10;
  f.stacks = {stack("allocated here", "cudaMalloc", {unknown, nowhere})};
  return f;
}

inline ReportedFinding warning() {
  ReportedFinding f;
  f.kind = "unused";
  f.measure = Measure::kBlocks;
  f.severity = Severity::kWarning;
  f.message = "Device memory was allocated and never touched.";
  f.bytes = 4096;
  f.stacks = {stack("allocated here", "cudaMallocAsync", {})};
  return f;
}

// Every table, with rows of every shape.
inline MemoryTables tables() {
  MemoryTables t;
  t.memory_kinds = {{"device memory", 0, 4001, 10'000'000'000, 3990, 11, 4096, 1'288'490'189},
                    {"stream-ordered device memory", 1, 90, 522'669'875, 90, 0, 0, 1 << 20},
                    {"pinned host memory", -1, 10, 4096, 5, 5, 67'104'768, 67'104'768}};
  t.devices = {{0, 1'288'490'189, 4096}, {1, 1 << 20, 0}};
  t.copies = {{"host to device", 10, 3000, 1000}, {"device to another device", 2, 1096, 0}};
  Frame library = frame("", "", 0);
  library.module = "/usr/lib/libcublas.so.13";
  t.holders = {
    {1'000'000'000, 4,
     stack("allocated here", "cudaMalloc", {library, frame("step()", "/src/train.cu", 71)})},
    {200'000'000, 1,
     stack("allocated here", "cudaMalloc", {frame("setup()", "/src/train.cu", 40)})},
    {80'000'000, 2, stack("allocated here", "cuMemAlloc_v2", {})}};
  t.other_holders = 3;
  t.other_bytes = 8'490'189;
  t.modules = {{"/usr/lib/libcublas.so.13", "cuBLAS", 1, 33'554'432, 33'554'432, 0},
               {"/home/me/train", "", 4000, 10'000'000'000, 1'254'935'757, 67'108'864},
               {"", "", 100, 1, 0, 0}};
  return t;
}

inline StackMemory stack_memory(std::uint64_t peak_bytes, std::vector<Frame> frames) {
  StackMemory memory{.allocations = 1, .allocated_bytes = peak_bytes, .peak_bytes = peak_bytes};
  memory.stack.frames = std::move(frames);
  return memory;
}

inline Report with_tables() {
  Report r;
  r.tool_version = "0.1.0";
  r.processes = {process()};
  r.processes[0].tables = tables();
  r.processes[0].stacks = {stack_memory(1 << 30, {frame("step()", "/src/train.cu", 71),
                                                  frame("main", "/src/train.cu", 120)}),
                           stack_memory(0, {frame("over()", "/src/train.cu", 90)}),
                           stack_memory(4096, {})};
  return r;
}

inline Report ordinary() {
  Report r;
  r.tool_version = "0.1.0";
  r.processes = {process()};
  r.processes[0].ended = {Ending::How::kSignalled, 0, 9};
  r.findings = {double_free(), leak(), warning()};
  return r;
}

// Recorded by a kernel: one frame and the thread that ran it.
inline ReportedFinding device_heap_leak() {
  ReportedFinding f;
  f.kind = "device-heap-leak";
  f.measure = Measure::kLostBlocks;
  f.message = "128 bytes of the device heap were never freed.";
  f.bytes = 128;
  f.count = 2;
  Frame in_kernel;
  in_kernel.function = "make_node";
  in_kernel.file = "/src/node.h";
  in_kernel.line = 5;
  LabelledStack allocated = stack("allocated here", "malloc", {in_kernel});
  allocated.device = {
    .kernel = "step(int*)", .launch = 3, .block = {{0, 1, 0}}, .thread = {{31, 0, 0}}};
  LabelledStack unknown = stack("freed here", "free", {Frame{}});
  unknown.shows_call = false;
  unknown.device = {.kernel = {}, .block = {{0, 0, 0}}, .thread = {{0, 0, 0}}};
  f.stacks = {allocated, unknown,
              stack("launched here", "cudaLaunchKernel", {frame("main", "/src/train.cu", 7)})};
  return f;
}

inline Report with_kernels() {
  Report r = ordinary();
  r.findings = {device_heap_leak()};
  return r;
}

inline Report clean() {
  Report r;
  r.tool_version = "0.1.0";
  r.processes = {process()};
  return r;
}

// Nothing was found, and the program died.
inline Report crashed() {
  Report r = clean();
  r.processes[0].ended = {.how = Ending::How::kSignalled, .signal = 6};
  return r;
}

inline Report nothing_seen() {
  Report r;
  r.tool_version = "0.1.0";
  r.no_cuda_calls = true;
  r.remarks = {"no CUDA call was seen: the program made none"};
  return r;
}

// An allocation that failed, with all that can be known about it.
inline ReportedFinding out_of_memory() {
  ReportedFinding f;
  f.kind = "out-of-memory";
  f.severity = Severity::kWarning;
  f.message = "cudaMalloc of 2.0 GiB of device memory failed for lack of memory.";
  f.bytes = 2ull << 30;
  f.api = "cudaMalloc";
  f.stacks = {
    stack("failed here", "cudaMalloc", {frame("grow()", "/src/train.cu", 60)}),
    stack("held here: 1.0 GiB in 4 blocks", "cudaMalloc", {frame("step()", "/src/train.cu", 71)})};
  for (LabelledStack& named : f.stacks) named.shows_call = false;
  f.held =
    HeldMemory{.requested_bytes = 2ull << 30,
               .device = 0,
               .bytes = 3ull << 29,
               .blocks = 6,
               .free_bytes = 1ull << 30,
               .total_bytes = 4ull << 30,
               .holders = {{1, 1ull << 30, 4}},
               .other_holders = 2,
               .other_bytes = 1ull << 29,
               .modules = {{"/home/me/train", "", 1ull << 30, 4},
                           {"/usr/lib/libcublas.so.13", "cuBLAS", 1ull << 29, 1},
                           {"", "", 0, 1}},
               .pools = {{"default pool", 1ull << 29, 2, 0, 0, std::nullopt},
                         {"pool 0x5000", 0, 0, 64 << 20, 64 << 20, UINT64_MAX},
                         {"outside pools", 1ull << 30, 4, 64 << 20, 16 << 20, std::nullopt}}};
  return f;
}

inline Report short_of_memory() {
  Report r = clean();
  r.findings = {out_of_memory(), out_of_memory()};
  HeldMemory& host = r.findings[1].held.emplace();
  host.is_host = true;
  host.requested_bytes = host.bytes = 4096;
  return r;
}

// Several processes, every limit, every loss, frames that are missing.
inline Report troubled() {
  Report r = ordinary();
  Frame gone;
  gone.module = "/home/me/train";
  gone.tail_call = true;
  r.findings[0].stacks[1].frames.insert(r.findings[0].stacks[1].frames.begin(), gone);
  r.processes[0].device = "simulated";
  r.processes[0].driver_version = "13.0";
  r.processes[0].began_ns = 1'795'759'536'825'722'711; // 2026-11-27 06:05:36
  r.processes[0].devices = {"NVIDIA H100 80GB HBM3"};
  r.processes[0].tables = tables();
  r.processes[0].lost = {{"disk full or file size limit", 3}};
  r.processes[0].damaged = 1;
  r.processes[0].torn = 2;
  r.processes.push_back(process(4712));
  r.processes[1].ended = {Ending::How::kExec, 0, 0};
  r.processes.push_back(process(4713));
  r.processes[2].ended = {Ending::How::kRunning, 0, 0};
  r.processes[2].device.clear();
  r.findings[1].process = 1;
  ReportedFinding note;
  note.kind = "unfinished-call";
  note.severity = Severity::kNote;
  note.message = "The process died in cuLaunchKernel.";
  r.findings.push_back(note);
  r.suppressed = 5;
  r.suppressions = {{"leak:libfoo*", "known.supp", 4}, {"pitch-*:*", "known.supp", 1}};
  r.below_min_bytes = 2;
  r.other_kinds = 1;
  r.not_checked = {
    {"uncoalesced", "needs --coalescing"},
    {"symbols of /opt/lib/libloader.so.2", "the file has changed since the recording"}};
  r.remarks = {"'bash' was started without the checker"};
  return r;
}

// As many findings as a wrong program can have, each with a fingerprint.
inline Report many(unsigned findings) {
  Report r = clean();
  for (unsigned i = 0; i < findings; ++i) {
    r.findings.push_back(double_free());
    r.findings.back().fingerprint = "1-00000000000" + std::to_string(10'000 + i);
    r.findings.back().function_fingerprint = r.findings.back().fingerprint;
  }
  return r;
}

// Bytes that are no UTF-8 and characters that would steer a terminal, wherever a program can put
// them.
inline Report hostile() {
  Report r = ordinary();
  const std::string bad = std::string("\xff\xfe \033[2J\n\t\"\\ \xc3\xa9 ") + '\0' + "<&>";
  r.processes[0].executable = r.processes[0].host = r.processes[0].trace = bad;
  r.processes[0].arguments = {bad, ""};
  r.processes[0].lost[bad] = UINT64_MAX / 2;
  r.processes[0].totals.peak_bytes = UINT64_MAX;
  r.processes[0].tables = tables();
  r.processes[0].tables.modules[0].path = r.processes[0].tables.modules[1].owner = bad;
  r.processes[0].tables.holders[1].stack.frames[0].file = bad;
  r.processes[0].tables.memory_kinds[0].peak_bytes = UINT64_MAX;
  r.processes[0].ended = {Ending::How::kSignalled, 0, 999};
  r.findings[0].message = r.findings[0].advice = bad;
  r.findings[0].api = bad;
  r.findings[0].bytes = r.findings[0].count = UINT64_MAX;
  r.findings[0].address = UINT64_MAX;
  r.findings[0].stacks[0].label = bad;
  r.findings[0].stacks[0].frames[0].function = bad;
  r.findings[0].stacks[0].frames[0].file = bad;
  r.findings[0].stacks[0].frames[0].module = bad;
  r.findings[0].range = r.findings[0].owner = bad;
  r.findings[0].stacks[1].frames[0].file = "/src/" + bad + "](x)|`\r@all";
  r.findings[1].message = "</td></tr>](http://example.com) | `a` @all #1 ``` *x* [y](z)";
  r.findings[1].stacks[0].frames[0].function = "main(";
  r.findings[1].process = 99;
  CallStack held;
  held.frames = {frame(bad + ";x 7\n", "", 0), frame("", "", 0)};
  r.processes[0].stacks = {{held, 1, 4096, 4096, 0}};
  r.findings.push_back(out_of_memory());
  r.findings[3].held->modules[0].path = r.findings[3].held->pools[0].name = bad;
  r.remarks = {bad};
  r.not_checked = {{bad, bad}};
  return r;
}

// Each with a leak from one stack; all end well.
inline Report ranks(std::size_t count) {
  Report report = test::clean();
  report.processes.clear();
  for (std::size_t i = 0; i < count; ++i) {
    ProcessReport process = test::process(static_cast<std::uint32_t>(4711 + 2 * i));
    process.rank = static_cast<std::uint32_t>(i);
    report.processes.push_back(process);
    ReportedFinding leak = test::leak();
    leak.process = i;
    report.findings.push_back(leak);
  }
  set_fingerprints(report.findings);
  return report;
}

} // namespace gmt::test
