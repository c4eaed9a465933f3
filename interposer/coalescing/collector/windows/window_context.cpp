// SPDX-License-Identifier: Apache-2.0
// The gate is a pair of flags that each side sets before it looks at the other's: a submitter
// counts itself in and then looks for `closed`, a closer closes and then looks for submitters and
// captures. So one of the two always sees the other, and it is the closer that gives way; a
// submitter waits only for a closer that has found the context free of calls.
#include "interposer/coalescing/collector/windows/window_context.h"

#include <new>
#include <sys/mman.h>

#include "interposer/base/bounded_lock.h"
#include "interposer/base/signal_guard.h"
#include "interposer/coalescing/collector/core.h"

namespace gmt::interposer::collector {

constinit CaptureSet captures;

namespace {

constinit std::atomic<Context*> contexts[kMostContexts] = {};
constinit std::atomic<bool> making{false};
constinit std::atomic<std::uint32_t> files{0};

constexpr int kMostWaits = 50000; // a second at least: longer than any reading of an idle context

} // namespace

Context* context_at(unsigned index) noexcept {
  return index < kMostContexts ? contexts[index].load(std::memory_order_acquire) : nullptr;
}

Context* known_context(std::uint64_t handle) noexcept {
  for (const auto& entry : contexts) {
    Context* context = entry.load(std::memory_order_acquire);
    if (context == nullptr || context->handle == handle) return context;
  }
  return nullptr;
}

Context* meet_context(std::uint64_t handle) noexcept {
  if (Context* known = known_context(handle)) return known;
  const SignalGuard signals;
  const BoundedLock lock(making, kLockMilliseconds);
  if (!lock.held()) return nullptr;
  if (Context* known = known_context(handle)) return known;
  for (unsigned i = 0; i < kMostContexts; ++i) {
    if (contexts[i].load() != nullptr) continue;
    void* memory =
      mmap(nullptr, sizeof(Context), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* context = new (memory) Context;
    context->handle = handle;
    context->index = i;
    contexts[i].store(context, std::memory_order_release);
    return context;
  }
  return nullptr;
}

bool make_sums(Context& context) noexcept {
  if (context.has_sums.load(std::memory_order_acquire)) return context.sums.windows() != nullptr;
  const SignalGuard signals;
  const BoundedLock lock(making, kLockMilliseconds);
  if (!lock.held()) return false;
  if (!context.has_sums.load()) {
    context.sums.begin(files.load(), core->context_id());
    if (context.sums.windows() != nullptr) files.fetch_add(1);
    context.has_sums.store(true, std::memory_order_release);
  }
  return context.sums.windows() != nullptr;
}

void forget_contexts() noexcept {
  for (auto& entry : contexts) entry.store(nullptr);
  making.store(false);
  files.store(0);
  captures.forget();
}

void enter(Context& context) noexcept {
  for (int i = 0;; ++i) {
    context.submitting.fetch_add(1);
    if (!context.closed.load() || i == kMostWaits) return;
    context.submitting.fetch_sub(1);
    if (i >= 100) wait_a_little();
  }
}

void leave(Context& context) noexcept { context.submitting.fetch_sub(1); }

Gate::Gate(Context& context, Needs needs) noexcept : context_(context) {
  if (context.closed.exchange(true)) return;
  held_ = !captures.any() && (needs == Needs::kNothing || context.submitting.load() == 0);
  if (!held_) context.closed.store(false);
}

Gate::~Gate() {
  if (held_) context_.closed.store(false);
}

void wait_for_gates() noexcept {
  for (const auto& entry : contexts) {
    const Context* context = entry.load(std::memory_order_acquire);
    for (int i = 0; context != nullptr && context->closed.load() && i < kMostWaits; ++i)
      wait_a_little();
  }
}

} // namespace gmt::interposer::collector
