// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/peers.h"

#include <map>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/launches.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/replacements.h"
#include "interposer/kernel_checks/library/tables.h"

namespace gmt::interposer::kernel_checks {

namespace {

// Whether the first device reaches memory of the second one now; none: it never did. Whether each
// context of it does is not asked.
constinit Lasting<std::map<std::pair<CUdevice, CUdevice>, bool>> peers; // with the lock

bool reaches(CUdevice device, CUdevice other, bool at_any_time) noexcept {
  const Locked lock;
  const auto found = (*peers).find({device, other});
  return found != (*peers).end() && (found->second || at_any_time);
}

// Of pools, nothing of ours can be in the order of another device's streams.
bool may_use(const Table& table, const Kept& kept, bool at_any_time) noexcept {
  const Table& own = table_at(kept.table);
  return kept.is_in_table && !kept.is_ordered && !table.shares_memory_with(own) &&
         (kept.is_hosts || reaches(table.device(), own.device(), at_any_time));
}

bool may_run_on(CUdevice device) noexcept {
  bool may = false;
  for_each_table([&](const Table& one) { may |= one.device() == device && may_run(one.index()); });
  return may;
}

void write(Table& table, const Kept& kept, Entries entries) noexcept {
  const rewriter::Block& block = kept.block;
  const Work work(table.context());
  if (!work.ready() || !table.covers(block.begin, block.end)) return;
  if (entries == Entries::kFreed && may_run_on(table.device())) entries = Entries::kUnknown;
  const bool is_written = (entries == Entries::kLive && table.write_block(block, kept.slot)) ||
                          (entries == Entries::kFreed && table.write_freed(block));
  if (!is_written) table.write_unknown(block);
}

// Whether the current context's device reaches another one's from now on.
void set_reaches(CUcontext other, bool now) noexcept {
  CUdevice device = -1, of_other = -1;
  if (driver.device(&device) != 0) return;
  {
    const Work work(other);
    if (!work.ready() || driver.device(&of_other) != 0) return;
  }
  if (device == of_other) return;
  {
    const Locked lock;
    bool& before = (*peers)[{device, of_other}];
    if (std::exchange(before, now) == now) return;
  }
  const Entries entries = now ? Entries::kLive : Entries::kUnknown;
  const std::vector<Kept> live = live_blocks();
  for_each_memory([&](Table& one) {
    for (const Kept& kept : live) {
      const bool is_peers = kept.is_in_table && !kept.is_ordered && !kept.is_hosts &&
                            table_at(kept.table).device() == of_other;
      if (is_peers && one.device() == device) write(one, kept, entries);
    }
  });
}

CUresult enable(CUcontext other, unsigned flags) noexcept {
  const int result = own<"cuCtxEnablePeerAccess", CUcontext, unsigned>(other, flags);
  if (result == CUDA_SUCCESS) set_reaches(other, true);
  return static_cast<CUresult>(result);
}

CUresult disable(CUcontext other) noexcept {
  const int result = own<"cuCtxDisablePeerAccess", CUcontext>(other);
  if (result == CUDA_SUCCESS) set_reaches(other, false);
  return static_cast<CUresult>(result);
}

} // namespace

void write_elsewhere(const Kept& kept, Entries entries) noexcept {
  for_each_memory([&](Table& one) {
    if (may_use(one, kept, entries == Entries::kUnknown)) write(one, kept, entries);
  });
}

void share_blocks_with(const Table& table) noexcept {
  for_each_memory([&](Table& one) {
    if (!one.shares_memory_with(table)) return;
    for (const Kept& kept : live_blocks()) {
      if (may_use(one, kept, false)) write(one, kept, Entries::kLive);
    }
  });
}

void replace_peers() noexcept {
  replace("cuCtxEnablePeerAccess", reinterpret_cast<void*>(&enable));
  replace("cuCtxDisablePeerAccess", reinterpret_cast<void*>(&disable));
}

void abandon_peers() noexcept { peers.begin_anew(); }

} // namespace gmt::interposer::kernel_checks
