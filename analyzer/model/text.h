// SPDX-License-Identifier: Apache-2.0
// A sentence whose last words are open: which name a CUDA call has for the program. A statically
// linked runtime hides its calls; that cuMemAlloc was cudaMalloc is known only from the symbols of
// the call stack. So a Text keeps the names as they were recorded and marks where they stand.
// Invariant: marks are in order and do not overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/base/text_format.h"

namespace gmt {

// The name of a recorded call, as a part of a Text.
struct CallName {
  std::string_view name;
};

// A word that each of CUDA's two APIs spells in its own way. `is_runtime`: the recorded calls are
// the runtime's.
struct ApiWord {
  bool is_runtime;
  std::string_view driver, runtime;
};

// The call site where a finding's first stack of allocations begins, as --guard-exclude
// takes it: "libfoo.so+0x1234". Known when the stacks are.
struct AllocationSite {};

// Where the finding's first stack of an allocation was made, for people: "at <file>:<line>". The
// second one in a sentence means the second such stack, and so on. Known when the stacks are.
struct TensorSite {};

class Text {
public:
  enum class Site : std::uint8_t { kNone, kAllocation, kTensor };

  // A view of what a Text is made of.
  class Part {
  public:
    Part(std::string_view words) : words_(words) {}
    Part(const char* words) : words_(words) {}
    Part(const std::string& words) : words_(words) {}
    Part(CallName call) : words_(call.name), is_call_(true) {}
    Part(const ApiWord& word) : words_(word.is_runtime ? word.runtime : word.driver) {
      if (!word.is_runtime) runtime_ = word.runtime;
    }
    Part(AllocationSite) : words_("FILE+0xOFFSET"), site_(Site::kAllocation) {}
    Part(TensorSite) : words_("by PyTorch"), site_(Site::kTensor) {}
    Part(const Text& text) : text_(&text) {}

  private:
    friend class Text;
    std::string_view words_, runtime_;
    bool is_call_ = false;
    Site site_ = Site::kNone;
    const Text* text_ = nullptr;
  };
  struct Mark {
    std::size_t begin, size; // in recorded()
    // What stands there if the program calls the runtime; empty: it is a call's name
    std::string runtime;
    Site site = Site::kNone; // what stands there is no name but a call site
  };

  Text() = default;
  Text(std::string words) : recorded_(std::move(words)) {}
  Text(std::string_view words) : recorded_(words) {}
  Text(const char* words) : recorded_(words) {}
  Text(CallName call) { add(call); }
  Text(const ApiWord& word) { add(word); }
  Text(std::initializer_list<Part> parts) {
    for (const Part& part : parts) add(part);
  }

  Text& operator+=(const Text& more) {
    add(more);
    return *this;
  }

  bool empty() const { return recorded_.empty(); }
  const std::string& recorded() const { return recorded_; } // with all names as they were recorded
  const std::vector<Mark>& marks() const { return marks_; }

private:
  void add(const Part& part) {
    const std::size_t begin = recorded_.size();
    if (part.text_ != nullptr) {
      for (const Mark& mark : part.text_->marks_)
        marks_.push_back({begin + mark.begin, mark.size, mark.runtime, mark.site});
      recorded_ += part.text_->recorded_;
      return;
    }
    recorded_ += part.words_;
    const bool is_marked = part.is_call_ || part.site_ != Site::kNone || !part.runtime_.empty();
    if (is_marked && !part.words_.empty())
      marks_.push_back({begin, part.words_.size(), std::string(part.runtime_), part.site_});
  }

  std::string recorded_;
  std::vector<Mark> marks_;
};

// "CUDA_ERROR_INVALID_VALUE (1)", or as the runtime calls it.
inline Text error_text(std::uint16_t code, bool is_runtime) {
  return ApiWord{is_runtime, error_name(code, false), error_name(code, true)};
}

} // namespace gmt
