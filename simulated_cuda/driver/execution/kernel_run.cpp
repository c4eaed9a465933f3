// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/execution/kernel_run.h"

#include "simulated_cuda/driver/code/instance.h"
#include "simulated_cuda/driver/execution/choice.h"
#include "simulated_cuda/driver/execution/device_facts.h"
#include "simulated_cuda/driver/execution/other_orders.h"
#include "simulated_cuda/driver/execution/primary.h"
#include "simulated_cuda/driver/execution/totals.h"
#include "simulated_cuda/driver/execution/traffic.h"
#include "simulated_cuda/driver/memory/texture_view.h"
#include "simulated_cuda/driver/state/state.h"
#include "simulated_cuda/driver/streams/conditional.h"
#include "simulated_cuda/driver/streams/device_graphs.h"
#include "simulated_cuda/driver/streams/graph_position.h"
#include "simulated_cuda/driver/streams/late_bytes.h"
#include "simulated_cuda/driver/streams/operation.h"
#include "simulated_cuda/executor/machine/primary_launch.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>

namespace gmt::sim {
namespace {

executor::Extent extent(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }

executor::Checks checks() {
  const std::string& wanted = state().settings.device_checks;
  if (wanted == "none") return executor::Checks::kNone;
  if (wanted == "full") return executor::Checks::kFull;
  return executor::Checks::kDefault;
}

unsigned device_threads() {
  static const unsigned usable = executor::usable_processors();
  const unsigned wanted = state().settings.device_threads;
  return wanted != 0 ? wanted : usable;
}

// The timer that kernels read goes on from launch to launch, and is not behind the host's clock:
// the two are compared as if they were apart by the same all the time.
std::uint64_t& device_nanoseconds() {
  static std::uint64_t now = 0;
  const auto host = std::chrono::duration_cast<std::chrono::nanoseconds>(
    std::chrono::system_clock::now().time_since_epoch());
  now = std::max(now, static_cast<std::uint64_t>(host.count()));
  return now;
}

executor::DeviceHeap* heap_of(Context& context) {
  if (context.heap == nullptr) {
    const auto limit = context.limits.find(CU_LIMIT_MALLOC_HEAP_SIZE);
    constexpr std::size_t kDefault = std::size_t{8} << 20;
    context.heap =
      ContextHeap::create(state().memory, limit == context.limits.end() ? kDefault : limit->second);
    context.heap_in_use = true;
  }
  return context.heap == nullptr ? nullptr : context.heap->heap();
}

// Whether a GPU may do something else while a kernel of this stream runs, of what the program does
// before or later: the kernel may wait for that.
bool others_may_write(const Stream& stream, const KernelOperation& operation) {
  constexpr auto kAside = CU_STREAM_NON_BLOCKING;
  const bool is_aside = !stream.is_legacy && (stream.flags & kAside) != 0;
  if (operation.node != 0 || is_aside) return true;
  bool others = false;
  for (const auto& context : state().contexts)
    others |= context->alive && context.get() != stream.context;
  state().streams.for_each([&](const Stream& other) {
    if (&other != &stream) others |= !stream.is_legacy || (other.flags & kAside) != 0;
  });
  return others;
}

// Memory of other devices. One that opened all of its memory is as quick to use as the own one; of
// another each block is asked for.
void open_memory(const Context& context, executor::Launch& launch) {
  launch.reach.device = static_cast<unsigned>(context.device->ordinal);
  if (state().devices.size() < 2) return;
  const auto bit = [](const Device& device) { return std::uint64_t{1} << device.ordinal; };
  for (const auto& device : state().devices) {
    bool is_open = device->blocks_apart == 0;
    for (const auto& other : state().contexts) {
      if (other->alive && other->device == device.get())
        is_open = is_open && context.peers.contains(other.get());
    }
    state().memory.set_devices(device->window, bit(*device) | (is_open ? bit(*context.device) : 0));
  }
  launch.reach.opens = [&context](std::uint64_t address) {
    const Block* block = state().blocks.containing(address);
    return block == nullptr || context.may_use(*block); // what is in no block is refused anyway
  };
}

} // namespace

executor::Outcome not_run(const std::string& reason) {
  executor::Outcome outcome;
  outcome.end = executor::End::kSkipped;
  outcome.reason = reason;
  return outcome;
}

executor::Outcome run_code(const Kernel& kernel, const KernelOperation& operation,
                           const Stream& stream, const trace::ExecutionLaunch& identified,
                           LaunchObserver& observer, executor::Accesses* accesses,
                           std::uint32_t depth, executor::LaunchTree& tree,
                           std::vector<executor::DeviceLaunch>* children) {
  const std::shared_ptr<const executor::PrimaryLaunch> primary = take_primary(operation);
  Module* module = instance_in(kernel.library, stream.context);
  if (prepare(*module) != CUDA_SUCCESS) return not_run("there is no memory for its variables");
  if (module->code == nullptr) return not_run(kernel.library->image.why);
  const executor::Kernel* code = module->code->find_kernel(kernel.name);
  if (code == nullptr) return not_run("its PTX does not define it");
  if (operation.argument_bytes.size() != code->parameter_bytes)
    return not_run("its arguments do not fit its parameters");
  const CUDA_KERNEL_NODE_PARAMS& p = operation.params;
  executor::Launch launch;
  launch.module = module->code.get();
  launch.kernel = code;
  launch.grid = extent(p.gridDimX, p.gridDimY, p.gridDimZ);
  launch.block = extent(p.blockDimX, p.blockDimY, p.blockDimZ);
  launch.dynamic_shared_bytes = p.sharedMemBytes;
  launch.parameters = operation.argument_bytes;
  launch.cooperative = operation.cooperative;
  if (const auto cluster = cluster_of(kernel, operation.cluster); cluster.count() != 0) {
    launch.cluster = cluster;
    launch.has_clusters = true;
  }
  launch.block_at = [](std::uint64_t address, std::uint64_t* begin, std::uint64_t* bytes) {
    const Block* block = state().blocks.containing(address);
    // Mappings that lie side by side are one piece of memory for the program
    if (block == nullptr || block->kind == BlockKind::kVmm) return false;
    *begin = block->base;
    *bytes = block->size;
    return true;
  };
  launch.texture_at = texture_at;
  launch.others_may_write = others_may_write(stream, operation);
  if (launch.others_may_write || state().settings.late_seconds > 0) launch.accesses = accesses;
  launch.grid_id = identified.grid_id;
  launch.call = identified.call;
  launch.primary = primary;
  std::shared_ptr<executor::PrimaryLaunch> becomes_primary;
  if (operation.number != 0 && depth == 0) launch.becomes_primary = &becomes_primary;
  launch.nanoseconds = &device_nanoseconds();
  launch.memory = &state().memory;
  open_memory(*stream.context, launch);
  executor::Traffic traffic;
  if (is_traffic_asked_for()) launch.traffic = &traffic;
  const executor::Ability ability = executor::examine(*launch.module, *code);
  if (kernel.library->image.uses_device_heap) launch.heap = heap_of(*stream.context);
  std::optional<executor::DeviceLaunches> launches;
  KernelFacts facts(*kernel.library, *stream.context);
  if (ability.launches_kernels || tree.expects_child()) launch.tree = &tree;
  if (ability.launches_kernels) {
    launch.launches = &launches.emplace(state().memory, depth, facts);
    if (graph_position().is_in_launch) launches->set_condition = set_condition;
    launches->current_graph = running_graph();
    if (is_graph_running()) launches->refuse_graph = refuse_graph;
  }
  launch.limits.seconds = state().settings.kernel_seconds;
  const std::string why_not = why_unchecked(kernel.name, kernel.launches);
  launch.checks = why_not.empty() ? checks() : executor::Checks::kNone;
  launch.workers = device_threads();
  launch.seed = state().settings.device_seed;
  set_order(launch.seed, launch.workers);
  launch.alone_instructions = state().settings.alone_instructions;
  executor::Launch again = launch; // is not counted again
  again.traffic = nullptr;
  again.tree = nullptr;
  OtherOrders others(again, state().settings.races_schedules);
  executor::Outcome outcome = executor::run(launch, others.listen(observer));
  if (outcome.end == executor::End::kDone) observe_traffic(identified, traffic);
  others.run(outcome, observer);
  if (launches) *children = launches->take();
  for (executor::DeviceLaunch& child : *children) child.parent = tree.newest();
  if (becomes_primary != nullptr && !launches) keep_primary(operation, becomes_primary);
  if (!why_not.empty()) outcome.races_left_out = why_not;
  else if (!others.why_not().empty() && outcome.races_left_out.empty())
    outcome.races_left_out =
      "it ran in one order alone, and --races-schedules left it out: " + others.why_not();
  return outcome;
}

} // namespace gmt::sim
