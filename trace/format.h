// SPDX-License-Identifier: Apache-2.0
// The trace's slot format: the one schema that the interposer writes, the device ring publishes and
// the analyzer reads. trace/FORMAT.md is the same in prose, with the guarantees after a crash.
//
// Invariants: a slot is 64 bytes, little endian; its head is stored last, with release order, so a
// zero head is "never written"; words 4..7 of the first slot and words 1..7 of each following kMore
// slot are the payload. C++17, includes nothing of CUDA's, so that kernels, old compilers and
// readers can use it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "packed_words.h" // beside this file also where device_hooks installs both

namespace gmt::trace {

// Readers accept every minor of their own major and refuse other majors by name.
// A new kind, flag or `info` key raises the minor; any change of a slot's layout raises the major.
inline constexpr std::uint32_t kFormatMajor = 1;
inline constexpr std::uint32_t kFormatMinor = 6;

inline constexpr std::size_t kSlotBytes = 64;
inline constexpr std::size_t kLogHeaderBytes = 4096;
inline constexpr unsigned kFirstPayloadWords = 4;   // a[0..3] of the first slot
inline constexpr unsigned kMorePayloadWords = 7;    // words 1..7 of a kMore slot
inline constexpr unsigned kMaxSlotsPerRecord = 255; // as many as Head counts (32 before 1.1)
inline constexpr unsigned kMaxStackFrames = 128;

// What a record means. Its payload is fixed by the kind, never by the API: trace/records.def has
// the words of each.
enum class Kind : std::uint8_t {
  kNone = 0,      // never written (or torn, if a later slot is written)
  kMore = 1,      // continuation of the record before it
  kAbandoned = 2, // reserved and given up; skip

  // No calls.
  kStack = 3,
  kName = 4,    // of a kernel, module or library
  kContext = 5, // Head's context field is the id it gets
  kExit = 6,    // how the process says it is going to end
  kLoss = 7,
  kKernel = 8,      // before its first launch in this log's process (since 1.1)
  kDevice = 9,      // when its first context is met (since 1.1)
  kMemoryInfo = 10, // right after an allocation failed (since 1.1)
  kRange = 11,      // NVTX (since 1.1)
  kText = 12,       // a string (since 1.1)
  kThread = 13,     // a thread begins to write here (since 1.5)
  kFault = 14,      // a mistake inside a kernel (since 1.5)
  kExecution = 15,  // how far kernels ran there (since 1.5)

  // Calls.
  kAlloc = 16,
  kFree = 17,
  kCopy = 18,
  kSet = 19,
  kLaunch = 20,
  kLife = 21,        // of a context, stream, pool, graph and the like
  kSync = 22,        // an ordering
  kNote = 23,        // any other recorded call
  kUse = 24,         // memory is bound or used otherwise
  kGraphKernel = 25, // a kernel that a graph's node runs (since 1.4)
  kGraphChange = 26, // any other change of what a graph runs (since 1.4)

  // What --guard found and did (since 1.5). No calls.
  kGuardDamage = 27, // the pattern beside a block has changed
  kGuardExport = 28, // a fenced block was to be given to another process
  kGuardCounts = 29, // how many blocks were fenced, and why others were not

  // Python's part of call stacks (since 1.5). No calls.
  kPythonCode = 30,  // a function's code, before the first stack of the log that names it
  kPythonStack = 31, // a native stack with the Python frames on it

  // In-kernel allocations (since 1.2), in device-<n>.log only. All but kDeviceDrained are a
  // DeviceSlot (trace/device_ring.h).
  kDeviceAlloc = 32,
  kDeviceFree = 33, // written before the real call, which can kill the context
  // In the source, written by the first thread that names it, before any record that names it too
  kDeviceSite = 34,
  kDeviceGrid = 35,    // about its first record
  kDeviceDrained = 36, // the drain, behind what it read at one time: an ordinary Slot

  // What instructions did to memory (since 1.3), in access-<n>.log only: one context's sums, whose
  // payload words are raised in place. kUnknownCount where the chip has no such metric.
  // A kernel that was launched, or a device function with measured instructions
  kAccessFunction = 40,
  kAccessInstruction = 41,
  kAccessWindows = 42,  // the whole of it, first in the file
  kAccessCounters = 43, // of whole kernels (since 1.4)

  // In threads' logs, no call: the host has memory where a block was freed (since 1.6)
  kHostMemory = 44,
  kLaunchLimits = 45, // no call either: behind a launch that failed (since 1.6)
  kTensor = 46,       // no call: what PyTorch's caching allocator does (since 1.6)
};

inline constexpr Kind kLastEventKind = Kind::kGuardCounts; // of what stands in a thread's log

// The event is the graph's, not the capture's: cudaEventRecordExternal, cudaEventWaitExternal.
inline constexpr std::uint64_t kSyncExternal = 1;

// Slot::order: the low 48 bits are the order; the high 16 (since 1.1) how long the call took in
// ticks of the time stamp counter: mantissa:11 exponent:5, value = mantissa << exponent, 0 unknown.
inline constexpr unsigned kOrderBits = 48;
inline constexpr std::uint64_t kOrderMask = (std::uint64_t{1} << kOrderBits) - 1;
constexpr std::uint64_t order_of(std::uint64_t word) { return word & kOrderMask; }
constexpr std::uint64_t ticks_of(std::uint64_t word) {
  const std::uint64_t code = word >> kOrderBits;
  return (code & 0x7ff) << (code >> 11);
}
constexpr std::uint64_t with_ticks(std::uint64_t order, std::uint64_t ticks) {
  const unsigned bits = ticks != 0 ? 64 - static_cast<unsigned>(__builtin_clzll(ticks)) : 0;
  unsigned exponent = bits <= 11 ? 0 : bits - 11;
  if (exponent > 31) exponent = 31;
  std::uint64_t mantissa = ticks >> exponent;
  if (mantissa > 0x7ff) mantissa = 0x7ff;
  return order_of(order) | (mantissa | std::uint64_t{exponent} << 11) << kOrderBits;
}

// Head.result: the CUresult (or cudaError_t with kFlagRuntime), or one of these.
inline constexpr std::uint16_t kResultInFlight = 0xffff; // the call had not returned

struct Head {
  Kind kind;
  std::uint8_t slots; // 1 + number of kMore slots that follow
  std::uint16_t api;  // line number (from 0) in the trace's `apis`
  std::uint16_t flags;
  std::uint16_t result;
};
static_assert(sizeof(Head) == 8);

GMT_HOST_DEVICE constexpr std::uint64_t pack(Head h) {
  return static_cast<std::uint64_t>(h.kind) | std::uint64_t{h.slots} << 8 |
         std::uint64_t{h.api} << 16 | std::uint64_t{h.flags} << 32 | std::uint64_t{h.result} << 48;
}
// Of a packed head whose result is 0.
constexpr std::uint64_t with_result(std::uint64_t head, std::uint16_t result) {
  return head | std::uint64_t{result} << 48;
}
constexpr Head unpack(std::uint64_t w) {
  return {static_cast<Kind>(w & 0xff), static_cast<std::uint8_t>(w >> 8),
          static_cast<std::uint16_t>(w >> 16), static_cast<std::uint16_t>(w >> 32),
          static_cast<std::uint16_t>(w >> 48)};
}

struct Slot {
  std::uint64_t head; // pack(Head), stored last
  // process-wide counter: taken before frees, after allocations; see order_of()
  std::uint64_t order;
  std::uint64_t time; // time stamp counter; calibration pairs in `info`, log headers and `complete`
  std::uint32_t stack;   // kStack id of this log, 0 none
  std::uint16_t context; // kContext id of this process, 0 unknown
  std::uint16_t via;     // runtime row whose call led here, kNoApi if none
  std::uint64_t a[kFirstPayloadWords];
};
static_assert(sizeof(Slot) == kSlotBytes && offsetof(Slot, a) == 32);

// kMore: head (kind kMore) and seven payload words.
struct MoreSlot {
  std::uint64_t head;
  std::uint64_t payload[kMorePayloadWords];
};
static_assert(sizeof(MoreSlot) == kSlotBytes);

// First page of every log file. Slots start at kLogHeaderBytes.
struct LogHeader {
  char magic[8]; // kLogMagic
  std::uint32_t major, minor;
  std::uint32_t pid, tid; // tid of the first thread that wrote here; kThread names the others
  std::uint64_t tsc;      // a calibration pair: time stamp counter and CLOCK_MONOTONIC at creation
  std::uint64_t monotonic_ns;
  // By LossCause; the owner's, but kNoLog in the first log counts for threads without one
  std::uint64_t lost[8];
  // Order of the newest record when an allocation's was lost for the first time, or that of a
  // release or an object's life, plus 1 each; 0 if none was (since 1.6)
  std::uint64_t allocations_lost_from, releases_lost_from;
};
static_assert(sizeof(LogHeader) <= kLogHeaderBytes);
inline constexpr char kLogMagic[8] = {'G', 'M', 'T', 'L', 'O', 'G', '1', '\n'};

GMT_HOST_DEVICE constexpr unsigned slots_for(unsigned payload_words) {
  return payload_words <= kFirstPayloadWords
           ? 1u
           : 1u + (payload_words - kFirstPayloadWords + kMorePayloadWords - 1) / kMorePayloadWords;
}

} // namespace gmt::trace
