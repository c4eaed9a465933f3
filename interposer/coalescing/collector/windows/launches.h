// SPDX-License-Identifier: Apache-2.0
// The launches of kernels and of graphs: counts them, and finds those that are due for a window
// (windows.h) or for counters (counting.h). A graph's launch is one of each of its kernels, which
// are never measured there.
//
// Invariants: each launch comes by three times at most: prepare, before the thread enters the
// context; count, between enter() and the call; discount, if the call failed.
#pragma once

#include <cstdint>

#include "interposer/coalescing/collector/windows/window_context.h"

namespace gmt::interposer::collector {

struct GraphKernels;

struct Launch {
  Kernel* kernel = nullptr; // null if it is not known
  std::uint64_t warps = 0;
  bool timed = false;         // by itself, to know what measuring its kernel would cost
  std::uint64_t expected = 0; // nanoseconds that it takes in a window that measures `part`
  Part part = Part::kAll;
};

// Closes a window that has served, opens one if the launch is due.
Launch prepare_launch(Context& context, std::uint64_t function, std::uint64_t warps) noexcept;
// The launch's number in Context::timings, 0 if it is not timed.
unsigned count_launch(Context& context, const Launch& launch, std::uint64_t stream) noexcept;
void discount_launch(Context& context, std::uint64_t function) noexcept;

// Null: it is not known what the graph launches.
void prepare_graph(Context& context, const GraphKernels* kernels) noexcept;
void count_graph(Context& context) noexcept;
void discount_graph(Context& context, const GraphKernels* kernels) noexcept;

} // namespace gmt::interposer::collector
