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
    bool as_asked = false; // an option left them out, or ended them
  };

  // What kernels executed and a GPU may compute otherwise.
  struct Feature {
    enum class Difference : std::uint8_t {
      kLastBits, // an approximate instruction
      kOrder,    // floating-point additions, whose order changes the sum
      kJoined,   // a multiplication and an addition that a GPU may round once
    };
    std::string name; // "ex2.approx.f32"
    Difference difference = Difference::kLastBits;
    std::uint64_t instructions = 0; // of threads; 0: not counted
    std::uint64_t launches = 0;
  };

  // Launches of a kernel that ran without the checks of --kernel-checks, or in which races were not
  // looked for everywhere, for one reason.
  struct Unchecked {
    std::string kernel; // as linked; empty: not known
    std::string reason; // half a sentence
    std::uint64_t launches = 0;
  };

  std::uint64_t launches = 0, ran = 0, skipped = 0, stopped = 0;
  std::uint64_t thread_instructions = 0, nanoseconds = 0;
  std::uint64_t seed = 0;        // of the order of blocks and warps; 0: as they are numbered
  std::uint64_t late = 0;        // nanoseconds by which asynchronous work may run late (--late)
  std::uint64_t threads = 0;     // that may run blocks; 0: unknown
  std::vector<LeftOut> left_out; // in the order in which each happened first
  std::vector<Feature> features; // in the order in which each was executed first
  std::vector<Unchecked> unchecked;
  std::vector<Unchecked> without_races; // looked for everywhere in global memory
  bool any = false;                     // the simulated device left a record
  bool run_over = false;                // the device ended the program (--run-time)

  std::uint64_t exact_instructions() const; // of threads
  std::uint64_t launches_left_out(trace::ExecutionOp op) const;
};

class ExecutionFacts {
public:
  // `text` answers the text of an id.
  void follow(const Event& e, const std::function<std::string_view(std::uint64_t)>& text);
  const Executions& executions() const { return executions_; }

private:
  Executions executions_;
};

// "a GPU's last bits may differ"
std::string_view in_words(Executions::Feature::Difference difference);
// "3 launches were not run: ..."; half a sentence for the report's "not checked".
std::string in_words(const Executions::LeftOut& left_out);

} // namespace gmt
