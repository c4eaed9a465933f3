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

// Of a node that is a copy, one side.
void add(executor::Accesses& accesses, const std::vector<CopyRow>& rows, bool is_read) {
  if (rows.empty()) return;
  executor::UsedRows used{.address = rows.front().address, .width = rows.front().bytes};
  used.is_read = is_read;
  used.is_written = !is_read;
  if (rows.size() > 1) used.pitch = rows[1].address - rows[0].address;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].address == used.address + used.count * used.pitch) {
      ++used.count;
      continue;
    }
    accesses.is_whole = false; // slices that are no rows of one pitch
    break;
  }
  accesses.rows.push_back(used);
}

} // namespace

GraphPosition& graph_position() {
  static thread_local GraphPosition position; // a launch may sleep without the lock
  return position;
}

void observe_accesses(const trace::ExecutionLaunch& launch, const executor::Accesses& accesses) {
  const trace::ExecutionObserver* observer = execution_observer();
  constexpr std::size_t kNeeded =
    offsetof(trace::ExecutionObserver, accesses) + sizeof observer->accesses;
  if (observer == nullptr || observer->size < kNeeded || observer->accesses == nullptr) return;
  std::vector<trace::ExecutionRows> rows;
  for (const executor::UsedRows& each : accesses.rows)
    rows.push_back({each.address, each.width, each.pitch, each.count, each.is_read ? 1u : 0u,
                    each.is_written ? 1u : 0u, each.is_strong ? 1u : 0u, each.life});
  trace::ExecutionAccesses said{};
  said.size = sizeof said;
  said.is_whole = accesses.is_whole ? 1 : 0;
  said.launch = launch;
  if (const GraphPosition& position = graph_position(); position.is_in_launch) {
    said.index = position.index;
    said.before = position.before;
  }
  said.rows = rows.data();
  said.row_count = static_cast<std::uint32_t>(rows.size());
  said.may_wait = accesses.may_wait ? 1 : 0;
  observer->accesses(&said);
}

void observe_node(const Operation& operation, const Stream& stream) {
  executor::Accesses accesses;
  accesses.is_known = accesses.is_whole = true;
  if (const auto* copy = std::get_if<CUDA_MEMCPY3D>(&operation)) {
    add(accesses, source_rows(*copy), true);
    add(accesses, destination_rows(*copy), false);
  } else if (const auto* set = std::get_if<CUDA_MEMSET_NODE_PARAMS>(&operation)) {
    executor::UsedRows used{.address = set->dst, .width = set->width * set->elementSize};
    used.pitch = set->pitch;
    used.count = set->height;
    used.is_written = true;
    if (used.width != 0 && used.count != 0) accesses.rows.push_back(used);
  } else if (const auto* alloc = std::get_if<AllocOperation>(&operation)) {
    executor::UsedRows used{.address = alloc->params.dptr, .width = alloc->params.bytesize};
    used.is_written = true;
    used.life = 1;
    accesses.rows.push_back(used);
  } else if (const auto* release = std::get_if<FreeOperation>(&operation)) {
    const Block* block = state().blocks.at_base(release->address);
    if (block == nullptr) return; // the node fails
    executor::UsedRows used{.address = block->base, .width = block->size};
    used.is_written = true;
    used.life = 2;
    accesses.rows.push_back(used);
  }
  if (accesses.rows.empty()) return;
  trace::ExecutionLaunch launch{};
  launch.call = observed_call();
  launch.context = reinterpret_cast<std::uint64_t>(stream.context);
  launch.stream = stream.is_legacy ? 0 : reinterpret_cast<std::uint64_t>(&stream);
  observe_accesses(launch, accesses);
}

} // namespace gmt::sim
