// SPDX-License-Identifier: Apache-2.0
// Names come from cuFuncGetName and, for a CUkernel, cuKernelGetName (both of CUDA 12.3): they are
// linked names.
#include "interposer/coalescing/collector/sampling/kernel_table.h"

#include <new>
#include <regex.h>

#include "interposer/base/bounded_lock.h"
#include "interposer/base/signal_guard.h"
#include "interposer/coalescing/collector/driver.h"
#include "interposer/log/interned_text.h"
#include "trace/costly_kernels.h"

namespace gmt::interposer::collector {

namespace {

alignas(regex_t) constinit unsigned char pattern_memory[sizeof(regex_t)] = {};
constinit bool has_pattern = false;

const regex_t* pattern() noexcept {
  return std::launder(reinterpret_cast<const regex_t*>(pattern_memory));
}

constinit std::atomic<bool> met_costly{false};

bool is_chosen(const char* name) noexcept {
  return has_pattern && regexec(pattern(), name, 0, nullptr, 0) == 0;
}

const char* name_of(std::uint64_t function) noexcept {
  const char* name = nullptr;
  if (name_of_function(&name, function) == 0 && name != nullptr) return name;
  return name_of_kernel(&name, function) == 0 ? name : nullptr;
}

std::uint64_t key_of(std::uint64_t function, std::uint64_t generation) noexcept {
  const std::uint64_t mixed = (function ^ generation * 0x9fb21c651e98df25u) * 0x9e3779b97f4a7c15u;
  return mixed != 0 ? mixed : 1;
}

} // namespace

void choose_kernels(const char* text) noexcept {
  if (text[0] == '\0') return;
  has_pattern = regcomp(new (pattern_memory) regex_t, text, REG_EXTENDED | REG_NOSUB) == 0;
}

bool costly_code_is_loaded() noexcept {
  bool loaded = met_costly.load();
  const auto found = [](void* answer, const char*) {
    return !(*static_cast<bool*>(answer) = true);
  };
  if (!loaded) core->each_object("libnccl.so", found, &loaded);
  return loaded;
}

Kernel* Kernels::find(std::uint64_t function) noexcept {
  const std::uint64_t generation = core->code_generation();
  if (generation == 0) return nullptr;
  const std::uint64_t key = key_of(function, generation);
  for (unsigned probe = 0; probe < kProbes; ++probe) {
    const Handle& handle = handles_[((key >> 40) + probe) % kHandles];
    if (handle.key.load(std::memory_order_acquire) != key) continue;
    Kernel* kernel = handle.kernel.load(std::memory_order_acquire);
    // Another handle's by now
    return handle.key.load(std::memory_order_acquire) == key ? kernel : nullptr;
  }
  return nullptr;
}

Kernel* Kernels::named(const char* name) noexcept {
  const std::uint64_t id = text_id(name);
  for (Kernel& kernel : *this) {
    if (kernel.name == id) return &kernel;
  }
  return nullptr;
}

Kernel* Kernels::learn(std::uint64_t function, Sums& sums) noexcept {
  const std::uint64_t generation = core->code_generation();
  const char* name = name_of(function);
  if (name == nullptr) return nullptr;
  const SignalGuard signals;
  const BoundedLock lock(learning_, kLockMilliseconds);
  if (!lock.held()) return nullptr;
  Kernel* kernel = named(name);
  if (kernel == nullptr) {
    const unsigned index = count_.load(std::memory_order_relaxed);
    if (index == kMost) return nullptr;
    kernel = kernels_ + index;
    kernel->name = text_id(name);
    kernel->row = sums.add_function(name, 0);
    kernel->costly = trace::is_costly_kernel(name) && !is_chosen(name);
    kernel->wanted = has_pattern ? is_chosen(name) : !kernel->costly;
    if (kernel->costly) met_costly.store(true);
    if (kernel->wanted) kernel->code = code_bound_of(name);
    kernel->next_due.store(1);
    kernel->met_at.store(core->now());
    count_.store(index + 1, std::memory_order_release);
  }
  if (generation == 0 || generation != core->code_generation())
    return kernel; // code is being unloaded: asked again
  const std::uint64_t key = key_of(function, generation);
  Handle* entry = nullptr;
  for (unsigned probe = 0; probe < kProbes; ++probe) {
    Handle& handle = handles_[((key >> 40) + probe) % kHandles];
    if (entry == nullptr || handle.key.load() == 0)
      entry = &handle; // one that is full makes room for the newest
    if (handle.key.load() == 0) break;
  }
  entry->key.store(0, std::memory_order_release);
  entry->kernel.store(kernel, std::memory_order_release);
  entry->key.store(key, std::memory_order_release);
  return kernel;
}

} // namespace gmt::interposer::collector
