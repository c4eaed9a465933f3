// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/execution/capability.h"

#include "simulated_cuda/driver/code/image.h"
#include "simulated_cuda/driver/state/state.h"

#include <algorithm>

namespace gmt::sim {
namespace {

constexpr unsigned kWithoutPtx = 90;

unsigned& highest_seen() {
  static unsigned highest = 0;
  return highest;
}

} // namespace

void claim_capability_of(const void* image) {
  highest_seen() = std::max(highest_seen(), highest_ptx(image));
}

unsigned claimed_capability() {
  if (state().settings.capability != 0) return state().settings.capability;
  return highest_seen() != 0 ? highest_seen() : kWithoutPtx;
}

unsigned newest_target() {
  const unsigned claimed = claimed_capability();
  return state().settings.capability != 0 ? claimed : std::max(claimed, kWithoutPtx);
}

} // namespace gmt::sim
