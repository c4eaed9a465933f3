// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/mapped_runs.h"

#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/library/blocks.h"
#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/tables.h"

namespace gmt::interposer::kernel_checks {
namespace {

struct Run {
  rewriter::Block block;
  std::uint32_t slot = kNoSlot; // such a run stays unknown memory
};
using Runs = std::map<std::uint64_t, Run>; // by begin
constinit Lasting<Runs> all_runs;          // with the lock

// A part of a run, in the context of the table.
void write_part(Table& table, const Run& run, const rewriter::Block& part) noexcept {
  if (run.slot != kNoSlot && table.covers(run.block.begin, run.block.end))
    table.write_run(run.block, part, run.slot);
}

void write_in_each(const Run& run, const rewriter::Block& part) noexcept {
  for_each_memory([&](Table& one) {
    const Work work(one.context());
    if (work.ready()) write_part(one, run, part);
  });
}

// With the lock. Takes away what of a run meets these addresses, and says what is left of it.
struct Cut {
  Run whole;
  std::vector<Run> left;
};
std::vector<Cut> cut_runs(std::uint64_t begin, std::uint64_t end, std::uint32_t& spare_slot) {
  std::vector<Cut> cuts;
  Runs& all = *all_runs;
  auto at = all.upper_bound(begin);
  if (at != all.begin()) --at;
  while (at != all.end() && at->first < end) {
    if (at->second.block.end <= begin) {
      ++at;
      continue;
    }
    Cut cut{at->second, {}};
    const rewriter::Block& block = cut.whole.block;
    if (block.begin < begin) cut.left.push_back({{block.begin, begin}, cut.whole.slot});
    if (block.end > end) {
      const bool has_two = !cut.left.empty();
      cut.left.push_back(
        {{end, block.end}, has_two ? std::exchange(spare_slot, kNoSlot) : cut.whole.slot});
    }
    at = all.erase(at);
    cuts.push_back(std::move(cut));
  }
  for (const Cut& cut : cuts) {
    for (const Run& run : cut.left) all[run.block.begin] = run;
  }
  return cuts;
}

} // namespace

// A piece goes on behind a run, or is a new one. What lies behind the piece stays a run of its own.
void add_to_runs(std::uint64_t begin, std::uint64_t end) noexcept {
  if (begin % kGranule != 0 || end % kGranule != 0 || begin >= end) return;
  Run run{{begin, end}, take_slot()};
  std::uint32_t not_needed = kNoSlot;
  {
    const Locked lock;
    Runs& all = *all_runs;
    const auto behind = all.lower_bound(begin);
    if (behind != all.begin() && std::prev(behind)->second.block.end == begin) {
      not_needed = std::exchange(run.slot, std::prev(behind)->second.slot);
      run.block.begin = std::prev(behind)->first;
    }
    all[run.block.begin] = run;
  }
  give_slot(not_needed);
  write_in_each(run, {begin, end});
}

void take_from_runs(std::uint64_t begin, std::uint64_t end) noexcept {
  std::uint32_t spare = take_slot(); // of a run of which both ends are left
  std::vector<Cut> cuts;
  {
    const Locked lock;
    cuts = cut_runs(begin, end, spare);
  }
  give_slot(spare);
  for (const Cut& cut : cuts) {
    if (cut.left.empty()) give_slot(cut.whole.slot);
    for (const Run& run : cut.left) {
      // With the slot that it had its entries stay, but for the last, which has no name.
      const bool is_named = run.slot == cut.whole.slot;
      write_in_each(run, {is_named ? run.block.end - kGranule : run.block.begin, run.block.end});
    }
  }
}

void write_runs(Table& table) noexcept {
  Runs all;
  {
    const Locked lock;
    all = *all_runs;
  }
  for (const auto& [begin, run] : all) write_part(table, run, run.block);
}

void abandon_runs() noexcept { all_runs.begin_anew(); }

} // namespace gmt::interposer::kernel_checks
