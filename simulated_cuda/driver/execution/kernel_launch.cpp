// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/execution/kernel_launch.h"

#include "simulated_cuda/driver/execution/child_launches.h"
#include "simulated_cuda/driver/execution/choice.h"
#include "simulated_cuda/driver/execution/kernel_run.h"
#include "simulated_cuda/driver/execution/launch_observer.h"
#include "simulated_cuda/driver/execution/prints.h"
#include "simulated_cuda/driver/execution/totals.h"
#include "simulated_cuda/driver/state/state.h"
#include "simulated_cuda/driver/streams/device_graphs.h"
#include "simulated_cuda/driver/streams/late_bytes.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

namespace gmt::sim {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRunTimeIsOver = 24; // the program's status then

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
                 std::uint32_t depth, bool is_child, executor::LaunchTree& tree,
                 std::vector<executor::DeviceLaunch>* children) {
  flush_prints();
  const trace::ExecutionLaunch launch = identity(kernel, operation, stream);
  LaunchObserver observer(launch, seconds_left(), is_wanted(kernel.name, kernel.launches + 1));
  if (!is_selected(kernel)) {
    observer.skipped(trace::ExecutionEnd::kNotSelected, "not selected by --kernel-launches", {},
                     {});
    add_to_totals(not_run({}), 0);
    kernel_ran({});
    return count_outputs_as_written(operation.argument_bytes);
  }
  const Clock::time_point begin = Clock::now();
  executor::Accesses accesses;
  const bool is_possible = !is_child || check_launch(operation) == CUDA_SUCCESS;
  const executor::Outcome outcome =
    is_possible
      ? run_code(kernel, operation, stream, launch, observer, &accesses, depth, tree, children)
      : not_run("a GPU refuses this launch by a kernel");
  add_to_totals(outcome, std::chrono::duration<double>(Clock::now() - begin).count());
  observer.accesses(accesses);
  kernel_ran(accesses);
  if (outcome.end == executor::End::kSkipped)
    observer.skipped(trace::ExecutionEnd::kNotRun, outcome.reason, outcome.location, outcome);
  if (outcome.end == executor::End::kStopped) {
    const bool as_asked = !observer.why_ended().empty() || (took_too_long(outcome, observer) &&
                                                            state().settings.is_kernel_time_asked);
    observer.skipped(trace::ExecutionEnd::kStopped, end_in_words(outcome, observer),
                     outcome.location, outcome, as_asked);
  }
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
  executor::LaunchTree tree;
  const auto execute = [&](const Kernel& each, const KernelOperation& its, std::uint32_t depth,
                           bool is_child) {
    std::vector<executor::DeviceLaunch> children;
    execute_one(each, its, stream, depth, is_child, tree, &children);
    std::move(children.rbegin(), children.rend(), std::back_inserter(waiting));
  };
  execute(kernel, operation, 0, false);
  while (!waiting.empty() && stream.context->sticky == CUDA_SUCCESS) {
    const executor::DeviceLaunch next = std::move(waiting.back());
    waiting.pop_back();
    if (next.graph != 0) {
      launch_from_kernel(next.graph, next.by.is_tail);
      continue;
    }
    const Kernel* child = kernel_named(kernel.library, next.kernel.c_str());
    if (child == nullptr) continue; // its PTX has it, or the parent could not have named it
    tree.expect(next.parent, next.by);
    execute(*child, child_operation(*child, operation, next), next.depth, true);
  }
}

} // namespace gmt::sim
