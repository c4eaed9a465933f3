// SPDX-License-Identifier: Apache-2.0
// Programs have one context a device, rarely a few more: a linear search over an append-only array.
#include "interposer/driver_state/context_ids.h"

#include <atomic>

#include "interposer/driver_state/device_facts.h"
#include "interposer/loader/driver_function.h"
#include "interposer/log/thread_log.h"

namespace gmt::interposer {

constinit std::atomic<bool> several_contexts{false};

namespace {

constexpr unsigned kMaxContexts = 1024;
constinit std::atomic<std::uint64_t> known_contexts[kMaxContexts] = {};
constexpr unsigned kMaxDevices = 64;
constinit std::atomic<std::uint64_t> primary_contexts[kMaxDevices] = {};
constinit std::atomic<std::uint64_t> first_context{0};
constinit DriverFunction<std::uint64_t*> get_current{"cuCtxGetCurrent"};
constinit DriverFunction<int*> get_device{"cuCtxGetDevice"};

std::uint16_t introduce(ThreadLog& log, unsigned index, std::uint64_t handle) noexcept {
  int device = -1;
  get_device(&device);
  const auto id = static_cast<std::uint16_t>(index + 1);
  trace::Words<trace::ContextWord> words;
  trace::ContextFields context(words);
  context.handle(handle).device(static_cast<std::uint64_t>(std::int64_t{device}));
  context.is_primary(is_primary_context(handle) ? 1 : 0);
  describe_device(log, device);
  log.append_words(trace::Kind::kContext, words.w, words.kCount, id);
  return id;
}

} // namespace

std::uint64_t current_context_handle() noexcept {
  std::uint64_t handle = 0;
  return get_current(&handle) == 0 ? handle : 0;
}

std::uint16_t current_context(ThreadLog& log) noexcept {
  const std::uint64_t handle = current_context_handle();
  if (handle == 0) return 0;
  for (unsigned i = 0; i < kMaxContexts; ++i) {
    std::uint64_t known = known_contexts[i].load(std::memory_order_relaxed);
    if (known == handle) return static_cast<std::uint16_t>(i + 1);
    if (known != 0) continue;
    if (known_contexts[i].compare_exchange_strong(known, handle)) return introduce(log, i, handle);
    if (known == handle) return static_cast<std::uint16_t>(i + 1);
  }
  return 0;
}

std::uint16_t known_context(std::uint64_t handle) noexcept {
  for (unsigned i = 0; handle != 0 && i < kMaxContexts; ++i) {
    const std::uint64_t known = known_contexts[i].load(std::memory_order_relaxed);
    if (known == handle) return static_cast<std::uint16_t>(i + 1);
    if (known == 0) break;
  }
  return 0;
}

void note_context(std::uint64_t handle) noexcept {
  std::uint64_t first = 0;
  if (!first_context.compare_exchange_strong(first, handle) && first != handle)
    several_contexts.store(true);
}

bool is_primary_context(std::uint64_t handle) noexcept {
  for (const auto& p : primary_contexts) {
    if (p.load(std::memory_order_relaxed) == handle) return true;
  }
  return false;
}

void remember_primary_context(std::uint64_t handle) noexcept {
  for (auto& p : primary_contexts) {
    std::uint64_t known = p.load(std::memory_order_relaxed);
    if (known == handle || (known == 0 && p.compare_exchange_strong(known, handle)) ||
        known == handle)
      return;
  }
}

void forget_contexts() noexcept {
  first_context.store(0);
  several_contexts.store(false);
  for (auto& p : primary_contexts) p.store(0);
  for (auto& c : known_contexts) c.store(0);
}

} // namespace gmt::interposer
