// SPDX-License-Identifier: Apache-2.0
// How the calls of a trace order work on the device: the column of trace/cuda_api.def by the names that the trace
// has, since its numbers are those of the build that wrote it.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/detectors/detector.h"
#include "trace/ordering.h"

namespace gmt {

class Orderings {
public:
  explicit Orderings(const ProcessFacts& facts) : facts_(facts) {}

  trace::Ordering of(const Event& e);

private:
  const ProcessFacts& facts_;
  std::vector<std::optional<trace::Ordering>> known_; // by the trace's number of the call
};

} // namespace gmt
