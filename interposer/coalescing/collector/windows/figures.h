// SPDX-License-Identifier: Apache-2.0
// What CUPTI counted in a window becomes sums of functions and instructions.
#pragma once

#include <cstdint>

#include "interposer/coalescing/collector/profiler.h"
#include "interposer/coalescing/collector/windows/window_context.h"

namespace gmt::interposer::collector {

// Records come function by function: what belongs to the last one is kept.
struct Reading {
  Context& context;
  bool begun = false;
  std::uint64_t code = 0; // of the last record's function, as in kAccessFunction
  Kernel* kernel = nullptr;
  SlotEntry* function = nullptr;
};

// `data` is a Reading. First what instructions did to memory comes; then, `again`, how often those
// ran that did something.
void add_figures(void* data, const Figures& figures, bool again) noexcept;

} // namespace gmt::interposer::collector
