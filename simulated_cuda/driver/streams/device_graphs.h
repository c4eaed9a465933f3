// SPDX-License-Identifier: Apache-2.0
// Launches of executable graphs by the host, and by kernels of graphs: those that a kernel launches
// to run beside its graph run behind the kernel, its tail launches behind the graph and all that it
// launched. Driver lock held.
#pragma once

#include "simulated_cuda/driver/streams/graph.h"

#include <cstdint>

namespace gmt::sim {

struct Stream;

// All nodes, and what their kernels launch.
CUresult run_graph(GraphExec& exec, Stream& stream);

bool is_graph_running();
// Its handle; 0: none runs, or it is none that kernels may launch, as an H100 answers.
std::uint64_t running_graph();
// Why a kernel may not launch the graph, as cudaError_t numbers it; 0: it may.
std::uint32_t refuse_graph(std::uint64_t handle, bool is_tail);
void launch_from_kernel(std::uint64_t handle, bool is_tail);

} // namespace gmt::sim
