// SPDX-License-Identifier: Apache-2.0
// See stack.h. The hash is taken for the identity of a stack: 64 bits over at most some million stacks.
#include "interposer/stack.h"

#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>

#include "interposer/modules.h"
#include "interposer/process.h"
#include "interposer/quiet.h"
#include "interposer/resolve.h"
#include "interposer/thread_log.h"

namespace gmt::interposer {

namespace {

using Backtrace = int (*)(void**, int);
using FlushCache = void (*)(void*, std::uintptr_t, std::uintptr_t);

constinit std::atomic<Backtrace> unw_backtrace{nullptr};
constinit std::atomic<FlushCache> unw_flush_cache{nullptr};
constinit void* unw_local_addr_space = nullptr;

constexpr unsigned kOwnFrames = 8; // at most this many of ours lie on top

std::uint64_t mix(std::uint64_t h, std::uint64_t v) noexcept {
  h ^= v;
  h *= 0x9fb21c651e98df25u;
  return h ^ h >> 29;
}

} // namespace

void open_unwinder() noexcept {
  char path[1100];
  if (!own_folder(path, sizeof path - 32)) return;
  std::strcat(path, "/libunwind.so.8");
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL); // the distribution's
  if (library == nullptr) {
    Process::tell_command("nounwinder", path);
    return;
  }
  // libunwind's C names are these on x86-64: unw_backtrace, _U for generic and _UL for local-only functions.
  unw_flush_cache = reinterpret_cast<FlushCache>(real_dlsym(library, "_ULx86_64_flush_cache"));
  if (auto** space = static_cast<void**>(real_dlsym(library, "_ULx86_64_local_addr_space"))) {
    unw_local_addr_space = *space;
  }
  unw_backtrace = reinterpret_cast<Backtrace>(real_dlsym(library, "unw_backtrace"));
}

std::uint32_t StackInterner::here(ThreadLog& log) noexcept {
  const Backtrace backtrace = unw_backtrace.load(std::memory_order_relaxed);
  const auto depth = static_cast<unsigned>(Process::options().stack_depth);
  if (backtrace == nullptr || depth == 0) return 0;
  if (const std::uint32_t now = module_epoch(); now != epoch_) [[unlikely]] {
    const Quiet quiet;
    if (const FlushCache flush = unw_flush_cache.load()) flush(unw_local_addr_space, 0, 0);
    clear();
    epoch_ = now;
  }
  void* frames[trace::kMaxStackFrames + kOwnFrames];
  const int n = backtrace(frames, static_cast<int>(depth + kOwnFrames));
  unsigned first = 0;
  const auto count = static_cast<unsigned>(n > 0 ? n : 0);
  while (first < count && is_own_code(frames[first])) ++first;
  if (first == count) return 0;
  return intern(log, frames + first, count - first < depth ? count - first : depth);
}

std::uint32_t StackInterner::at_site(ThreadLog& log, const void* caller, const void* frame) noexcept {
  const auto key = mix(reinterpret_cast<std::uint64_t>(caller), reinterpret_cast<std::uint64_t>(frame));
  Site& site = sites_[key % kSites];
  if (site.caller == caller && site.frame == frame && site.epoch == module_epoch() && site.id != 0) return site.id;
  const std::uint32_t id = here(log);
  site = {caller, frame, id, epoch_};
  return id;
}

std::uint32_t StackInterner::intern(ThreadLog& log, void** frames, unsigned count) noexcept {
  std::uint64_t hash = count;
  for (unsigned i = 0; i < count; ++i) hash = mix(hash, reinterpret_cast<std::uint64_t>(frames[i]));
  if (table_ != nullptr) {
    for (std::uint32_t i = static_cast<std::uint32_t>(hash) & mask_; table_[i].id != 0; i = (i + 1) & mask_) {
      if (table_[i].hash == hash) return table_[i].id;
    }
  }
  return add(log, frames, count, hash);
}

std::uint32_t StackInterner::add(ThreadLog& log, void** frames, unsigned count, std::uint64_t hash) noexcept {
  const Quiet quiet;
  if ((table_ == nullptr || used_ * 2 > mask_) && !grow()) return 0;
  note_modules_of(frames, count);
  const std::uint32_t id = ++next_id_;
  std::uint64_t words[2 + trace::kMaxStackFrames];
  words[0] = id;
  words[1] = count;
  for (unsigned i = 0; i < count; ++i) words[2 + i] = reinterpret_cast<std::uint64_t>(frames[i]);
  log.append_words(trace::Kind::kStack, words, 2 + count);
  std::uint32_t i = static_cast<std::uint32_t>(hash) & mask_;
  while (table_[i].id != 0) i = (i + 1) & mask_;
  table_[i] = {hash, id};
  ++used_;
  return id;
}

bool StackInterner::grow() noexcept {
  const std::uint32_t size = table_ == nullptr ? 256 : (mask_ + 1) * 2;
  void* memory = mmap(nullptr, size * sizeof(Entry), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  auto* table = static_cast<Entry*>(memory);
  for (std::uint32_t old = 0; table_ != nullptr && old <= mask_; ++old) {
    if (table_[old].id == 0) continue;
    std::uint32_t i = static_cast<std::uint32_t>(table_[old].hash) & (size - 1);
    while (table[i].id != 0) i = (i + 1) & (size - 1);
    table[i] = table_[old];
  }
  // The old table stays mapped: the code that a signal handler interrupted may still be reading it.
  table_ = table;
  mask_ = size - 1;
  return true;
}

void StackInterner::clear() noexcept {
  if (table_ != nullptr) std::memset(table_, 0, (mask_ + 1) * sizeof(Entry));
  used_ = 0;
  for (Site& site : sites_) site = {};
}

} // namespace gmt::interposer
