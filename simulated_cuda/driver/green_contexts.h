// SPDX-License-Identifier: Apache-2.0
// Green contexts: a part of a device's multiprocessors, and streams whose kernels use no others.
// The simulated device has none to part, so that streams run as all others do; calls are answered
// as an H100 does. Used with the driver lock held.
#pragma once

#include "simulated_cuda/driver/state/state.h"

#include <cuda.h>

#include <vector>

namespace gmt::sim {

struct GreenContext {
  CUdevResource resource{};
  Context* context = nullptr; // what cuCtxFromGreenCtx() gives
  Context* primary = nullptr;
  std::vector<CUstream> streams;
  bool alive = true;
};

// Whose variables and code a context has: of a green one, its device's primary context.
Context* context_of_code(Context* context);
// Of a stream, or of the current context for its default stream; null: of none.
GreenContext* green_context_of(CUstream stream);
// A stream that cuStreamCreate() made, where a green context is current.
void join_green_context(CUstream stream);
void leave_green_context(CUstream stream); // it ends

} // namespace gmt::sim
