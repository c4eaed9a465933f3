// SPDX-License-Identifier: Apache-2.0
// What a finding about an object that is no memory says: the call that destroys it, and the stacks
// of its life.
#pragma once

#include <string_view>

#include "analyzer/cuda_state/objects.h"
#include "analyzer/detectors/process_facts.h"
#include "analyzer/model/finding.h"

namespace gmt {

// The call that destroys such objects, as the caller of `api` would write it.
ApiWord right_destroy_for(trace::ObjectClass object, std::string_view api);

// "destroyed here" and "created here", as far as the calls are known.
void add_life(Finding& f, const CudaObject& object, StackOrder order, const TraceNames& names);

} // namespace gmt
