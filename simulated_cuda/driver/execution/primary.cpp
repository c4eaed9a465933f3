// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/execution/primary.h"

#include "simulated_cuda/driver/state/state.h"

#include <cstdint>
#include <utility>

namespace gmt::sim {
namespace {

struct LastLaunch {
  std::uint64_t stream = 0; // its id, which no other one gets
  std::shared_ptr<const executor::PrimaryLaunch> primary;
};

LastLaunch& last() {
  static auto* const launch = new LastLaunch;
  return *launch;
}

} // namespace

std::shared_ptr<const executor::PrimaryLaunch> take_primary(const Stream& stream) {
  const LastLaunch taken = std::exchange(last(), {});
  return taken.stream == stream.id ? taken.primary : nullptr;
}

// Late work runs in waits, of which the work behind them would know nothing.
void keep_primary(const Stream& stream, std::shared_ptr<const executor::PrimaryLaunch> primary) {
  if (state().settings.late_seconds == 0) last() = {stream.id, std::move(primary)};
}

void forget_primary() { last() = {}; }

} // namespace gmt::sim
