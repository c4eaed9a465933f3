// SPDX-License-Identifier: Apache-2.0
// How the calls of a trace order work on the device: the column of trace/cuda_api.def by the names
// that the trace has, since its numbers are those of the build that wrote it.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/model/event.h"
#include "analyzer/model/trace_names.h"
#include "trace/ordering.h"

namespace gmt {

class Orderings {
public:
  explicit Orderings(const TraceNames& names) : names_(names) {}

  trace::Ordering of(const Event& e);

private:
  const TraceNames& names_;
  std::vector<std::optional<trace::Ordering>> known_; // by the trace's number of the call
};

} // namespace gmt
