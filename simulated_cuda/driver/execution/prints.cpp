// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/execution/prints.h"

#include <cstdio>

namespace gmt::sim {
namespace {

std::string& kept() {
  static auto* const text = new std::string; // outlives the destructors of the program's statics
  return *text;
}

} // namespace

void keep_print(const std::string& text) { kept() += text; }

void flush_prints() {
  if (kept().empty()) return;
  std::fwrite(kept().data(), 1, kept().size(), stdout);
  std::fflush(stdout);
  kept().clear();
}

} // namespace gmt::sim
