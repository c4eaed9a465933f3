// SPDX-License-Identifier: Apache-2.0
// What a detector says: one finding is one mistake (or one group of equal mistakes) with every call stack
// that matters. Detectors fill it with stack ids; the report resolves them to Frames before any output runs.
// Sizes are bytes, addresses are the program's own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/event.h"

namespace gmt {

enum class Severity : std::uint8_t { kNote, kWarning, kError };

// One frame as a person reads it. An inlined function has its own frame with `inlined` set, innermost first.
struct Frame {
  std::uint64_t address = 0; // in the process, as the return address was captured
  std::string function;      // demangled, with parameters; empty if unknown
  std::string file;          // as the compiler recorded it; empty without line information
  std::uint32_t line = 0;
  std::string module;        // path of the object file, empty if unknown
  std::uint64_t module_offset = 0; // address - load bias of the module
  bool inlined = false;
};

struct LabelledStack {
  std::string label; // "allocated here", "first freed here", "freed again here", ...
  StackId stack;
  std::string api;   // the call as the program wrote it: cudaMalloc, else cuMemAlloc_v2
  std::vector<Frame> frames; // filled by the report, innermost first
};

struct Finding {
  std::string kind; // its detector's id: "leak", "double-free", ...
  Severity severity = Severity::kError;
  std::string message; // one sentence: what happened, with numbers
  std::string advice;  // one sentence: what to do
  std::uint64_t bytes = 0;
  std::uint64_t count = 1;
  std::optional<std::uint64_t> address; // an example, where one address matters
  std::string range;   // NVTX ranges open at the example (a leak's birth), "epoch 2 / forward"; empty if none
  std::string api;     // the call at fault as the program wrote it; empty for leaks' absence of one
  std::vector<LabelledStack> stacks;    // the call at fault first, then backwards in time

  // Findings of one kind with equal keys are merged by grouping: counts and bytes add up, the first stays the
  // example. A detector puts here what must be equal besides kind, api and stacks (a family, an error code).
  std::string group;
};

// A kind that could not be evaluated, or only in part: silence must never look like health.
struct NotChecked {
  std::string what; // a finding's id, or a sentence's subject
  std::string why;
};

} // namespace gmt
