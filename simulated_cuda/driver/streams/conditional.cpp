// SPDX-License-Identifier: Apache-2.0
// cuGraphConditionalHandleCreate is called through driver_api.def with the lock held.
#include "simulated_cuda/driver/streams/conditional.h"

#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/entry.h"
#include "simulated_cuda/driver/streams/graph_position.h"

#include <algorithm>
#include <chrono>

namespace gmt::sim {
namespace {

std::shared_ptr<Condition> condition_of(CUgraphConditionalHandle handle) {
  const auto found = state().conditions.find(handle);
  return found == state().conditions.end() ? nullptr : found->second.lock();
}

bool is_size_known(CUgraphConditionalNodeType type, unsigned size) {
  switch (type) {
  case CU_GRAPH_COND_TYPE_IF: return size == 1 || size == 2;
  case CU_GRAPH_COND_TYPE_WHILE: return size == 1;
  case CU_GRAPH_COND_TYPE_SWITCH: return size != 0;
  }
  return false;
}

// CUDA Driver API, CUDA_CONDITIONAL_NODE_PARAMS::phGraph_out.
bool may_be_in_body(const Operation& operation) {
  switch (type_of(operation)) {
  case CU_GRAPH_NODE_TYPE_KERNEL:
  case CU_GRAPH_NODE_TYPE_EMPTY:
  case CU_GRAPH_NODE_TYPE_GRAPH:
  case CU_GRAPH_NODE_TYPE_MEMSET:
  case CU_GRAPH_NODE_TYPE_MEMCPY:
  case CU_GRAPH_NODE_TYPE_CONDITIONAL: return true;
  default: return false;
  }
}

CUresult look_at(const Graph& graph, bool is_in_body,
                 std::vector<std::shared_ptr<Condition>>& conditions,
                 CUgraphInstantiateResult* why) {
  const auto lacks_node = [](const auto& condition) { return !condition->has_node; };
  if (std::any_of(graph.conditions.begin(), graph.conditions.end(), lacks_node)) {
    *why = CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED;
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (const auto& node : graph.nodes) {
    if (is_in_body && !may_be_in_body(node->operation)) return CUDA_ERROR_INVALID_VALUE;
    const auto* conditional = std::get_if<ConditionalOperation>(&node->operation);
    if (conditional != nullptr) {
      if (conditional->condition->has_executable) return CUDA_ERROR_NOT_SUPPORTED;
      conditions.push_back(conditional->condition);
    }
    for (const Graph* inside : graphs_inside(node->operation)) {
      const CUresult result =
        look_at(*inside, is_in_body || conditional != nullptr, conditions, why);
      if (result != CUDA_SUCCESS) return result;
    }
  }
  return CUDA_SUCCESS;
}

} // namespace

CUresult graph_conditional_handle_create(CUgraphConditionalHandle* out, CUgraph graph_handle,
                                         CUcontext, unsigned at_launch, unsigned flags) {
  Graph* graph = find_graph(graph_handle);
  if (out == nullptr || graph == nullptr || (flags & ~unsigned{CU_GRAPH_COND_ASSIGN_DEFAULT}) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  auto condition = std::make_shared<Condition>();
  condition->at_launch = at_launch;
  condition->is_set_at_launch = flags != 0;
  *out = ++state().last_condition;
  std::erase_if(state().conditions, [](const auto& each) { return each.second.expired(); });
  state().conditions[*out] = condition;
  graph->conditions.push_back(std::move(condition));
  return CUDA_SUCCESS;
}

CUresult make_conditional(const CUDA_CONDITIONAL_NODE_PARAMS& params, ConditionalOperation* out) {
  auto condition = condition_of(params.handle);
  constexpr unsigned kMostBodies = 1u << 16; // so that a wrong number takes no memory
  if (condition == nullptr || condition->has_node || !is_size_known(params.type, params.size))
    return CUDA_ERROR_INVALID_VALUE;
  if (params.size > kMostBodies) return CUDA_ERROR_OUT_OF_MEMORY;
  out->handle = params.handle;
  out->condition = std::move(condition);
  out->type = params.type;
  out->handles = std::make_shared<std::vector<CUgraph>>();
  for (unsigned i = 0; i < params.size; ++i) {
    out->bodies.push_back(std::make_shared<Graph>());
    out->handles->push_back(reinterpret_cast<CUgraph>(out->bodies.back().get()));
  }
  return CUDA_SUCCESS;
}

CUresult take_conditions(const Graph& graph, std::vector<std::shared_ptr<Condition>>& conditions,
                         CUgraphInstantiateResult* why) {
  std::vector<std::shared_ptr<Condition>> found;
  if (CUresult bad = look_at(graph, false, found, why); bad != CUDA_SUCCESS) return bad;
  for (const auto& condition : found) condition->has_executable = true;
  conditions = std::move(found);
  return CUDA_SUCCESS;
}

CUresult run_conditional(Stream& stream, const ConditionalOperation& conditional,
                         const std::function<CUresult(const Graph& body)>& run) {
  const std::atomic<unsigned>& value = conditional.condition->value;
  const auto run_body = [&](std::size_t index) {
    return index < conditional.bodies.size() ? run(*conditional.bodies[index]) : CUDA_SUCCESS;
  };
  switch (conditional.type) {
  case CU_GRAPH_COND_TYPE_IF: return run_body(value != 0 ? 0 : 1);
  case CU_GRAPH_COND_TYPE_SWITCH: return run_body(value);
  case CU_GRAPH_COND_TYPE_WHILE: break;
  }
  const auto begin = std::chrono::steady_clock::now();
  const double limit = state().settings.kernel_seconds;
  GraphPosition& position = graph_position();
  const std::uint64_t first = position.next;
  std::uint64_t before = position.before, behind = first;
  while (value != 0 && stream.context->sticky == CUDA_SUCCESS) {
    position.before = before; // what runs before the node, and the turns before this one
    position.next = first;    // each turn has the same numbers: there are few
    if (CUresult bad = run_body(0); bad != CUDA_SUCCESS) return bad;
    behind = position.next = std::max(behind, position.next);
    for (std::uint64_t i = first; i < behind && i < 64; ++i) before |= std::uint64_t{1} << i;
    const std::chrono::duration<double> so_far = std::chrono::steady_clock::now() - begin;
    if (limit != 0 && so_far.count() > limit) stream.context->sticky = CUDA_ERROR_LAUNCH_TIMEOUT;
  }
  return CUDA_SUCCESS;
}

bool set_condition(std::uint64_t handle, std::uint32_t value) {
  const auto condition = condition_of(handle);
  if (condition == nullptr || !condition->has_executable) return false;
  condition->value = value;
  return true;
}

} // namespace gmt::sim
