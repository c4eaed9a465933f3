// SPDX-License-Identifier: Apache-2.0
// Whether and how a driver call that succeeds orders work on the device: a column of
// trace/cuda_api.def. C++17, includes nothing of ours and nothing of CUDA's.
#pragma once

#include <cstdint>

namespace gmt::trace {

enum class Ordering : std::uint8_t {
  kNone,     // orders nothing and makes no work
  kStream,   // makes work, in the order of the stream that the call names
  kBlocking, // the same, and the host may wait for that work
  kRecord,   // an event stands for the work before it
  kWait,     // later work waits for an event
  kHost,     // the host knows that work is done
  kSignal,   // makes work by which others learn that the work before it is done
  kOutside,  // later work waits for something that no call shows
  kContext,  // the host may wait for all work of the context
  kGraph,    // changes what a graph is going to do, or begins or ends a capture
  kUnknown,  // may order work in a way that the record of the call does not show
};

} // namespace gmt::trace
