// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/execution/primary.h"

#include "simulated_cuda/driver/state/state.h"

#include <cstdint>
#include <utility>

namespace gmt::sim {
namespace {

struct Launches {
  std::uint64_t newest = 0; // number
  // The last one that was called, if nothing was since, and the id of its stream, which no other
  // one gets
  std::uint64_t called = 0, stream = 0;
  std::uint64_t ran = 0; // the last one
  std::shared_ptr<const executor::PrimaryLaunch> primary;
};

Launches& launches() {
  static auto* const all = new Launches;
  return *all;
}

} // namespace

void follow(KernelOperation& kernel, const Stream& stream, bool is_programmatic) {
  Launches& all = launches();
  kernel.behind = is_programmatic && all.stream == stream.id ? all.called : 0;
  kernel.number = all.called = ++all.newest;
  all.stream = stream.id;
}

void forget_primary() { launches().called = 0; }

void follow_node(Operation& operation, const Operation* in_front) {
  auto* const kernel = std::get_if<KernelOperation>(&operation);
  if (kernel == nullptr) return;
  const auto* before = in_front == nullptr ? nullptr : std::get_if<KernelOperation>(in_front);
  kernel->behind = before != nullptr && is_programmatic(*kernel) ? before->number : 0;
  kernel->number = ++launches().newest;
}

bool is_programmatic(const KernelOperation& node) {
  const auto found = node.attributes.find(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  return found != node.attributes.end() &&
         found->second.programmaticStreamSerializationAllowed != 0;
}

std::shared_ptr<const executor::PrimaryLaunch> take_primary(const KernelOperation& kernel) {
  Launches& all = launches();
  const auto primary = std::exchange(all.primary, nullptr);
  return kernel.behind != 0 && kernel.behind == all.ran ? primary : nullptr;
}

void keep_primary(const KernelOperation& kernel,
                  std::shared_ptr<const executor::PrimaryLaunch> primary) {
  launches().ran = kernel.number;
  launches().primary = std::move(primary);
}

} // namespace gmt::sim
