// SPDX-License-Identifier: Apache-2.0
// Conditional nodes of graphs: their handles, what a kernel sets them to, and which body runs.
// Lock held, but in set_condition(). What an H100 answers (driver 580): a handle without
// CU_GRAPH_COND_ASSIGN_DEFAULT is 0 before a kernel sets it; with it, it gets its default once a
// launch, that of a body's own graph as well; a graph has one executable form at a time, and none
// while a handle has no node; bodies may have no nodes of the host, of memory or of events.
#pragma once

#include "simulated_cuda/driver/state/state.h"
#include "simulated_cuda/driver/streams/graph.h"

#include <functional>

namespace gmt::sim {

// A node with bodies that have no nodes so far.
CUresult make_conditional(const CUDA_CONDITIONAL_NODE_PARAMS& params, ConditionalOperation* out);

// For an executable form of the graph: which conditions it has, that of graphs inside too. `why` is
// set where the answer has a name of its own.
CUresult take_conditions(const Graph& graph, std::vector<std::shared_ptr<Condition>>& conditions,
                         CUgraphInstantiateResult* why);

// A loop that runs for longer than kernels may ends the context.
CUresult run_conditional(Stream& stream, const ConditionalOperation& conditional,
                         const std::function<CUresult(const Graph& body)>& run);

// What cudaGraphSetConditional() does, on any worker's thread. False: there is no such handle.
bool set_condition(std::uint64_t handle, std::uint32_t value);

} // namespace gmt::sim
