// SPDX-License-Identifier: Apache-2.0
// From a malloc or free in a kernel to records in the ring: the event, and before the first event of a place in the
// source or of a grid a record that describes it. Called by device_calls.h, only if the module was given a ring.
//
// Invariants: log_event() is never inlined, so that a kernel that nobody listens to carries one load and one branch a
// call. It calls nothing that allocates. A place or a grid whose record was lost is described again by the next event.
#pragma once

#include "gpumemtrace/detail/ring_writer.h"

namespace gmt::device {

// The address of this module's DeviceControl, written by the interposer; 0 while nobody listens
// (trace::kControlSymbol). Hidden, so that a library that holds it can still be unloaded.
template <int>
__attribute__((visibility("hidden"))) __device__ std::uint64_t control = 0;

#if !defined(__CUDA_ARCH__)
// The note by which the interposer knows such code in a host object: trace::kNoteOwner, kNoteType, no content.
asm(".pushsection .note.gpumemtrace,\"a\",@note\n"
    ".balign 4\n"
    ".long 12, 0, 1\n"
    ".asciz \"gpumemtrace\"\n"
    ".popsection");
static_assert(sizeof trace::kNoteOwner == 12 && trace::kNoteType == 1);
#endif

// What a call leaves behind. It lies in the calling thread's stack and is passed by address, so that it does not take
// registers away from the kernel; file is null where the place is not known, as in operators.
struct Event {
  trace::Kind kind;
  trace::DeviceOp op;
  unsigned line;
  const char* file;
  const char* function;
  void* pointer;
  std::size_t bytes, alignment; // alignment 0: none was asked for
};

inline constexpr unsigned kMaxFunctionBytes = 256, kMaxFileBytes = 768; // longer names are cut
inline constexpr unsigned kSiteProbes = 8;

using TableEntry = cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>;

__device__ inline std::uint64_t device_time() {
  std::uint64_t nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}
__device__ inline std::uint64_t grid_id() {
  std::uint64_t id;
  asm("mov.u64 %0, %%gridid;" : "=l"(id));
  return id;
}
__device__ inline unsigned multiprocessor() {
  unsigned id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

// In asm, because clang has no __isShared.
__device__ inline trace::DeviceSpace space_of(const void* pointer) {
  unsigned shared, local;
  asm("{ .reg .pred p; isspacep.shared p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(shared) : "l"(pointer));
  asm("{ .reg .pred p; isspacep.local p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(local) : "l"(pointer));
  return shared != 0 ? trace::DeviceSpace::kShared : local != 0 ? trace::DeviceSpace::kLocal
                                                                : trace::DeviceSpace::kUnknown;
}

__device__ inline unsigned length(const char* text, unsigned most) {
  unsigned n = 0;
#pragma unroll 1 // here and below: speed does not matter, registers do
  while (n < most && text[n] != 0)
    ++n;
  return n;
}

__device__ __noinline__ inline std::uint64_t site_word(const Event& event, std::uint32_t site, unsigned i) {
  if (i == 0)
    return site;
  if (i == 1)
    return event.line;
  const unsigned function_bytes = length(event.function, kMaxFunctionBytes),
                 file_bytes = length(event.file, kMaxFileBytes);
  if (i == 2)
    return std::uint64_t{function_bytes} | std::uint64_t{file_bytes} << 32;
  std::uint64_t bytes = 0;
#pragma unroll 1
  for (unsigned k = 0; k < 8; ++k) {
    const unsigned at = (i - 3) * 8 + k;
    if (at >= function_bytes + file_bytes)
      break;
    const char c = at < function_bytes ? event.function[at] : event.file[at - function_bytes];
    bytes |= std::uint64_t{static_cast<unsigned char>(c)} << (8 * k);
  }
  return bytes;
}

// A record of one or two slots as it is put together in the thread's stack.
struct Record {
  trace::Head head;
  std::uint64_t who;
  std::uint64_t words[5];
};

// The two below decide how many registers every kernel with a malloc gets: they are never inlined, call nothing and
// find what they need in memory. They say false if the record was lost.
__device__ __noinline__ inline bool put_record(trace::DeviceControl& control, const Record& record) {
  RingWriter ring(control, multiprocessor());
  const std::uint64_t ticket = ring.reserve(record.head.slots);
  if (ticket == kNoTicket)
    return false;
  ring.publish(ticket, record.head, device_time(), record.who, [&](unsigned i) { return i < 5 ? record.words[i] : 0; });
  return true;
}

__device__ __noinline__ inline bool put_site(trace::DeviceControl& control, std::uint32_t site, const Event& event) {
  RingWriter ring(control, multiprocessor());
  const unsigned bytes = length(event.function, kMaxFunctionBytes) + length(event.file, kMaxFileBytes);
  const unsigned slots = trace::slots_for(3 + (bytes + 7) / 8);
  const std::uint64_t ticket = ring.reserve(slots);
  if (ticket == kNoTicket)
    return false;
  ring.publish(ticket, {trace::Kind::kDeviceSite, static_cast<std::uint8_t>(slots), trace::kNoApi, 0, 0}, device_time(),
               site, [&](unsigned i) { return site_word(event, site, i); });
  return true;
}

// The number of the event's place in the source. The first thread to come by describes it. 0 if there is no room for
// its number.
__device__ __noinline__ inline std::uint32_t site_id(trace::DeviceControl& control, const Event& event) {
  std::uint64_t key = reinterpret_cast<std::uint64_t>(event.file) * 0x9e3779b97f4a7c15u;
  key = (key ^ key >> 32 ^ reinterpret_cast<std::uint64_t>(event.function) ^ std::uint64_t{event.line} << 40) *
        0xbf58476d1ce4e5b9u;
  key = (key ^ key >> 29) | 1; // 0 is a free entry
#pragma unroll 1
  for (unsigned probe = 0; probe < kSiteProbes; ++probe) {
    const auto index = static_cast<unsigned>((key >> 1) + probe) & (trace::kMaxDeviceSites - 1);
    const TableEntry entry(control.sites[index]);
    std::uint64_t found = entry.load(cuda::std::memory_order_relaxed);
    if (found == 0 && entry.compare_exchange_strong(found, key, cuda::std::memory_order_relaxed)) {
      if (!put_site(control, index + 1, event)) {
        TableEntry(control.sites[index]).store(0, cuda::std::memory_order_relaxed);
      }
      return index + 1;
    }
    if (found == key)
      return index + 1;
  }
  return 0;
}

__device__ __noinline__ inline void describe_grid(trace::DeviceControl& control) {
  const TableEntry entry(control.grids[grid_id() & (trace::kGridTableEntries - 1)]);
  std::uint64_t found = entry.load(cuda::std::memory_order_relaxed);
  if (found == grid_id() || !entry.compare_exchange_strong(found, grid_id(), cuda::std::memory_order_relaxed))
    return;
  const Record record{{trace::Kind::kDeviceGrid, 1, trace::kNoApi, 0, 0},
                      0,
                      {grid_id(), trace::pack_block(gridDim.x, gridDim.y, gridDim.z),
                       trace::pack_block(blockDim.x, blockDim.y, blockDim.z), 0, 0}};
  if (!put_record(control, record)) {
    TableEntry(control.grids[grid_id() & (trace::kGridTableEntries - 1)]).store(0, cuda::std::memory_order_relaxed);
  }
}

__device__ __noinline__ inline void log_event(std::uint64_t address, const Event& event) {
  trace::DeviceControl& control = *reinterpret_cast<trace::DeviceControl*>(address);
  if (control.version != trace::kRingVersion)
    return;
  describe_grid(control);
  const std::uint32_t site = event.file != nullptr ? site_id(control, event) : 0;
  const bool failed = event.kind == trace::Kind::kDeviceAlloc && event.pointer == nullptr && event.bytes != 0;
  unsigned flags = static_cast<unsigned>(event.op);
  if (event.kind == trace::Kind::kDeviceFree) {
    flags |= static_cast<unsigned>(space_of(event.pointer)) << trace::kDeviceSpaceShift;
  }
  const Record record{{event.kind, static_cast<std::uint8_t>(event.alignment != 0 ? 2 : 1), trace::kNoApi,
                       static_cast<std::uint16_t>(flags), failed ? trace::kDeviceOutOfMemory : std::uint16_t{0}},
                      trace::pack_who(site, threadIdx.x, threadIdx.y, threadIdx.z),
                      {reinterpret_cast<std::uint64_t>(event.pointer), event.bytes, grid_id(),
                       trace::pack_block(blockIdx.x, blockIdx.y, blockIdx.z), event.alignment}};
  put_record(control, record);
}

} // namespace gmt::device
