// SPDX-License-Identifier: Apache-2.0
// One thread at a time writes: times rise, and a free stands before its address is given out again.
#include "interposer/execution/heap_log.h"

#include <atomic>
#include <cstring>
#include <ctime>

#include "interposer/base/bounded_lock.h"
#include "interposer/base/signal_guard.h"
#include "interposer/device_ring/drain.h"
#include "interposer/driver_state/context_ids.h"
#include "interposer/execution/records.h"
#include "interposer/log/interned_text.h"
#include "interposer/log/thread_log.h"
#include "trace/device_ring.h"

namespace gmt::interposer {

namespace {

constexpr unsigned kMostLogs = 64;
constexpr unsigned kFirstNumber = 1000; // of the files: rings count from 0
constexpr unsigned kMostNames = 280;    // bytes of a function's and of a file's name
static_assert(trace::DeviceSiteWord::kCount + 2 * kMostNames / 8 <= kMaxRecordWords);

struct HeapLog {
  std::uint64_t context; // CUcontext
  ThreadLog* log;
  std::uint64_t tickets, last_grid, last_time;
  std::uint64_t sites[trace::kMaxDeviceSites]; // hashes, by id - 1; 0 is free
};
constinit HeapLog heap_logs[kMostLogs] = {};
constinit std::atomic<bool> heap_log_is_locked{false};
constexpr int kHeapLockMilliseconds = 2000;

HeapLog* log_of(std::uint64_t context) noexcept {
  for (HeapLog& heap : heap_logs) {
    if (heap.log != nullptr && heap.context == context) return &heap;
    if (heap.log != nullptr) continue;
    heap.log = ThreadLog::create_for_ring(kFirstNumber + static_cast<unsigned>(&heap - heap_logs));
    heap.context = context;
    return heap.log != nullptr ? &heap : nullptr;
  }
  return nullptr;
}

bool has_ring(std::uint64_t context) noexcept {
  for (const Ring& ring : rings) {
    if (ring.state.load(std::memory_order_acquire) == Ring::State::kLive && ring.context == context)
      return true;
  }
  return false;
}

std::uint64_t next_time(HeapLog& heap) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const auto time = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
                    static_cast<std::uint64_t>(now.tv_nsec);
  heap.last_time = time > heap.last_time ? time : heap.last_time + 1;
  return heap.last_time;
}

void put(HeapLog& heap, const Record& record, std::uint16_t result, std::uint64_t who) noexcept {
  const unsigned slots = trace::slots_for(record.words);
  trace::Slot* first = heap.log->reserve(slots, ThreadLog::Worth::kDroppable);
  if (first == nullptr) return; // counted
  const trace::DeviceSlot words{0, next_time(heap), trace::pack_ticket(heap.tickets++, 0), who, {}};
  std::memcpy(first, &words, sizeof words);
  ThreadLog::fill(first, record);
  ThreadLog::commit(first, trace::pack({record.kind, static_cast<std::uint8_t>(slots),
                                        trace::kNoApi, record.flags, result}));
}

void put_site(HeapLog& heap, std::uint32_t id, const trace::ExecutionLine& line) noexcept {
  const auto cut = [](std::string_view text) noexcept {
    return text.size() > kMostNames ? std::string_view(text.data(), kMostNames) : text;
  };
  const std::string_view function = cut(as_text(line.function)), file = cut(as_text(line.file));
  Record record;
  record.kind = trace::Kind::kDeviceSite;
  const std::size_t bytes = function.size() + file.size();
  record.use(trace::DeviceSiteWord::kCount + static_cast<unsigned>((bytes + 7) / 8));
  trace::DeviceSiteFields(record).id(id).line(line.line).lengths(
    {static_cast<std::uint32_t>(function.size()), static_cast<std::uint32_t>(file.size())});
  char* names = reinterpret_cast<char*>(record.w.data() + trace::DeviceSiteWord::kCount);
  std::memcpy(names, function.data(), function.size());
  std::memcpy(names + function.size(), file.data(), file.size());
  put(heap, record, 0, 0);
}

// The id of the innermost line; 0 if none is known or the table is full.
std::uint32_t site_of(HeapLog& heap, const trace::ExecutionLocation& location) noexcept {
  if (location.lines == nullptr || location.line_count == 0) return 0;
  trace::ExecutionLine line = location.lines[0];
  if (line.function == nullptr) line.function = location.function;
  std::uint64_t key = text_id(as_text(line.function)) * 31 + text_id(as_text(line.file));
  key = (key ^ line.line) * 0x9e3779b97f4a7c15;
  if (key == 0) key = 1;
  constexpr unsigned kProbes = 64;
  for (unsigned i = 0; i < kProbes; ++i) {
    const auto at = static_cast<std::uint32_t>((key + i) % trace::kMaxDeviceSites);
    if (heap.sites[at] == key) return at + 1;
    if (heap.sites[at] != 0) continue;
    heap.sites[at] = key;
    put_site(heap, at + 1, line);
    return at + 1;
  }
  return 0;
}

// What a grid is comes with its first record, and the log's context with the first of all.
void introduce_grid(HeapLog& heap, const trace::ExecutionLaunch& launch) noexcept {
  if (heap.tickets == 0) {
    trace::Words<trace::DeviceDrainedWord> words;
    trace::DeviceDrainedFields(words).slots(0);
    heap.log->append_words(trace::Kind::kDeviceDrained, words.w, words.kCount,
                           known_context(launch.context));
  }
  if (heap.last_grid == launch.grid_id) return;
  heap.last_grid = launch.grid_id;
  Record record;
  record.kind = trace::Kind::kDeviceGrid;
  record.use(trace::kFirstPayloadWords);
  trace::DeviceGridFields(record)
    .id(launch.grid_id)
    .grid({launch.grid[0], launch.grid[1], launch.grid[2]})
    .block({launch.block[0], launch.block[1], launch.block[2]});
  put(heap, record, 0, 0);
}

} // namespace

void record_heap_call(const trace::ExecutionHeapCall& call) noexcept {
  if (has_ring(call.launch.context)) return;
  const SignalGuard signals;
  const BoundedLock lock(heap_log_is_locked, kHeapLockMilliseconds);
  HeapLog* heap = lock.held() ? log_of(call.launch.context) : nullptr;
  if (heap == nullptr) return;
  introduce_grid(*heap, call.launch);
  const std::uint32_t site = site_of(*heap, call.location);
  const bool frees = call.is_free != 0;
  Record record;
  record.kind = frees ? trace::Kind::kDeviceFree : trace::Kind::kDeviceAlloc;
  record.use(trace::kFirstPayloadWords);
  trace::DeviceAllocFields words(record); // those of a free are the same
  words.pointer(call.pointer).bytes(frees ? 0 : call.bytes).grid(call.launch.grid_id);
  words.block({call.location.block[0], call.location.block[1], call.location.block[2]});
  auto space = trace::DeviceSpace::kUnknown;
  if (call.space == trace::ExecutionSpace::kShared) space = trace::DeviceSpace::kShared;
  if (call.space == trace::ExecutionSpace::kLocal) space = trace::DeviceSpace::kLocal;
  record.flags =
    trace::device_flags(frees ? trace::DeviceOp::kFree : trace::DeviceOp::kMalloc, space);
  const bool refused = !frees && call.pointer == 0;
  put(*heap, record, refused ? trace::kDeviceOutOfMemory : std::uint16_t{0},
      trace::pack_who(site, call.location.thread[0], call.location.thread[1],
                      call.location.thread[2]));
}

void forget_heap_logs() noexcept { std::memset(heap_logs, 0, sizeof heap_logs); }

} // namespace gmt::interposer
