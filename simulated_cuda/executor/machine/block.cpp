// SPDX-License-Identifier: Apache-2.0
// A block from its start to its end: its warps in turn, each until it waits or has had its share.
#include "simulated_cuda/executor/machine/block.h"

#include "simulated_cuda/executor/executor.h"
#include "simulated_cuda/executor/machine/async_copies.h"
#include "simulated_cuda/executor/machine/cluster.h"
#include "simulated_cuda/executor/machine/grid_ordering.h"
#include "simulated_cuda/executor/machine/report_sink.h"
#include "simulated_cuda/executor/machine/unread_races.h"
#include "simulated_cuda/executor/machine/workers/stillness.h"
#include "simulated_cuda/executor/machine/workers/worker.h"

#include <algorithm>
#include <cstring>

namespace gmt::executor {
namespace {

constexpr std::int32_t kTurnAfterFault = 64; // backward branches

void run_warp(Warp& w) {
  const Instruction* in = w.at;
  w.at = nullptr;
  if (w.worker->stillness != nullptr) return w.worker->stillness->run_warp(w, in);
  std::uint64_t instructions = 0, lanes = 0;
  while (in != nullptr) {
    instructions += in->shown;
    lanes += in->shown != 0 ? w.active : 0;
    in = in->go(w, in);
  }
  w.worker->instructions += instructions;
  w.worker->lane_instructions += lanes;
}

} // namespace

Extent position_of(const Extent& grid, const Extent& cluster, std::uint64_t number) {
  const std::uint64_t rank = number % cluster.count();
  std::uint64_t which = number / cluster.count();
  const auto clusters_x = grid.x / cluster.x, clusters_y = grid.y / cluster.y;
  Extent position;
  position.x = static_cast<std::uint32_t>(which % clusters_x * cluster.x + rank % cluster.x);
  which /= clusters_x;
  position.y =
    static_cast<std::uint32_t>(which % clusters_y * cluster.y + rank / cluster.x % cluster.y);
  position.z =
    static_cast<std::uint32_t>(which / clusters_y * cluster.z + rank / cluster.x / cluster.y);
  return position;
}

Block::Block() = default;
Block::~Block() = default;

void Block::set_global_clock() {
  if (global.launch != 0) grid->ordering->advance(*this);
}

void Block::release(const Warp& w) { FlagWords::others(w).release(w); }

void Block::acquire() {
  if (global.launch != 0) grid->ordering->acquire_all(*this);
}

void Block::advance_clock() {
  if (++clock < race::kMostClock) return set_global_clock();
  global = {}; // its clocks could no longer be compared
  UnreadRaces::forget(*this);
  std::fill(race_storage.begin(), race_storage.end(), 0);
  clock = 1;
  last_barrier = cluster_clock = 1;
  for (const auto& warp : warps) warp->last_sync = 0;
  for (Barrier& barrier : barriers) std::ranges::fill(barrier.order.row, 0u);
  order.reset();
}

void Block::prepare(Worker& runs) {
  worker = &runs;
  grid = runs.grid;
  const Grid& of = *grid;
  threads = of.threads;
  shared_bytes = of.shared_bytes;
  shared_bytes_storage.resize(shared_bytes + 64);
  shadow_storage.resize(shared_bytes / 4 + 64);
  shared = shared_bytes_storage.data();
  shared_shadow = shadow_storage.data();
  race_shift = 2;
  if (of.program->shared_granule == 2) race_shift = 1;
  if (of.program->shared_granule == 1) race_shift = 0;
  is_ordered = of.check_races;
  if (of.check_races && shared_bytes != 0) {
    const std::size_t entries = (std::size_t{shared_bytes} >> race_shift) + 64;
    race_storage.resize(entries);
    site_storage.resize(2 * entries);
    races = race_storage.data();
    store_sites = site_storage.data();
    load_sites = store_sites + entries;
  }
  for (std::uint32_t i = 0; i < of.warps; ++i) {
    auto warp = std::make_unique<Warp>();
    warp->id = i;
    warp->block = this;
    warp->grid = grid;
    warp->program = of.program;
    warp->is_tracked = of.program->is_tracked;
    warp->worker = worker;
    warp->base[1] = of.constants;
    warp->region = of.first_region;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      const std::uint32_t thread = i * kLanes + lane;
      warp->thread[0][lane] = thread % of.block_extent[0];
      warp->thread[1][lane] = thread / of.block_extent[0] % of.block_extent[1];
      warp->thread[2][lane] = thread / of.block_extent[0] / of.block_extent[1];
    }
    const Code& kernel = *of.program->functions[0];
    warp->first_frame = warp->new_frame(kernel);
    warp->first_frame->local_end = kernel.local_bytes;
    warp->reserve_local(kernel.local_bytes);
    turns.push_back(warp.get());
    warps.push_back(std::move(warp));
  }
}

void Block::start(std::uint64_t which) {
  number = which;
  const Extent position = position_of(grid->launch->grid, grid->launch->cluster, which);
  id[0] = position.x;
  id[1] = position.y;
  id[2] = position.z;
  if (grid->seed != 0) {
    random = Random(grid->seed, which + 1);
    std::ranges::transform(warps, turns.begin(), [](const auto& warp) { return warp.get(); });
  }
  alive = threads;
  gpu_error = 0;
  faults = instructions_after = 0;
  done = has_ended_grid = is_left_out = spinning = false;
  passed_without_all = nullptr;
  std::fill(std::begin(barriers), std::end(barriers), Barrier{});
  if (shared_bytes != 0) {
    std::memcpy(shared_shadow, grid->shared_pattern.data(), grid->shared_pattern.size());
    std::memset(shared, 0, shared_bytes); // what an earlier block left must change nothing
  }
  global = {};
  UnreadRaces::forget(*this);
  if (is_ordered) {
    barrier_of_all();
    cluster_clock = clock;
    order.start();
  }
  known = 0;
  has_device_fence = false;
  if (copies) copies->start();
  if (grid->ordering != nullptr) grid->ordering->start(*this);
  for (const auto& warp : warps) {
    warp->device_fence = 0;
    const std::uint32_t left = threads - warp->id * kLanes;
    warp->start(warp->first_frame, left >= kLanes ? ~0u : (1u << left) - 1);
  }
}

bool Block::run() {
  bool ran = false;
  spinning = false;
  if (grid->seed != 0 && number < grid->launch->mixed_blocks) random.shuffle(turns);
  for (Warp* warp : turns) {
    if (warp->alive == 0) continue;
    if (warp->at == nullptr) {
      if (warp->ready.empty()) continue;
      warp->at = warp->next_fragment();
      if (warp->at == nullptr) continue;
    }
    warp->spinning = false;
    if (gpu_error != 0) warp->budget = std::min(warp->budget, kTurnAfterFault);
    const auto branches = static_cast<std::uint32_t>(std::max(warp->budget, 0));
    run_warp(*warp);
    worker->time.end_turn(warp->spinning, branches);
    spinning |= warp->spinning;
    ran = true;
    if (has_ended_grid) break;
  }
  done = alive == 0 || has_ended_grid;
  if (done && copies && !has_ended_grid) copies->finish_all();
  return ran;
}

// No warp can go on. First those that wait for lanes of their own warp are let go; else the block
// is over.
void Block::stuck() {
  for (const auto& warp : warps) {
    if (warp->alive != 0 && warp->force_waiting()) return;
  }
  report_stuck();
  for (const auto& warp : warps) warp->stop();
  alive = 0;
  done = true;
}

void Block::end_faulted() {
  has_ended_grid = true;
  for (const auto& warp : warps) warp->stop();
  worker->run->end_at(number, {});
  done = true;
}

AccessFacts Block::standing() const {
  AccessFacts facts;
  for (const auto& warp : warps) {
    if (warp->alive == 0) continue;
    Fragment fragment;
    if (!warp->ready.empty()) fragment = warp->ready.front();
    else if (!warp->waiting.empty()) fragment = warp->waiting.front();
    if (warp->at != nullptr) {
      fragment.at = warp->at;
      fragment.mask = warp->mask;
      fragment.frame = warp->frame;
    }
    if (fragment.at == nullptr || fragment.mask == 0) continue;
    facts.warp = warp.get();
    facts.in = fragment.at;
    facts.code = fragment.frame->code;
    facts.lane = static_cast<std::uint32_t>(__builtin_ctz(fragment.mask));
    break;
  }
  return facts;
}

// One report for each instruction at which threads wait; the other side is a thread at another one.
void Block::report_stuck() {
  struct Waiting {
    const Warp* warp;
    const Fragment* fragment;
  };
  std::vector<Waiting> all;
  for (const auto& warp : warps) {
    for (const Fragment& fragment : warp->waiting) all.push_back({warp.get(), &fragment});
  }
  if (all.empty()) worker->run->halt("threads of it were lost, a mistake of the simulated device");
  for (const Waiting& each : all) {
    OtherThread other;
    for (const Waiting& there : all) {
      if (there.fragment->at == each.fragment->at) continue;
      other.code = there.fragment->frame->code;
      other.in = there.fragment->at;
      other.thread =
        there.warp->id * kLanes + static_cast<std::uint32_t>(__builtin_ctz(there.fragment->mask));
      break;
    }
    AccessFacts facts;
    facts.warp = each.warp;
    facts.in = each.fragment->at;
    facts.code = each.fragment->frame->code;
    facts.lane = static_cast<std::uint32_t>(__builtin_ctz(each.fragment->mask));
    worker->checks->never_meet(facts, other, true);
  }
}

} // namespace gmt::executor
