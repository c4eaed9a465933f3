// SPDX-License-Identifier: Apache-2.0
// Which modules have instrumented kernels, and giving them their context's ring: hand_over_ring()
// of ring.h. What is known of modules and kernels is void as soon as code may have been unloaded
// (code_generation()): then it is asked again and the same address is written again, which does no
// harm.
#include <atomic>

#include "interposer/device_ring/driver.h"
#include "interposer/device_ring/ring.h"
#include "interposer/driver_state/code_generation.h"
#include "interposer/driver_state/context_ids.h"
#include "interposer/log/thread_log.h"
#include "interposer/log/thread_session.h"
#include "trace/device_ring.h"

namespace gmt::interposer {

namespace {

enum Verdict : std::uint64_t { kPlain = 1, kHandedOver = 2, kWithoutRing = 3 };

// By module: generation of the code << 2 | verdict. Under the RingLock; what finds no room is asked
// for again.
struct KnownModule {
  std::uint64_t module, value;
};
constexpr unsigned kKnownModules = 1 << 12;
constinit KnownModule known_modules[kKnownModules] = {};

Verdict examine(ThreadLog& log, std::uint64_t module, std::uint64_t context) noexcept {
  std::uint64_t address = 0;
  std::size_t bytes = 0;
  if (driver.variable(&address, &bytes, module, trace::kControlSymbol) != 0 ||
      bytes != sizeof address)
    return kPlain;
  const Ring* ring = ring_of(log, context);
  if (ring != nullptr &&
      driver.copy(address, &ring->control, sizeof ring->control, ring->stream) == 0 &&
      wait_for(ring->stream)) {
    return kHandedOver;
  }
  log.count_loss(trace::LossCause::kNoRing, ThreadLog::Worth::kNeeded);
  return kWithoutRing;
}

Verdict verdict_on(ThreadLog& log, std::uint64_t module, std::uint64_t context,
                   std::uint64_t generation) noexcept {
  KnownModule& known = known_modules[module * 0x9fb21c651e98df25u >> 52];
  if (generation != 0 && known.module == module && known.value >> 2 == generation) {
    return static_cast<Verdict>(known.value & 3);
  }
  const Verdict verdict = examine(log, module, context);
  if (generation != 0) known = {module, generation << 2 | verdict};
  return verdict;
}

// 0 if the driver does not say.
std::uint64_t module_of(std::uint64_t function) noexcept {
  std::uint64_t module = 0, of_kernel = 0;
  if (driver.module_of(&module, function) == 0) return module;
  if (driver.function_of(&of_kernel, function) != 0) return 0;
  return driver.module_of(&module, of_kernel) == 0 ? module : 0;
}

// Kernels with their contexts, by one word that is made of both and of the generation; its lowest
// bit says whether the module is instrumented. Read without the lock.
constexpr unsigned kHandedOverEntries = 1 << 10;
constinit std::atomic<std::uint64_t> handed_over[kHandedOverEntries] = {};

std::uint64_t mixed(std::uint64_t a, std::uint64_t b, std::uint64_t c) noexcept {
  std::uint64_t h = (a ^ c) * 0x9e3779b97f4a7c15u;
  h = (h ^ h >> 32 ^ b) * 0x9fb21c651e98df25u;
  return (h ^ h >> 29) & ~std::uint64_t{1};
}

} // namespace

bool hand_over_ring(std::uint64_t function) noexcept {
  const std::uint64_t context = current_context_handle();
  const std::uint64_t generation = code_generation();
  if (context == 0 || function == 0) return false;
  const std::uint64_t key = mixed(function, context, generation);
  std::atomic<std::uint64_t>& entry = handed_over[key >> 54];
  const std::uint64_t found = entry.load(std::memory_order_acquire);
  if (generation != 0 && (found & ~std::uint64_t{1}) == key) return (found & 1) != 0;
  ThreadLog* log = thread_log();
  const RingLock lock;
  if (log == nullptr || !lock.ready()) return false;
  const std::uint64_t module = module_of(function);
  if (module == 0) return false;
  const bool instrumented = verdict_on(*log, module, context, generation) != kPlain;
  if (generation != 0) entry.store(key | (instrumented ? 1 : 0), std::memory_order_release);
  return instrumented;
}

} // namespace gmt::interposer
