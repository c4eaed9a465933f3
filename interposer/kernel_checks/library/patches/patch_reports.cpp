// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/patches/patch_reports.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/library/choice.h"
#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/patches/control_memory.h"
#include "interposer/kernel_checks/library/patches/patches.h"
#include "interposer/kernel_checks/library/patches/sanitizer.h"
#include "interposer/kernel_checks/library/report_words.h"

namespace gmt::interposer::kernel_checks {

namespace {

// What was reported of a counter: how many, and the launch and record that later ones belong to.
struct ReportedSite {
  std::uint64_t count = 0;
  PatchRecord last;
};
struct Fetched {
  std::uint32_t records = 0;
  std::map<std::uint32_t, ReportedSite> sites;
};
constinit Lasting<Fetched> all_fetched;

std::vector<PatchRecord> new_records(Fetched& fetched) {
  std::vector<PatchRecord> found;
  PatchRecord* records = patch_records();
  for (; fetched.records < kPatchRecords; ++fetched.records) {
    PatchRecord& record = records[fetched.records];
    if (std::atomic_ref(record.is_whole).load(std::memory_order_acquire) == 0) break;
    found.push_back(record);
  }
  return found;
}

// The launch that gave its patches these bytes of an address.
Launch launch_of(const PatchRecord& record) noexcept {
  const std::uint64_t latest = newest_launch();
  const std::uint64_t step = record.data % kDataBytes / kDataStep;
  const std::uint64_t number = latest - (latest - step) % kDataNumbers;
  Launch launch;
  return find_launch(number, &launch) ? launch : Launch{};
}

trace::ExecutionAccess access_of(const PatchRecord& record) noexcept {
  switch (record.flags & (kPatchReads | kPatchWrites)) {
  case kPatchReads: return trace::ExecutionAccess::kLoad;
  case kPatchWrites: return trace::ExecutionAccess::kStore;
  case kPatchReads | kPatchWrites: return trace::ExecutionAccess::kAtomic;
  default: return trace::ExecutionAccess::kUnknown;
  }
}

std::string location_in(const PatchedFunction& function, std::uint64_t pc) {
  char text[64];
  std::snprintf(text, sizeof text, "machine code at 0x%llx",
                static_cast<unsigned long long>(pc - function.pc));
  return text;
}

void report(const PatchRecord& record, std::uint64_t count) {
  const PatchedFunction function = patched_function_at(record.pc);
  if (!function.name.empty() && !is_chosen(function.name)) return; // a graph's
  const Launch launch = launch_of(record);
  const std::string location = location_in(function, record.pc);
  trace::ExecutionFault fault{};
  fault.size = sizeof fault;
  fault.kind = is_of_freed(record.entry, record.address) ? trace::ExecutionReport::kUseAfterFree
                                                         : trace::ExecutionReport::kOutOfBounds;
  describe_launch(fault.launch, launch);
  if (fault.launch.kernel == nullptr) fault.launch.kernel = function.name.c_str();
  fault.location.has_thread = 1;
  fault.location.instruction = location.c_str();
  fault.location.function = function.name.empty() ? fault.launch.kernel : function.name.c_str();
  std::ranges::copy(record.block, fault.location.block);
  std::ranges::copy(record.thread, fault.location.thread);
  fault.address = record.address;
  fault.has_address = 1;
  fault.bytes = record.bytes;
  fault.space = trace::ExecutionSpace::kGlobal;
  fault.access = access_of(record);
  fault.count = count;
  core->found(&fault);
}

// One fault for each instruction and launch.
struct Accesses {
  PatchRecord first;
  std::uint64_t count = 0;
};
using Groups = std::map<std::pair<std::uint64_t, std::uint32_t>, Accesses>; // by pc and launch

Groups groups_of(const std::vector<PatchRecord>& records) {
  Groups groups;
  for (const PatchRecord& record : records) {
    Accesses& accesses = groups[{record.pc, record.data}];
    if (accesses.count++ == 0 || is_before(record, accesses.first)) accesses.first = record;
  }
  return groups;
}

// Of a counter only the first mistakes have records; the others belong to the last launch known.
void add_others(Fetched& fetched, Groups& groups) {
  const std::size_t at = offsetof(PatchControl, counts);
  std::vector<std::uint64_t> counts(kPatchCounts);
  const CUstream stream = first_table().stream();
  const bool is_there = driver.fetch(counts.data(), patch_control() + at,
                                     counts.size() * sizeof counts[0], stream) == 0 &&
                        driver.wait_for_stream(stream) == 0;
  if (!is_there) return; // the device has stopped at a fault
  for (auto& [site, reported] : fetched.sites) {
    const std::uint64_t others = counts[site] - std::min(counts[site], reported.count);
    if (others == 0) continue;
    const PatchRecord& last = reported.last;
    Accesses& accesses = groups[{last.pc, last.data}];
    if (accesses.count == 0) accesses.first = last;
    accesses.count += others;
    reported.count += others;
  }
}

void fetch() {
  Fetched& fetched = *all_fetched;
  Groups groups = groups_of(new_records(fetched));
  for (const auto& [key, accesses] : groups) {
    ReportedSite& reported = fetched.sites[site_of(accesses.first.pc)];
    reported.count += accesses.count;
    reported.last = accesses.first;
  }
  if (fetched.sites.empty()) return;
  add_others(fetched, groups);
  for (const auto& [key, accesses] : groups) report(accesses.first, accesses.count);
}

} // namespace

void fetch_patch_reports() noexcept {
  if (patch_control() != 0) fetch();
}

void forget_patch_reports() noexcept { all_fetched.begin_anew(); }

} // namespace gmt::interposer::kernel_checks
