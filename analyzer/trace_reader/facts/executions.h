// SPDX-License-Identifier: Apache-2.0
// How far kernels ran on the simulated device: launches that ran, those that did not and why, and
// which of the executed features are only near to a GPU's. From records of kind Execution.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/event.h"
#include "trace/kernel_faults.h"

namespace gmt {

struct Executions {
  // Launches of one kernel that did not run to their end, for one reason.
  struct LeftOut {
    trace::ExecutionOp op = trace::ExecutionOp::kNotRun;
    std::string kernel;      // as linked
    std::string reason;      // half a sentence
    std::string instruction; // of PTX, and where: "file.cu:12"; empty if none is to blame
    std::string line;
    std::uint64_t launches = 0;
  };

  std::uint64_t launches = 0, ran = 0, skipped = 0, stopped = 0;
  std::uint64_t thread_instructions = 0, nanoseconds = 0;
  std::vector<LeftOut> left_out;        // in the order in which each happened first
  std::vector<std::string> approximate; // opcodes
  bool any = false;                     // a record was there
};

class ExecutionFacts {
public:
  // `text` answers the text of an id.
  void follow(const Event& e, const std::function<std::string_view(std::uint64_t)>& text);
  const Executions& executions() const { return executions_; }

private:
  Executions executions_;
};

// "3 launches were not run: ..."; half a sentence for the report's "not checked".
std::string in_words(const Executions::LeftOut& left_out);

} // namespace gmt
