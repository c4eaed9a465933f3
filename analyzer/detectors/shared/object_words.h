// SPDX-License-Identifier: Apache-2.0
// Words for CUDA's objects that are no memory, and the stacks of their lives.
#pragma once

#include <string_view>

#include "analyzer/cuda_state/objects.h"
#include "analyzer/detectors/process_facts.h"
#include "analyzer/model/finding.h"

namespace gmt {

struct ObjectWords {
  std::string_view one, several;    // "a stream", "streams"
  std::string_view destroy, driver; // "cudaStreamDestroy", "cuStreamDestroy"
};
const ObjectWords& words_of(trace::ObjectClass object);

// The call that destroys such objects, as the caller of `api` would write it.
ApiWord right_destroy_for(trace::ObjectClass object, std::string_view api);

// "destroyed here" and "created here", as far as the calls are known.
void add_life(Finding& f, const CudaObject& object, StackOrder order, const TraceNames& names);

} // namespace gmt
