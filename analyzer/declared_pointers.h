// SPDX-License-Identifier: Apache-2.0
// Which parameters of a kernel its C++ name declares as pointers. A word of a structure that is passed by
// value may be anything; of a parameter `float*` it is an address. For detectors that judge the words of a
// launch.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/detector.h"

namespace gmt {

class DeclaredPointers {
public:
  explicit DeclaredPointers(const ProcessFacts& facts) : facts_(facts) {}

  // Of a kernel's handle, now. C names do not tell: false.
  bool contain(std::uint64_t function, unsigned parameter);

private:
  const ProcessFacts& facts_;
  std::unordered_map<std::uint64_t, std::pair<std::string, std::vector<bool>>> declared_; // by function
};

} // namespace gmt
