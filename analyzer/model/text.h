// SPDX-License-Identifier: Apache-2.0
// A sentence whose last words are open: which name a CUDA call has for the program. A statically linked runtime hides
// its calls; that cuMemAlloc was cudaMalloc is known only from the symbols of the call stack. So a Text keeps the names
// as they were recorded and marks where they stand. Invariant: marks are in order and do not overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/text_format.h"

namespace gmt {

// The name of a recorded call, as a part of a Text.
struct CallName {
  std::string_view name;
};

// A word that each of CUDA's two APIs spells in its own way. `is_runtime`: the recorded calls are the runtime's.
struct ApiWord {
  bool is_runtime;
  std::string_view driver, runtime;
};

class Text {
public:
  struct Mark {
    std::size_t begin, size; // in recorded()
    std::string runtime;     // what stands there if the program turns out to call the runtime; empty: it is a call's name
  };

  Text() = default;
  Text(std::string words) : recorded_(std::move(words)) {}
  Text(std::string_view words) : recorded_(words) {}
  Text(const char* words) : recorded_(words) {}
  Text(CallName call) : recorded_(call.name) {
    if (!recorded_.empty()) marks_.push_back({0, recorded_.size(), {}});
  }
  Text(const ApiWord& word) : recorded_(word.is_runtime ? word.runtime : word.driver) {
    if (!word.is_runtime) marks_.push_back({0, recorded_.size(), std::string(word.runtime)});
  }
  Text(std::initializer_list<Text> parts) {
    for (const Text& part : parts) *this += part;
  }

  Text& operator+=(const Text& more) {
    for (const Mark& mark : more.marks_) marks_.push_back({recorded_.size() + mark.begin, mark.size, mark.runtime});
    recorded_ += more.recorded_;
    return *this;
  }

  bool empty() const { return recorded_.empty(); }
  const std::string& recorded() const { return recorded_; } // with all names as they were recorded
  const std::vector<Mark>& marks() const { return marks_; }

private:
  std::string recorded_;
  std::vector<Mark> marks_;
};

// "CUDA_ERROR_INVALID_VALUE (1)", or as the runtime calls it.
inline Text error_text(std::uint16_t code, bool is_runtime) {
  return ApiWord{is_runtime, error_name(code, false), error_name(code, true)};
}

} // namespace gmt
