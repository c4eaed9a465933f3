// SPDX-License-Identifier: Apache-2.0
// The launches of kernels and of graphs: counts them, and finds those that are due for a window (windows.h) or for counters
// (counting.h). A graph's launch is one of each of its kernels, which are never measured
// there. Used by library.cpp.
//
// Invariants: each launch is told three times at most: prepare, before the thread enters the context; count, between
// enter() and the call; discount, if the call failed.
#pragma once

#include <cstdint>

#include "interposer/cupti/context.h"

namespace gmt::interposer::collector {

struct GraphKernels;

// Closes a window that has served, opens one if the launch is due. Null if the launch is not to be counted.
Kernel* prepare_launch(Context& context, std::uint64_t function) noexcept;
void count_launch(Context& context, Kernel* kernel) noexcept;
void discount_launch(Context& context, std::uint64_t function) noexcept;

// Null: it is not known what the graph launches.
void prepare_graph(Context& context, const GraphKernels* kernels) noexcept;
void count_graph(Context& context) noexcept;
void discount_graph(Context& context, const GraphKernels* kernels) noexcept;

} // namespace gmt::interposer::collector
