// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/execution/used_memory.h"

#include "simulated_cuda/driver/state/observer.h"
#include "simulated_cuda/driver/state/state.h"
#include "simulated_cuda/driver/streams/graph_position.h"
#include "simulated_cuda/driver/streams/late_bytes.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gmt::sim {
namespace {

using AllRows = std::vector<trace::ExecutionRows>;

// Of a node that is a copy, one side. False: these are not all rows.
bool add(AllRows& rows, const std::vector<CopyRow>& copied, bool is_read) {
  if (copied.empty()) return true;
  trace::ExecutionRows used{.address = copied[0].address, .width = copied[0].bytes};
  used.is_read = is_read ? 1 : 0;
  used.is_written = is_read ? 0 : 1;
  if (copied.size() > 1) used.pitch = copied[1].address - copied[0].address;
  // Slices may be no rows of one pitch.
  while (used.count < copied.size() &&
         copied[used.count].address == used.address + used.count * used.pitch)
    ++used.count;
  rows.push_back(used);
  return used.count == copied.size();
}

void add_block(AllRows& rows, CUdeviceptr address, std::size_t bytes, trace::ExecutionLife life) {
  rows.push_back({.address = address, .width = bytes, .is_written = 1, .life = life});
}

bool is_observed() {
  const trace::ExecutionObserver* observer = execution_observer();
  constexpr std::size_t kNeeded =
    offsetof(trace::ExecutionObserver, accesses) + sizeof observer->accesses;
  return observer != nullptr && observer->size >= kNeeded && observer->accesses != nullptr;
}

// `said` is whole but for the rows and the place in a graph.
void say(trace::ExecutionAccesses said, const AllRows& rows) {
  said.size = sizeof said;
  if (const GraphPosition& position = graph_position(); position.is_in_launch) {
    said.index = position.index;
    said.before = position.before;
  }
  said.rows = rows.data();
  said.row_count = static_cast<std::uint32_t>(rows.size());
  execution_observer()->accesses(&said);
}

} // namespace

GraphPosition& graph_position() {
  static thread_local GraphPosition position; // a launch may sleep without the lock
  return position;
}

void observe_accesses(const trace::ExecutionLaunch& launch, const executor::Accesses& accesses) {
  if (!is_observed()) return;
  AllRows rows;
  for (const executor::UsedRows& each : accesses.rows)
    rows.push_back({.address = each.address,
                    .width = each.width,
                    .pitch = each.pitch,
                    .count = each.count,
                    .is_read = each.is_read ? 1u : 0u,
                    .is_written = each.is_written ? 1u : 0u,
                    .is_strong = each.is_strong ? 1u : 0u});
  trace::ExecutionAccesses said{};
  said.is_whole = accesses.is_whole ? 1 : 0;
  said.launch = launch;
  said.may_wait = accesses.may_wait ? 1 : 0;
  say(said, rows);
}

void observe_node(const Operation& operation, const Stream& stream) {
  if (!is_observed()) return;
  AllRows rows;
  bool is_whole = true;
  if (const auto* copy = std::get_if<CUDA_MEMCPY3D>(&operation)) {
    is_whole = add(rows, source_rows(*copy), true);
    is_whole &= add(rows, destination_rows(*copy), false);
  } else if (const auto* set = std::get_if<CUDA_MEMSET_NODE_PARAMS>(&operation)) {
    trace::ExecutionRows used{.address = set->dst, .width = set->width * set->elementSize};
    used.pitch = set->pitch;
    used.count = set->height;
    used.is_written = 1;
    if (used.width != 0 && used.count != 0) rows.push_back(used);
  } else if (const auto* alloc = std::get_if<AllocOperation>(&operation)) {
    add_block(rows, alloc->params.dptr, alloc->params.bytesize, trace::ExecutionLife::kAllocated);
  } else if (const auto* release = std::get_if<FreeOperation>(&operation)) {
    if (const Block* block = state().blocks.at_base(release->address); block != nullptr)
      add_block(rows, block->base, block->size, trace::ExecutionLife::kFreed);
  }
  if (rows.empty()) return;
  trace::ExecutionAccesses said{};
  said.is_whole = is_whole ? 1 : 0;
  said.launch.call = observed_call();
  said.launch.context = reinterpret_cast<std::uint64_t>(stream.context);
  said.launch.stream = stream.is_legacy ? 0 : reinterpret_cast<std::uint64_t>(&stream);
  say(said, rows);
}

} // namespace gmt::sim
