// SPDX-License-Identifier: Apache-2.0
// What the C++ name of a kernel declares its parameters to be. A word of a structure that is passed
// by value may be anything; of a parameter `float*` it is an address, of a parameter `unsigned
// long` a number.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/detectors/detector.h"

namespace gmt {

enum class Declared : std::uint8_t {
  kUnknown,
  kPointer,
  kNumber,
  kOther
}; // kNumber: vectors of CUDA's too

class DeclaredPointers {
public:
  explicit DeclaredPointers(const ProcessFacts& facts) : facts_(facts) {}

  // Of a kernel's handle, now. C names do not say it: kUnknown.
  Declared of(std::uint64_t function, unsigned parameter);
  bool contain(std::uint64_t function, unsigned parameter) {
    return of(function, parameter) == Declared::kPointer;
  }

private:
  const ProcessFacts& facts_;
  std::unordered_map<std::uint64_t, std::pair<std::string, std::vector<Declared>>>
    declared_; // by function
};

} // namespace gmt
