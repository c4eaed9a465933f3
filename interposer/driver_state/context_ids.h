// SPDX-License-Identifier: Apache-2.0
// Which context an allocation belongs to: contexts get small numbers, each with one kContext record
// in the log that met it first. Asks the driver's cuCtxGetCurrent and cuCtxGetDevice, pure queries
// that stream capture allows.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/log/record.h"
#include "trace/object_class.h"

namespace gmt::interposer {

class ThreadLog;

// Whether the process has had more than one: from then on every call records its own. Those before
// are the first one's.
extern std::atomic<bool> several_contexts;
inline bool has_several_contexts() noexcept {
  return several_contexts.load(std::memory_order_relaxed);
}

// Whether the record's meaning depends on a context: memory that ends with it, and streams, whose
// device findings name. (Of notes, only those on a context are asked about: see ContextNote.)
inline bool needs_context(const Record& r, std::uint16_t result) noexcept {
  if (r.kind == trace::Kind::kNote) return true;
  if (result != 0) return false;
  if (r.kind == trace::Kind::kLife)
    return trace::LifeView(r).object() == trace::ObjectClass::kStream;
  if (r.kind != trace::Kind::kAlloc) return false;
  const trace::MemoryKind memory = trace::AllocView(r).memory_kind();
  if (memory == trace::MemoryKind::kStreamOrdered) return has_several_contexts();
  return memory != trace::MemoryKind::kVmmHandle && memory != trace::MemoryKind::kVmmReservation &&
         memory != trace::MemoryKind::kVmmMapping;
}

std::uint64_t current_context_handle() noexcept; // CUcontext, 0 if there is none
// Id of this thread's current context, 0 if unknown.
std::uint16_t current_context(ThreadLog& log) noexcept;
// Of a context that has an id already, else 0. Makes no CUDA call.
std::uint16_t known_context(std::uint64_t handle) noexcept;
void note_context(std::uint64_t handle) noexcept; // of each one that is made or given out
// Of every successful cuDevicePrimaryCtxRetain.
void remember_primary_context(std::uint64_t handle) noexcept;
bool is_primary_context(std::uint64_t handle) noexcept; // as far as remembered
void forget_contexts() noexcept;                        // a forked child numbers anew

} // namespace gmt::interposer
