// SPDX-License-Identifier: Apache-2.0
// Windows: the times in which CUPTI counts. One is opened before a launch that is due, and read and
// closed when it has served. In each of these CUPTI waits for the context, and a program may let
// one kernel wait for the next launch.
//
// Invariants: opening, reading and closing happen under the gate, when every stream that had work
// was found idle while no other thread was submitting. Launches are held back for that before a
// window opens, for a fifth of a second at most, and behind the launches that are measured, until
// these are done (close_behind()); the launch of a graph until the window is closed
// (enter_for_graph()). A kernel may wait for what is held back: holding in vain ends after two
// seconds of a run (sampling_policy.h). Then a window stays open until an idle moment comes, and no
// other is opened. Where CUPTI cannot patch functions beforehand (cupti.h), a function's first
// launch in a window waits inside CUPTI: nothing can be done about that.
#pragma once

#include <cstdint>

#include "interposer/coalescing/collector/windows/window_context.h"

namespace gmt::interposer::collector {

// Opens one, if CUPTI and the context let it: not while the context is busy, nor while another
// thread opens or closes one. `function` is about to be launched. Launches are held back for
// `longest_wait` nanoseconds at most.
void open_window(Context& context, std::uint64_t function, Part part,
                 std::uint64_t longest_wait = kMostHolding) noexcept;

// A kernel of CUDA 12 may be known to the driver and not be loaded yet. Only what is loaded is
// patched, and the time of a launch that loads says little.
void load(std::uint64_t function) noexcept;

// Closes the context's open window if the context is idle.
void close_if_idle(Context& context) noexcept;
void close_at_last(Context& context) noexcept; // holds launches back for it
// Holds this thread, which is about to launch what is not to be measured, until the window is
// closed: launches that were due may be measured, and no others. Ends in any case after twice the
// time that was expected; then the window stays open, and its kernels are not measured again.
void close_behind(Context& context) noexcept;
// enter() before what must not run in a window. Holds the thread until none is open, but not while
// it captures, since nothing can be closed then and only it can end that. A graph is held for
// kMostHoldingOfGraphs at most: CUPTI loses the kernels of one that was made outside of the window,
// or has them fault (H100, driver 580). A kernel that is costly to patch, for kMostHoldingOfCostly
// and once a window.
void enter_for_graph(Context& context) noexcept;
void enter_for_costly(Context& context) noexcept;
// The context ends, surely or perhaps: closed if it is idle, in the first case whatever it is
// doing.
void close_before_end(Context& context, bool surely) noexcept;
// The process ends: closed where that is possible at once, and none is opened any more.
void close_at_exit() noexcept;
// It has ended, with its window.
void drop_window(Context& context) noexcept;

void begin_windows() noexcept; // reads the options
void forget_windows() noexcept;

} // namespace gmt::interposer::collector
