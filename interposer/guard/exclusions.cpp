// SPDX-License-Identifier: Apache-2.0
// What the list says of a call stack is asked once and kept by the stack's hash.
#include "interposer/guard/exclusions.h"

#include <atomic>
#include <cstdio>
#include <cstring>

#include "interposer/base/own_stack.h"
#include "interposer/loader/object_files.h"
#include "interposer/log/process.h"
#include "interposer/log/unwinder.h"

namespace gmt::interposer {

namespace {

constexpr unsigned kMostFrames = 48;
constexpr unsigned kSlots = 4096; // a stack that finds its slot taken is asked again
constexpr std::uint64_t kPlainBit = 1;
constinit std::atomic<std::uint64_t> known_stacks[kSlots] = {}; // hash without its lowest bit, and
                                                                // the bit
constexpr unsigned kMostExported = 256;
constinit std::atomic<std::uint64_t> exported[kMostExported] = {};
constinit std::atomic<bool> any_exported{false};

std::uint64_t hash_of(void* const* frames, unsigned count) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (unsigned i = 0; i < count; ++i) {
    const auto address = reinterpret_cast<std::uint64_t>(frames[i]);
    if (is_own_code(frames[i])) continue;
    hash = (hash ^ address) * 0x100000001b3;
    hash ^= hash >> 29;
  }
  return hash & ~kPlainBit;
}

[[gnu::noinline]] bool names_any(const char* list, void* const* frames, unsigned count) noexcept {
  ObjectFile object;
  for (unsigned i = 0; i < count; ++i) {
    if (is_own_code(frames[i]) || !object_of(frames[i], object)) continue;
    const char* slash = std::strrchr(object.path, '/');
    const auto offset = reinterpret_cast<std::uint64_t>(frames[i]) - object.bias;
    if (list_names(list, slash != nullptr ? slash + 1 : object.path, offset)) return true;
  }
  return false;
}

bool list_excludes(const char* list, std::uint64_t stack, void* const* frames,
                   unsigned count) noexcept {
  if (list[0] == '\0') return false;
  std::atomic<std::uint64_t>& slot = known_stacks[(stack >> 1) % kSlots];
  const std::uint64_t word = slot.load(std::memory_order_relaxed);
  if ((word & ~kPlainBit) == stack) return (word & kPlainBit) != 0;
  const bool plain = names_any(list, frames, count);
  slot.store(stack | (plain ? kPlainBit : 0), std::memory_order_relaxed);
  return plain;
}

bool was_exported(std::uint64_t stack) noexcept {
  if (!any_exported.load(std::memory_order_acquire)) return false;
  for (const auto& e : exported) {
    const std::uint64_t hash = e.load();
    if (hash == stack) return true;
    if (hash == 0) return false;
  }
  return false;
}

[[gnu::noinline]] StackVerdict ask_here() noexcept {
  void* frames[kMostFrames];
  const unsigned count = unwind(frames, kMostFrames);
  if (count == 0) return {};
  StackVerdict verdict;
  verdict.stack = hash_of(frames, count);
  if (was_exported(verdict.stack)) {
    verdict.plain = true;
    verdict.why = trace::GuardPlain::kExported;
  } else {
    verdict.plain = list_excludes(Process::options().guard_exclude, verdict.stack, frames, count);
  }
  return verdict;
}

} // namespace

bool list_names(const char* list, const char* file, std::uint64_t offset) noexcept {
  char site[300];
  const int length =
    std::snprintf(site, sizeof site, "%s+0x%llx", file, static_cast<unsigned long long>(offset));
  const auto whole = static_cast<std::size_t>(length > 0 ? length : 0);
  const std::size_t name = std::strlen(file);
  for (const char* part = list; *part != '\0';) {
    const std::size_t size = std::strcspn(part, ",");
    if (size == name && std::strncmp(part, file, size) == 0) return true;
    if (size == whole && whole < sizeof site && std::strncmp(part, site, size) == 0) return true;
    part += size + (part[size] == ',' ? 1 : 0);
  }
  return false;
}

StackVerdict ask_stack() noexcept {
  StackVerdict verdict;
  with_room<kRoomForCapture>([&](bool) noexcept { verdict = ask_here(); });
  return verdict;
}

void exclude_stack(std::uint64_t stack) noexcept {
  if (stack == 0 || was_exported(stack)) return;
  for (auto& e : exported) {
    std::uint64_t none = 0;
    if (e.compare_exchange_strong(none, stack) || none == stack) break;
  }
  any_exported.store(true, std::memory_order_release);
}

void forget_exclusions() noexcept {
  any_exported.store(false);
  for (auto& e : exported) e.store(0);
  for (auto& k : known_stacks) k.store(0);
}

} // namespace gmt::interposer
