// SPDX-License-Identifier: Apache-2.0
// From a malloc or free in a kernel to records in the ring: the event, and before the first event
// of a call site or of a grid a record that describes it. To be called only if the module was given
// a ring.
//
// Invariants: log_event() is never inlined, so that a kernel that is not traced carries one load
// and one branch a call. It calls nothing that allocates. A call site or a grid whose record was
// lost is described again by the next event. While an event's call site and grid are known it waits
// three times for the device's own memory (the tables; the counters; the exchange that reserves)
// and never for the host's.
#pragma once

#include "gpumemtrace/detail/once_table.h"
#include "gpumemtrace/detail/ring_writer.h"

namespace gmt::device {

// The address of this module's DeviceControl, written by the interposer; 0 while nothing is
// recorded (trace::kControlSymbol). Hidden, so that a library that holds it can still be unloaded.
template <int>
__attribute__((visibility("hidden"))) __device__ std::uint64_t control = 0;

#if !defined(__CUDA_ARCH__)
// The note by which the interposer knows such code in a host object: trace::kNoteOwner, kNoteType,
// no content.
asm(".pushsection .note.gpumemtrace,\"a\",@note\n"
    ".balign 4\n"
    ".long 12, 0, 1\n"
    ".asciz \"gpumemtrace\"\n"
    ".popsection");
static_assert(sizeof trace::kNoteOwner == 12 && trace::kNoteType == 1);
#endif

// What a call leaves behind. It lies in the calling thread's stack and is passed by address, so
// that it does not take registers away from the kernel; file is null where the call site is not
// known, as in operators.
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
  asm("{ .reg .pred p; isspacep.shared p, %1; selp.u32 %0, 1, 0, p; }"
      : "=r"(shared)
      : "l"(pointer));
  asm("{ .reg .pred p; isspacep.local p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(local) : "l"(pointer));
  if (shared != 0) return trace::DeviceSpace::kShared;
  return local != 0 ? trace::DeviceSpace::kLocal : trace::DeviceSpace::kUnknown;
}

__device__ inline unsigned length(const char* text, unsigned most) {
  unsigned n = 0;
#pragma unroll 1 // here and below: speed does not matter, registers do
  while (n < most && text[n] != 0) ++n;
  return n;
}

// A record of one or two slots as it is put together in the thread's stack.
struct Record {
  static constexpr unsigned kWords = trace::DeviceAllocWord::kCount; // of the longest
  trace::Head head;
  std::uint64_t who;
  std::uint64_t words[kWords];
};

// What follows decides how many registers every kernel with a malloc gets: the functions are not
// inlined and find what they need in memory. The put_ functions say false if the record was lost.
__device__ __noinline__ inline bool put_record(trace::DeviceControl& control,
                                               const Record& record) {
  RingWriter ring(control, multiprocessor());
  const std::uint64_t ticket = ring.reserve(record.head.slots);
  if (ticket == kNoTicket) return false;
  ring.publish(ticket, record.head, device_time(), record.who,
               [&](unsigned i) { return i < Record::kWords ? record.words[i] : 0; });
  return true;
}

using SiteWord = trace::DeviceSiteWord;

// A kDeviceSite as it is written, in the thread's stack: the less stays in registers the better.
struct SiteRecord {
  const char *function, *file;
  unsigned function_bytes, file_bytes, line, slots;
  std::uint64_t ticket;
};

// The names, one behind the other, 8 bytes a word.
__device__ __forceinline__ std::uint64_t text_word(const SiteRecord& record, unsigned i) {
  std::uint64_t bytes = 0;
#pragma unroll 1
  for (unsigned at = i * 8 + 8; at-- > i * 8;) {
    if (at >= record.function_bytes + record.file_bytes) continue;
    const char c =
      at < record.function_bytes ? record.function[at] : record.file[at - record.function_bytes];
    bytes = bytes << 8 | static_cast<unsigned char>(c);
  }
  return bytes;
}

__device__ __noinline__ inline void put_text(RingWriter& ring, const SiteRecord& record,
                                             unsigned i) {
  ring.publish_more(record.ticket, i,
                    [&](unsigned word) { return text_word(record, word - SiteWord::kCount); });
}

__device__ __noinline__ inline void put_names(RingWriter& ring, const SiteRecord& record,
                                              std::uint32_t site) {
  const trace::Head head{trace::Kind::kDeviceSite, static_cast<std::uint8_t>(record.slots),
                         trace::kNoApi, 0, 0};
  ring.publish_first(record.ticket, head, device_time(), site, [&](unsigned i) -> std::uint64_t {
    switch (i) {
    case SiteWord::id: return site;
    case SiteWord::line: return record.line;
    case SiteWord::lengths: return trace::pack_halves({record.function_bytes, record.file_bytes});
    default: return text_word(record, 0);
    }
  });
}

__device__ __noinline__ inline bool put_site(trace::DeviceControl& control, std::uint32_t site,
                                             const Event& event) {
  RingWriter ring(control, multiprocessor());
  SiteRecord record{event.function,
                    event.file,
                    length(event.function, kMaxFunctionBytes),
                    length(event.file, kMaxFileBytes),
                    event.line,
                    0,
                    0};
  record.slots =
    trace::slots_for(SiteWord::kCount + (record.function_bytes + record.file_bytes + 7) / 8);
  record.ticket = ring.reserve(record.slots);
  if (record.ticket == kNoTicket) return false;
#pragma unroll 1
  for (unsigned i = 1; i < record.slots; ++i) put_text(ring, record, i);
  put_names(ring, record, site);
  return true;
}

// What the tables have for an event's call site and for its grid.
__device__ inline std::uint64_t site_key(const Event& event) {
  std::uint64_t key = reinterpret_cast<std::uint64_t>(event.file) * 0x9e3779b97f4a7c15u;
  key = (key ^ key >> 32 ^ reinterpret_cast<std::uint64_t>(event.function) ^
         std::uint64_t{event.line} << 40) *
        0xbf58476d1ce4e5b9u;
  return ((key ^ key >> 29) & ~kIsDescribed) | 2; // even and not 0
}
__device__ inline unsigned site_index(std::uint64_t key, unsigned probe) {
  return (static_cast<unsigned>(key >> 2) + probe) & (trace::kMaxDeviceSites - 1);
}
__device__ inline std::uint64_t grid_key() { return grid_id() << 1; }
__device__ inline std::uint64_t& grid_entry(trace::DeviceControl& control) {
  return control.grids[grid_id() & (trace::kGridTableEntries - 1)];
}
__device__ inline std::uint64_t found_in(std::uint64_t& entry) {
  return DeviceWord(entry).load_relaxed();
}

// The entry of the event's call site, or null if there is no room for it. `mine`: the caller
// describes it.
__device__ __noinline__ inline std::uint64_t* site_entry(trace::DeviceControl& control,
                                                         const Event& event, bool& mine) {
  const std::uint64_t key = site_key(event);
#pragma unroll 1
  for (unsigned probe = 0; probe < kSiteProbes; ++probe) {
    std::uint64_t& entry = control.sites[site_index(key, probe)];
    const EntryState state = claim(entry, key, false);
    mine = state == EntryState::kToDescribe;
    if (state != EntryState::kOfOtherKey) return &entry;
  }
  return nullptr;
}

__device__ __noinline__ inline void describe_grid(trace::DeviceControl& control) {
  if (claim(grid_entry(control), grid_key(), true) == EntryState::kDescribed) return;
  Record record{{trace::Kind::kDeviceGrid, 1, trace::kNoApi, 0, 0}, 0, {}};
  record.words[trace::DeviceGridWord::id] = grid_id();
  record.words[trace::DeviceGridWord::grid] = trace::pack_block(gridDim.x, gridDim.y, gridDim.z);
  record.words[trace::DeviceGridWord::block] =
    trace::pack_block(blockDim.x, blockDim.y, blockDim.z);
  if (put_record(control, record)) set_described(grid_entry(control), grid_key());
}

// The number of the event's call site, 0 if it is not known or there is no room for it. Call site
// and grid are described now if they were not.
__device__ __noinline__ inline std::uint32_t describe(trace::DeviceControl& control,
                                                      const Event& event) {
  describe_grid(control);
  if (event.file == nullptr) return 0;
  bool mine;
  std::uint64_t* const entry = site_entry(control, event, mine);
  if (entry == nullptr) return 0;
  const auto site = static_cast<std::uint32_t>(entry - control.sites) + 1;
  if (mine && put_site(control, site, event))
    set_described(control.sites[site - 1], site_key(event));
  return site;
}

__device__ __noinline__ inline std::uint32_t site_id(trace::DeviceControl& control,
                                                     const Event& event) {
  const std::uint64_t key = site_key(event);
  const unsigned index = site_index(key, 0);
  // Both tables are asked before either has answered.
  const std::uint64_t grid_found = found_in(grid_entry(control)),
                      site_found = found_in(control.sites[index]);
  if (grid_found == (grid_key() | kIsDescribed)) {
    if (event.file == nullptr) return 0;
    if (site_found == (key | kIsDescribed)) return index + 1;
  }
  // One of a warp: if one lane waited for another that describes, both might have to wait to go on
  // together.
  const Team team(static_cast<unsigned long long>(key));
  return team.of_leader(team.rank == 0 ? describe(control, event) : 0u);
}

__device__ __noinline__ inline void log_event(std::uint64_t address, const Event& event) {
  trace::DeviceControl& control = *reinterpret_cast<trace::DeviceControl*>(address);
  if (control.version != trace::kRingVersion) return;
  const std::uint32_t site = site_id(control, event);
  const bool failed =
    event.kind == trace::Kind::kDeviceAlloc && event.pointer == nullptr && event.bytes != 0;
  unsigned flags = static_cast<unsigned>(event.op);
  if (event.kind == trace::Kind::kDeviceFree) {
    flags |= static_cast<unsigned>(space_of(event.pointer)) << trace::kDeviceSpaceShift;
  }
  using Word = trace::DeviceAllocWord; // DeviceFree's words are the same, see trace/records.h
  Record record{{event.kind, static_cast<std::uint8_t>(event.alignment != 0 ? 2 : 1), trace::kNoApi,
                 static_cast<std::uint16_t>(flags),
                 failed ? trace::kDeviceOutOfMemory : std::uint16_t{0}},
                trace::pack_who(site, threadIdx.x, threadIdx.y, threadIdx.z),
                {}};
  record.words[Word::pointer] = reinterpret_cast<std::uint64_t>(event.pointer);
  record.words[Word::bytes] = event.bytes;
  record.words[Word::grid] = grid_id();
  record.words[Word::block] = trace::pack_block(blockIdx.x, blockIdx.y, blockIdx.z);
  record.words[Word::alignment] = event.alignment;
  put_record(control, record);
}

} // namespace gmt::device
