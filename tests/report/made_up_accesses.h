// SPDX-License-Identifier: Apache-2.0
// Reports made by hand on accesses of memory inside kernels: findings, tables, counters.
#pragma once

#include <string>
#include <vector>

#include "tests/report/made_up_reports.h"

namespace gmt::test {

inline AccessFigures access(AccessedMemory memory, AccessOperation operation) {
  return {.memory = memory,
          .kernel = "step(float*)",
          .function = "load(float*)",
          .file = "/src/step.cu",
          .line = 12,
          .offset = 0x120,
          .operation = operation,
          .width = 4,
          .executions = 3 << 10,
          .thread_executions = 3 << 15,
          .actual = 32 * (3 << 10),
          .ideal = 4 * (3 << 10),
          .launches = 16353,
          .measured = 12,
          .wasted_bytes = 3'750'985'728,
          .share = 0.778,
          .cause = "far-apart",
          .brief = "stride of 8 or more"};
}

inline ReportedFinding uncoalesced() {
  ReportedFinding f;
  f.kind = "uncoalesced";
  f.severity = Severity::kWarning;
  f.message =
    "4-byte loads in step at step.cu:12 move 8.0 times the sectors that their data fills.";
  f.advice = "Let threadIdx.x count along the dimension that is contiguous in memory.";
  f.access = access(AccessedMemory::kGlobal, AccessOperation::kLoad);
  f.bytes = f.access->wasted_bytes;
  LabelledStack accessed = stack("accessed here", "", {});
  accessed.frames.resize(2);
  accessed.frames[0] = {.address = 0,
                        .function = "load(float*)",
                        .file = "/src/step.cu",
                        .line = 12,
                        .module = {},
                        .inlined = true};
  accessed.frames[1] = {
    .address = 0, .function = "step(float*)", .file = "/src/step.cu", .line = 40, .module = {}};
  accessed.device = {.kernel = "step(float*)"};
  f.stacks = {accessed, stack("first launched here", "cudaLaunchKernel",
                              {frame("main", "/src/train.cu", 7)})};
  return f;
}

// Every shape of a row: with and without lines, cause and width; a device function; no global
// memory at all.
inline Report with_accesses() {
  Report r = clean();
  ReportedFinding spill = uncoalesced();
  spill.kind = "local-spill";
  spill.severity = Severity::kNote;
  spill.access = access(AccessedMemory::kLocal, AccessOperation::kUnknown);
  spill.access->ideal = spill.access->width = 0;
  spill.access->cause.clear();
  r.findings = {uncoalesced(), spill};
  AccessFigures bare = access(AccessedMemory::kGlobal, AccessOperation::kUnknown);
  bare.file.clear();
  bare.function.clear();
  bare.line = bare.width = 0;
  bare.cause.clear();
  bare.brief.clear();
  bare.is_kernel = false;
  bare.kernel = "void gather<float, Stride<32u> >(float const*, int const*)";
  bare.wasted_bytes = 1 << 20;
  bare.share = 0.0002;
  const KernelCounters counters{.launches = 5,
                                .read_bytes = {450'000'000, 3},
                                .written_bytes = {30'000'000, 3},
                                .l1_sectors = {1000, 3},
                                .l1_hits = {250, 3},
                                .l2_sectors = {6000, 3},
                                .l2_hits = {3600, 2},
                                .loads = {100, 3},
                                .load_sectors = {3200, 3},
                                .stores = {0, 3},
                                .store_sectors = {0, 3},
                                .nanoseconds = {240'000, 3},
                                .possible_bytes = {768'000'000, 3}};
  r.processes[0].accesses = AccessTables{
    .lines = {access(AccessedMemory::kGlobal, AccessOperation::kLoad), bare},
    .kernels = {{"step(float*)", true, 16353, 12, 6144, 110'592, 86'016, 3'750'985'728, counters},
                {"void gather<float, Stride<32u> >(float const*, int const*)",
                 false,
                 0,
                 0,
                 3072,
                 98'304,
                 86'016,
                 1 << 20,
                 {}},
                {"void gather<double, Stride<32u> >(double const*, int const*)",
                 true,
                 1,
                 1,
                 0,
                 0,
                 0,
                 0,
                 {}}},
    .moved_bytes = 4'821'000'000,
    .wasted_bytes = 3'752'034'304,
    .launches = 16'354,
    .measured = 13,
    .put_off = 1'204};
  return r;
}

} // namespace gmt::test
