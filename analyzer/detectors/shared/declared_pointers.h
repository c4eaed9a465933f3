// SPDX-License-Identifier: Apache-2.0
// What the C++ name of a kernel declares its parameters to be. A word of a structure that is passed
// by value may be anything; of a parameter `float*` it is an address, of a parameter `unsigned
// long` a number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/detectors/detector.h"

namespace gmt {

enum class Declared : std::uint8_t {
  kUnknown,
  kPointer,
  kHandle, // of CUDA's, such as cudaGraphExec_t: it leads to memory of the host's that only CUDA
           // reads
  kNumber, // vectors of CUDA's too
  kOther
};

class DeclaredPointers {
public:
  explicit DeclaredPointers(const ProcessFacts& facts) : facts_(facts) {}

  // Whether it may be a texture or surface object, which is an `unsigned long long`; of C names
  // that is not known.
  bool may_be_object(std::uint64_t function, unsigned parameter);
  // Of a kernel's handle, now. C names do not say it: kUnknown.
  Declared of(std::uint64_t function, unsigned parameter);
  bool contain(std::uint64_t function, unsigned parameter) {
    return of(function, parameter) == Declared::kPointer;
  }

private:
  struct Parameter {
    Declared declared = Declared::kUnknown;
    bool is_unsigned_long_long = false;
  };
  static Parameter declared_by(std::string_view type);
  static std::vector<Parameter> declared_parameters(std::string_view name);
  const Parameter* find(std::uint64_t function, unsigned parameter); // null if it is not known

  const ProcessFacts& facts_;
  std::unordered_map<std::uint64_t, std::pair<std::string, std::vector<Parameter>>>
    declared_; // by function
};

} // namespace gmt
