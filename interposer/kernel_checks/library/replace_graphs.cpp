// SPDX-License-Identifier: Apache-2.0
// Nodes of graphs that the program makes or changes by hand: they run the checked form, which has a
// parameter more. What the driver says of a node is the program's kernel. A number that a node
// gives its kernel is kept in all graphs that are made of its graph.
#include <map>
#include <utility>

#include "interposer/kernel_checks/library/arguments.h"
#include "interposer/kernel_checks/library/captures.h"
#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/forms.h"
#include "interposer/kernel_checks/library/launches.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/patches/patches.h"
#include "interposer/kernel_checks/library/regions.h"
#include "interposer/kernel_checks/library/replacements.h"
#include "interposer/kernel_checks/library/written.h"

namespace gmt::interposer::kernel_checks {

namespace {

// The kernel of a node, which is named in one of two ways.
template <class Params> CUfunction kernel_handle(const Params& node) noexcept {
  if constexpr (requires { node.kern; }) {
    if (node.func == nullptr) return reinterpret_cast<CUfunction>(node.kern);
  }
  return node.func;
}
// A kernel that is in each context runs in the one that the node names, or in the current one.
template <class Params> Table* table_of_node(const Params& node) noexcept {
  if constexpr (requires { node.ctx; }) {
    if (node.func == nullptr && node.ctx != nullptr) return table_of(node.ctx);
  }
  return table_of_stream(CU_STREAM_LEGACY);
}
template <class Params> void set_kernel(Params& node, CUfunction form) noexcept {
  if constexpr (requires { node.kern; }) {
    if (node.func == nullptr) {
      node.kern = reinterpret_cast<CUkernel>(form);
      return;
    }
  }
  node.func = form;
}

// What is changed in an executable graph alone is changed often: its number is kept for each node.
using Changed = std::pair<CUgraphExec, CUgraphNode>;
constexpr Changed kNewNode{nullptr, nullptr};
std::map<Changed, std::uint64_t>& changed_nodes() noexcept {
  static auto* const all = new std::map<Changed, std::uint64_t>; // leaked, as other tables are
  return *all;
}

std::uint64_t number_of(const Changed& changed) noexcept {
  const Locked lock;
  const auto found = changed_nodes().find(changed);
  return found != changed_nodes().end() ? found->second : 0;
}

// Behind the driver's answer.
void keep_number(const Changed& changed, std::uint64_t number) noexcept {
  if (changed == kNewNode) return;
  const Locked lock;
  changed_nodes()[changed] = number;
}

// Of the launches that a node makes. `is_new`: no other node has it.
struct NodeNumber {
  std::uint64_t number;
  bool is_new;
};
NodeNumber number_node(const Changed& changed, const Launch& launch) noexcept {
  const std::uint64_t kept = number_of(changed);
  if (kept != 0 && renew_node(kept, launch)) return {kept, false};
  return {remember_node(launch), true};
}

// `real(params)` is the driver's. What it answers to the checked form.
template <class Params, class Real>
int try_checked(const Params& given, const Kernel& kernel, const Table& own, const Shape& shape,
                const Changed& changed, Real real) noexcept {
  const NodeNumber node_number =
    number_node(changed, describe(kernel, own, kernel_handle(given), shape));
  const NumberedArguments arguments(kernel.launch_parameter, node_number.number, given.kernelParams,
                                    given.extra);
  Params node = given;
  set_kernel(node, kernel.checked);
  node.kernelParams = arguments.parameters();
  node.extra = arguments.extra();
  const int result = arguments.are_there() ? real(&node) : CUDA_ERROR_INVALID_VALUE;
  if (result == CUDA_SUCCESS) {
    mark_in_graph(kernel);
    keep_number(changed, node_number.number);
  } else if (node_number.is_new) {
    forget_launch(node_number.number);
  }
  return result;
}

template <class Params, class Real>
int with_checked_form(const Params& given, const Changed& changed, Real real) noexcept {
  const CUfunction function = kernel_handle(given);
  const Kernel* kernel = function != nullptr ? kernel_of(function) : nullptr;
  if (kernel == nullptr) return real(&given);
  const Shape shape{{given.gridDimX, given.gridDimY, given.gridDimZ},
                    {given.blockDimX, given.blockDimY, given.blockDimZ},
                    nullptr};
  Table* const own = table_of_node(given);
  std::optional<PlainReason> why = why_plain_in_graph(*kernel, own, shape);
  if (!why) {
    const int result = try_checked(given, *kernel, *own, shape, changed, real);
    if (!is_refused(result)) return result;
    why = PlainReason::kDevice;
  }
  const int result = real(&given);
  const bool will_be_patched = why == PlainReason::kKernel && are_graphs_patched();
  if (result == CUDA_SUCCESS && !will_be_patched) count_plain(*kernel, *why);
  return result;
}
template <class Params, class Real>
CUresult with_checked_form(const Params* given, const Changed& changed, Real real) noexcept {
  return static_cast<CUresult>(given != nullptr ? with_checked_form(*given, changed, real)
                                                : real(given));
}

template <Name kName, class Params>
CUresult add_kernel(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, std::size_t count,
                    const Params* given) noexcept {
  return with_checked_form(given, kNewNode, [=](const Params* what) {
    return own<kName, CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, const Params*>(
      node, graph, before, count, what);
  });
}

template <Name kName, class Params>
CUresult set_kernel_of(CUgraphNode node, const Params* given) noexcept {
  return with_checked_form(given, kNewNode, [=](const Params* what) {
    return own<kName, CUgraphNode, const Params*>(node, what);
  });
}

template <Name kName, class Params>
CUresult set_kernel_of_exec(CUgraphExec exec, CUgraphNode node, const Params* given) noexcept {
  return with_checked_form(given, {exec, node}, [=](const Params* what) {
    return own<kName, CUgraphExec, CUgraphNode, const Params*>(exec, node, what);
  });
}

template <Name kName, class Params>
CUresult kernel_of_node(CUgraphNode node, Params* to) noexcept {
  const int result = own<kName, CUgraphNode, Params*>(node, to);
  if (result != CUDA_SUCCESS || to == nullptr) return static_cast<CUresult>(result);
  to->func = plain_form(to->func);
  if constexpr (requires { to->kern; }) to->kern = plain_form(to->kern);
  return CUDA_SUCCESS;
}

void graph_gets(CUdeviceptr begin, std::size_t bytes) noexcept {
  forget_range(begin, bytes);
  note_not_followed(kGraphsAreNotFollowed);
}

// ---- calls for every kind of node

// `real(params)` is the driver's; it may answer in there.
template <class Real>
CUresult with_checked_node(CUgraphNodeParams* given, const Changed& changed, Real real) noexcept {
  if (given != nullptr && given->type == CU_GRAPH_NODE_TYPE_KERNEL) {
    const auto from = [&](const CUDA_KERNEL_NODE_PARAMS_v3* kernel) {
      if (kernel == &given->kernel) return real(given);
      CUgraphNodeParams node = *given;
      node.kernel = *kernel;
      return real(&node);
    };
    return static_cast<CUresult>(with_checked_form(given->kernel, changed, from));
  }
  const int result = real(given);
  if (result == CUDA_SUCCESS && given->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
    graph_gets(given->alloc.dptr, given->alloc.bytesize);
  return static_cast<CUresult>(result);
}

CUresult add_node(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, std::size_t count,
                  CUgraphNodeParams* given) noexcept {
  return with_checked_node(given, kNewNode, [=](CUgraphNodeParams* what) {
    return own<"cuGraphAddNode", CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t,
               CUgraphNodeParams*>(node, graph, before, count, what);
  });
}

CUresult add_node_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                     const CUgraphEdgeData* edges, std::size_t count,
                     CUgraphNodeParams* given) noexcept {
  return with_checked_node(given, kNewNode, [=](CUgraphNodeParams* what) {
    return own<"cuGraphAddNode_v2", CUgraphNode*, CUgraph, const CUgraphNode*,
               const CUgraphEdgeData*, std::size_t, CUgraphNodeParams*>(node, graph, before, edges,
                                                                        count, what);
  });
}

CUresult set_node(CUgraphNode node, CUgraphNodeParams* given) noexcept {
  return with_checked_node(given, kNewNode, [=](CUgraphNodeParams* what) {
    return own<"cuGraphNodeSetParams", CUgraphNode, CUgraphNodeParams*>(node, what);
  });
}

CUresult set_node_of_exec(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* given) noexcept {
  return with_checked_node(given, {exec, node}, [=](CUgraphNodeParams* what) {
    return own<"cuGraphExecNodeSetParams", CUgraphExec, CUgraphNode, CUgraphNodeParams*>(exec, node,
                                                                                         what);
  });
}

CUresult add_alloc_node(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                        std::size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* what) noexcept {
  const int result =
    own<"cuGraphAddMemAllocNode", CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t,
        CUDA_MEM_ALLOC_NODE_PARAMS*>(node, graph, before, count, what);
  if (result == CUDA_SUCCESS) graph_gets(what->dptr, what->bytesize);
  return static_cast<CUresult>(result);
}

template <Name kName> CUresult launch_graph(CUgraphExec exec, CUstream stream) noexcept {
  const LaunchCall call;
  const CUstream named = named_stream(stream, kName.text);
  if (capture_of(named) == Capture::kNone) {
    if (const Table* const own = table_of_stream(named)) write_regions_for(*own, named);
    else launch_beside_regions();
  }
  for_each_table([](Table& one) { // its nodes may be of several contexts
    begin_launch(one.index());
    one.settle();
  });
  mark_all_written(); // by its copies and sets
  const int result = own<kName, CUgraphExec, CUstream>(exec, stream);
  if (result == CUDA_SUCCESS) mark_graph_launched();
  return static_cast<CUresult>(result);
}

} // namespace

void replace_graphs() noexcept {
  using First = CUDA_KERNEL_NODE_PARAMS_v1;
  using Second = CUDA_KERNEL_NODE_PARAMS_v2;
#define PUT_KERNEL(function, symbol)                                                               \
  replace(symbol, function<symbol, First>);                                                        \
  replace(symbol "_v2", function<symbol "_v2", Second>)
  PUT_KERNEL(add_kernel, "cuGraphAddKernelNode");
  PUT_KERNEL(set_kernel_of, "cuGraphKernelNodeSetParams");
  PUT_KERNEL(set_kernel_of_exec, "cuGraphExecKernelNodeSetParams");
  PUT_KERNEL(kernel_of_node, "cuGraphKernelNodeGetParams");
#undef PUT_KERNEL
  replace("cuGraphAddNode", add_node);
  replace("cuGraphAddNode_v2", add_node_v2);
  replace("cuGraphNodeSetParams", set_node);
  replace("cuGraphExecNodeSetParams", set_node_of_exec);
  replace("cuGraphAddMemAllocNode", add_alloc_node);
  replace("cuGraphLaunch", launch_graph<"cuGraphLaunch">);
  replace("cuGraphLaunch_ptsz", launch_graph<"cuGraphLaunch_ptsz">);
}

} // namespace gmt::interposer::kernel_checks
