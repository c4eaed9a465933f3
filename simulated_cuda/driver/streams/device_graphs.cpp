// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/streams/device_graphs.h"

#include "simulated_cuda/driver/execution/primary.h"
#include "simulated_cuda/driver/state/state.h"
#include "simulated_cuda/driver/streams/conditional.h"
#include "simulated_cuda/driver/streams/graph_position.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <vector>

namespace gmt::sim {
namespace {

struct Run {
  std::uint64_t handle = 0;
  Stream* stream = nullptr;
  std::deque<std::uint64_t> tails; // graphs that its kernels launch behind it
};

// Those that are not done; the last one is inside the others.
std::vector<Run>& runs() {
  static std::vector<Run> all;
  return all;
}

bool is_for_kernels(const GraphExec* exec) {
  return exec != nullptr && (exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0;
}

CUresult run_nodes(GraphExec& exec, Stream& stream) {
  for (const auto& condition : exec.conditions) {
    if (condition->is_set_at_launch) condition->value = condition->at_launch;
  }
  GraphOrder order;
  CUresult result = CUDA_SUCCESS;
  std::size_t last = exec.nodes.size();
  for (std::size_t i = 0; i < exec.nodes.size() && result == CUDA_SUCCESS; ++i) {
    ExecNode& node = exec.nodes[i];
    order.begin(node.dependencies);
    if (node.enabled) {
      const bool is_behind_last = node.dependencies.size() == 1 && node.dependencies[0] == last;
      follow_node(node.operation, is_behind_last ? &exec.nodes[last].operation : nullptr);
      last = i;
      result = execute(stream, node.operation, exec.flags);
    }
    order.end(i);
  }
  return result;
}

// A graph whose tail launch is itself may never end.
class TimeLimit {
public:
  bool is_over(Stream& stream) const {
    const double limit = state().settings.kernel_seconds;
    const std::chrono::duration<double> so_far = std::chrono::steady_clock::now() - begin_;
    if (limit != 0 && so_far.count() > limit) stream.context->sticky = CUDA_ERROR_LAUNCH_TIMEOUT;
    return stream.context->sticky != CUDA_SUCCESS;
  }

private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

} // namespace

CUresult run_graph(GraphExec& exec, Stream& stream) {
  const TimeLimit limit;
  runs().push_back({reinterpret_cast<std::uint64_t>(&exec), &stream, {}});
  CUresult result = run_nodes(exec, stream);
  while (result == CUDA_SUCCESS && !runs().back().tails.empty() && !limit.is_over(stream)) {
    const std::uint64_t next = runs().back().tails.front();
    runs().back().tails.pop_front();
    GraphExec* const tail = state().execs.get(next);
    if (tail == nullptr) continue;
    runs().back().handle = next;
    graph_position().before = ~std::uint64_t{0}; // all that ran so far
    result = run_nodes(*tail, stream);
  }
  runs().pop_back();
  return result;
}

bool is_graph_running() { return !runs().empty(); }

std::uint64_t running_graph() {
  const std::uint64_t handle = runs().empty() ? 0 : runs().back().handle;
  return is_for_kernels(state().execs.get(handle)) ? handle : 0;
}

// A graph cannot run beside itself.
std::uint32_t refuse_graph(std::uint64_t handle, bool is_tail) {
  constexpr std::uint32_t kInvalidValue = 1;
  const auto runs_now = [handle](const Run& run) { return run.handle == handle; };
  const bool may = is_for_kernels(state().execs.get(handle)) &&
                   (is_tail || std::ranges::none_of(runs(), runs_now));
  return may ? 0 : kInvalidValue;
}

void launch_from_kernel(std::uint64_t handle, bool is_tail) {
  GraphExec* const exec = state().execs.get(handle);
  if (runs().empty() || exec == nullptr) return;
  if (is_tail) return runs().back().tails.push_back(handle);
  GraphPosition& position = graph_position();
  const GraphPosition outside = position;
  if (position.index < 64) position.before |= std::uint64_t{1} << position.index;
  run_graph(*exec, *runs().back().stream);
  position.before = outside.before;
  position.index = outside.index;
}

} // namespace gmt::sim
