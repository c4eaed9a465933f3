// SPDX-License-Identifier: Apache-2.0
// Special registers. Time is virtual: see simulated_cuda/executor/machine/workers/virtual_time.h.
#include "simulated_cuda/executor/machine/special.h"

#include "simulated_cuda/executor/executor.h"
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/device_launches.h"
#include "simulated_cuda/executor/machine/workers/worker.h"

namespace gmt::executor {
namespace {

using ptx::SpecialRegister;

std::uint64_t cycles(const Warp& w) { return w.worker->time.read() + w.worker->instructions; }

std::uint64_t nanoseconds(const Warp& w) {
  const std::uint64_t* begin = w.grid->launch->nanoseconds;
  return (begin == nullptr ? 0 : *begin) + w.worker->run->time().at_least(cycles(w));
}

std::uint64_t value_of(const Warp& w, SpecialRegister which) {
  const Grid& grid = *w.grid;
  const Block& block = *w.block;
  const std::uint32_t multiprocessors = std::max(grid.launch->device.multiprocessors, 1u);
  switch (which) {
  case SpecialRegister::kNtidX: return grid.block_extent[0];
  case SpecialRegister::kNtidY: return grid.block_extent[1];
  case SpecialRegister::kNtidZ: return grid.block_extent[2];
  case SpecialRegister::kCtaidX: return block.id[0];
  case SpecialRegister::kCtaidY: return block.id[1];
  case SpecialRegister::kCtaidZ: return block.id[2];
  case SpecialRegister::kNctaidX: return grid.extent[0];
  case SpecialRegister::kNctaidY: return grid.extent[1];
  case SpecialRegister::kNctaidZ: return grid.extent[2];
  case SpecialRegister::kClusteridX: return block.id[0] / grid.cluster_extent[0];
  case SpecialRegister::kClusteridY: return block.id[1] / grid.cluster_extent[1];
  case SpecialRegister::kClusteridZ: return block.id[2] / grid.cluster_extent[2];
  case SpecialRegister::kNclusteridX: return grid.extent[0] / grid.cluster_extent[0];
  case SpecialRegister::kNclusteridY: return grid.extent[1] / grid.cluster_extent[1];
  case SpecialRegister::kNclusteridZ: return grid.extent[2] / grid.cluster_extent[2];
  case SpecialRegister::kClusterCtaidX: return block.id[0] % grid.cluster_extent[0];
  case SpecialRegister::kClusterCtaidY: return block.id[1] % grid.cluster_extent[1];
  case SpecialRegister::kClusterCtaidZ: return block.id[2] % grid.cluster_extent[2];
  case SpecialRegister::kClusterNctaidX: return grid.cluster_extent[0];
  case SpecialRegister::kClusterNctaidY: return grid.cluster_extent[1];
  case SpecialRegister::kClusterNctaidZ: return grid.cluster_extent[2];
  case SpecialRegister::kClusterCtarank: return block.rank;
  case SpecialRegister::kClusterNctarank: return grid.cluster_blocks;
  case SpecialRegister::kIsExplicitCluster: return grid.has_clusters ? 1 : 0;
  case SpecialRegister::kWarpid: return w.id;
  case SpecialRegister::kNwarpid: return 64;
  case SpecialRegister::kSmid: return block.number % multiprocessors;
  case SpecialRegister::kNsmid: return multiprocessors;
  case SpecialRegister::kGridid: return grid.launch->grid_id;
  case SpecialRegister::kCurrentGraphExec:
    return grid.launch->launches != nullptr ? grid.launch->launches->current_graph : 0;
  case SpecialRegister::kClock:
  case SpecialRegister::kClock64: return cycles(w);
  case SpecialRegister::kClockHi: return cycles(w) >> 32;
  case SpecialRegister::kGlobaltimer:
  case SpecialRegister::kGlobaltimerLo: return nanoseconds(w);
  case SpecialRegister::kGlobaltimerHi: return nanoseconds(w) >> 32;
  case SpecialRegister::kTotalSmemSize: return grid.shared_bytes;
  case SpecialRegister::kAggrSmemSize: return grid.shared_bytes + 1024; // the system's own
  case SpecialRegister::kDynamicSmemSize: return grid.launch->dynamic_shared_bytes;
  case SpecialRegister::kReservedSmemOffsetBegin:
  case SpecialRegister::kReservedSmemOffset0: return grid.program->reserved_shared;
  case SpecialRegister::kReservedSmemOffset1:
    return grid.program->reserved_shared + kReservedSharedPart;
  case SpecialRegister::kReservedSmemOffsetEnd:
  case SpecialRegister::kReservedSmemOffsetCap:
    return grid.program->reserved_shared + kReservedSharedBytes;
  case SpecialRegister::kEnvreg1: return grid.workspace >> 32;
  case SpecialRegister::kEnvreg2: return grid.workspace & 0xffffffffu;
  default: return 0;
  }
}

} // namespace

bool read_special(Warp& w, std::uint32_t which, std::uint64_t* same, std::uint64_t* lanes) {
  const auto special = static_cast<SpecialRegister>(which);
  const auto fill = [&](auto value_of_lane) {
    for (std::uint32_t l = 0; l < kLanes; ++l) lanes[l] = value_of_lane(l);
    return false;
  };
  const auto bit = [](std::uint32_t l) { return std::uint64_t{1} << l; };
  const auto thread = [&](int axis) {
    return fill([of = w.thread[axis]](std::uint32_t l) { return of[l]; });
  };
  switch (special) {
  case SpecialRegister::kTidX: return thread(0);
  case SpecialRegister::kTidY: return thread(1);
  case SpecialRegister::kTidZ: return thread(2);
  case SpecialRegister::kLaneid: return fill([](std::uint32_t l) { return l; });
  case SpecialRegister::kLanemaskEq: return fill(bit);
  case SpecialRegister::kLanemaskLt: return fill([&](std::uint32_t l) { return bit(l) - 1; });
  case SpecialRegister::kLanemaskLe: return fill([&](std::uint32_t l) { return 2 * bit(l) - 1; });
  case SpecialRegister::kLanemaskGt:
    return fill([&](std::uint32_t l) { return 0xffffffffu & ~(2 * bit(l) - 1); });
  case SpecialRegister::kLanemaskGe:
    return fill([&](std::uint32_t l) { return 0xffffffffu & ~(bit(l) - 1); });
  default: *same = value_of(w, special); return true;
  }
}

void sleep_for(Warp& w, std::uint32_t nanoseconds) { w.worker->time.sleep(nanoseconds); }

} // namespace gmt::executor
