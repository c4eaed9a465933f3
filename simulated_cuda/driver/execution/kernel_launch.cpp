// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/execution/kernel_launch.h"

#include "simulated_cuda/driver/code/instance.h"
#include "simulated_cuda/driver/execution/child_launches.h"
#include "simulated_cuda/driver/execution/choice.h"
#include "simulated_cuda/driver/execution/launch_observer.h"
#include "simulated_cuda/driver/execution/other_orders.h"
#include "simulated_cuda/driver/execution/prints.h"
#include "simulated_cuda/driver/execution/totals.h"
#include "simulated_cuda/driver/execution/traffic.h"
#include "simulated_cuda/driver/memory/texture_view.h"
#include "simulated_cuda/driver/state/state.h"
#include "simulated_cuda/driver/streams/conditional.h"
#include "simulated_cuda/driver/streams/graph_position.h"
#include "simulated_cuda/driver/streams/late_bytes.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

namespace gmt::sim {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRunTimeIsOver = 24; // the program's status then

executor::Extent extent(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }

trace::ExecutionLaunch identity(const Kernel& kernel, const KernelOperation& operation,
                                const Stream& stream) {
  const CUDA_KERNEL_NODE_PARAMS& p = operation.params;
  trace::ExecutionLaunch launch{};
  launch.call = observed_call();
  launch.made = operation.made;
  launch.node = operation.node;
  launch.context = reinterpret_cast<std::uint64_t>(stream.context);
  launch.stream = stream.is_legacy ? 0 : reinterpret_cast<std::uint64_t>(&stream);
  launch.grid_id = ++stream.context->grids;
  launch.function = reinterpret_cast<std::uint64_t>(&kernel);
  launch.kernel = kernel.name.c_str();
  const unsigned grid[3] = {p.gridDimX, p.gridDimY, p.gridDimZ};
  const unsigned block[3] = {p.blockDimX, p.blockDimY, p.blockDimZ};
  std::memcpy(launch.grid, grid, sizeof grid);
  std::memcpy(launch.block, block, sizeof block);
  return launch;
}

// With --kernel-launches the first N launches of each kernel run, then those whose number is a
// power of two.
bool is_selected(const Kernel& kernel) {
  const unsigned long long first = state().settings.kernel_launches;
  const unsigned long long number = ++kernel.launches;
  return first == 0 || number <= first || (number & (number - 1)) == 0;
}

void count_as_written(Block& block) {
  if (!block.device_only() || block.is_written) return;
  block.is_written = true;
  state().memory.mark_initialized(block.base, block.size);
}

// What a kernel that did not run to its end might have written: each block that an argument points
// into, and, as memory may hold more pointers, all blocks if an argument points at all.
void count_outputs_as_written(const std::vector<std::byte>& arguments) {
  bool points = arguments.empty();
  for (std::size_t at = 0; at + sizeof(CUdeviceptr) <= arguments.size() && !points;
       at += sizeof(CUdeviceptr)) {
    CUdeviceptr value = 0;
    std::memcpy(&value, arguments.data() + at, sizeof value);
    points = state().blocks.containing(value) != nullptr;
  }
  if (points) state().blocks.for_each(count_as_written);
}

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

double seconds_left() {
  const double all = state().settings.run_seconds;
  return all == 0 ? -1 : std::max(0.0, all - seconds_in_kernels());
}

// Launches may be so short that none of them sees the end of the time.
bool run_is_over() {
  const double all = state().settings.run_seconds;
  return all != 0 && seconds_in_kernels() >= all;
}

[[noreturn]] void end_program(const LaunchObserver& observer) {
  observer.skipped(trace::ExecutionEnd::kRunOver, "the program was ended (--run-time)", {}, {});
  flush_prints();
  std::fprintf(stderr,
               "gpumemtrace: the kernels of this program have run for %g s, which is the limit of "
               "--run-time: the program is ended\n",
               state().settings.run_seconds);
  std::fflush(nullptr);
  _exit(kRunTimeIsOver);
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

executor::Outcome skip(const std::string& reason) {
  executor::Outcome outcome;
  outcome.end = executor::End::kSkipped;
  outcome.reason = reason;
  return outcome;
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

executor::Outcome run_code(const Kernel& kernel, const KernelOperation& operation,
                           const Stream& stream, const trace::ExecutionLaunch& identified,
                           LaunchObserver& observer, executor::Accesses* accesses,
                           std::uint32_t depth, std::vector<executor::DeviceLaunch>* children) {
  Module* module = instance_in(kernel.library, stream.context);
  if (prepare(*module) != CUDA_SUCCESS) return skip("there is no memory for its variables");
  if (module->code == nullptr) return skip(kernel.library->image.why);
  const executor::Kernel* code = module->code->find_kernel(kernel.name);
  if (code == nullptr) return skip("its PTX does not define it");
  if (operation.argument_bytes.size() != code->parameter_bytes)
    return skip("its arguments do not fit its parameters");
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
  launch.nanoseconds = &device_nanoseconds();
  launch.memory = &state().memory;
  open_memory(*stream.context, launch);
  executor::Traffic traffic;
  if (is_traffic_asked_for()) launch.traffic = &traffic;
  const executor::Ability ability = executor::examine(*launch.module, *code);
  if (kernel.library->image.uses_device_heap) launch.heap = heap_of(*stream.context);
  std::optional<executor::DeviceLaunches> launches;
  if (ability.launches_kernels) {
    launch.launches = &launches.emplace(state().memory, depth);
    if (graph_position().is_in_launch) launches->set_condition = set_condition;
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
  OtherOrders others(again, state().settings.races_schedules);
  executor::Outcome outcome = executor::run(launch, others.listen(observer));
  if (outcome.end == executor::End::kDone) observe_traffic(identified, traffic);
  others.run(outcome, observer);
  if (launches) *children = launches->take();
  if (!why_not.empty()) outcome.races_left_out = why_not;
  else if (!others.why_not().empty() && outcome.races_left_out.empty())
    outcome.races_left_out =
      "it ran in one order alone, and --races-schedules left it out: " + others.why_not();
  return outcome;
}

bool took_too_long(const executor::Outcome& outcome, const LaunchObserver& observer) {
  const double limit = state().settings.kernel_seconds;
  return outcome.end == executor::End::kStopped && observer.why_ended().empty() && limit != 0 &&
         outcome.seconds > limit;
}

std::string end_in_words(const executor::Outcome& outcome, const LaunchObserver& observer) {
  if (!observer.why_ended().empty()) return observer.why_ended();
  if (!took_too_long(outcome, observer)) return outcome.reason;
  char text[80];
  std::snprintf(text, sizeof text, "it ran for longer than --kernel-time allows (%g s)",
                state().settings.kernel_seconds);
  return text;
}

// What it launches is put to the children.
void execute_one(const Kernel& kernel, const KernelOperation& operation, const Stream& stream,
                 std::uint32_t depth, bool is_child,
                 std::vector<executor::DeviceLaunch>* children) {
  flush_prints();
  const trace::ExecutionLaunch launch = identity(kernel, operation, stream);
  LaunchObserver observer(launch, seconds_left(), is_wanted(kernel.name, kernel.launches));
  if (!is_selected(kernel)) {
    observer.skipped(trace::ExecutionEnd::kNotSelected, "not selected by --kernel-launches", {},
                     {});
    add_to_totals(skip({}), 0);
    kernel_ran({});
    return count_outputs_as_written(operation.argument_bytes);
  }
  const Clock::time_point begin = Clock::now();
  executor::Accesses accesses;
  const bool is_possible = !is_child || check_launch(operation) == CUDA_SUCCESS;
  const executor::Outcome outcome =
    is_possible ? run_code(kernel, operation, stream, launch, observer, &accesses, depth, children)
                : skip("a GPU refuses this launch by a kernel");
  add_to_totals(outcome, std::chrono::duration<double>(Clock::now() - begin).count());
  observer.accesses(accesses);
  kernel_ran(accesses);
  if (outcome.end == executor::End::kSkipped)
    observer.skipped(trace::ExecutionEnd::kNotRun, outcome.reason, outcome.location, outcome);
  if (outcome.end == executor::End::kStopped)
    observer.skipped(trace::ExecutionEnd::kStopped, end_in_words(outcome, observer),
                     outcome.location, outcome,
                     !observer.why_ended().empty() || took_too_long(outcome, observer));
  if (!outcome.races_left_out.empty())
    observer.skipped(trace::ExecutionEnd::kRacesLeftOut, outcome.races_left_out, {}, outcome);
  const bool is_whole = outcome.end == executor::End::kDone && !observer.saw_deadlock();
  const bool goes_on = !state().settings.faults_end_context;
  const bool is_checked = why_unchecked(kernel.name, kernel.launches).empty();
  if (!is_checked || (!is_whole && (goes_on || outcome.end != executor::End::kFault)))
    count_outputs_as_written(operation.argument_bytes);
  std::uint32_t error = outcome.gpu_error != 0 ? outcome.gpu_error : observer.heap_error();
  if (error == 0 && took_too_long(outcome, observer)) error = CUDA_ERROR_LAUNCH_TIMEOUT;
  if (error != 0 && !goes_on) stream.context->sticky = static_cast<CUresult>(error);
  if (observer.run_is_over() || run_is_over()) end_program(observer);
}

} // namespace

std::vector<std::byte> gather_arguments(const Kernel& kernel,
                                        const CUDA_KERNEL_NODE_PARAMS& params) {
  std::vector<std::byte> bytes;
  if (!kernel.parameters_known) return bytes;
  for (const Parameter& parameter : kernel.parameters)
    bytes.resize(std::max(bytes.size(), parameter.offset + parameter.size));
  if (params.kernelParams != nullptr) {
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
      const Parameter& parameter = kernel.parameters[i];
      std::memcpy(bytes.data() + parameter.offset, params.kernelParams[i], parameter.size);
    }
    return bytes;
  }
  // The other form: one buffer and its size, each behind the word that announces it.
  const void* buffer = nullptr;
  std::size_t size = 0;
  for (void** at = params.extra; at != nullptr && *at != CU_LAUNCH_PARAM_END; at += 2) {
    if (*at == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = at[1];
    if (*at == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<const std::size_t*>(at[1]);
  }
  if (buffer != nullptr) std::memcpy(bytes.data(), buffer, std::min(size, bytes.size()));
  return bytes;
}

// What kernels launch is done behind them: each is done before the next one, and so is what it
// launches itself. An error that ends the context ends it.
void execute_kernel(const Kernel& kernel, const KernelOperation& operation, const Stream& stream) {
  std::vector<executor::DeviceLaunch> waiting; // the next one is the last
  const auto execute = [&](const Kernel& each, const KernelOperation& its, std::uint32_t depth,
                           bool is_child) {
    std::vector<executor::DeviceLaunch> children;
    execute_one(each, its, stream, depth, is_child, &children);
    std::move(children.rbegin(), children.rend(), std::back_inserter(waiting));
  };
  execute(kernel, operation, 0, false);
  while (!waiting.empty() && stream.context->sticky == CUDA_SUCCESS) {
    const executor::DeviceLaunch next = std::move(waiting.back());
    waiting.pop_back();
    const Kernel* child = kernel_named(kernel.library, next.kernel.c_str());
    if (child != nullptr) // its PTX has it, or the parent could not have named it
      execute(*child, child_operation(*child, operation, next), next.depth, true);
  }
}

} // namespace gmt::sim
