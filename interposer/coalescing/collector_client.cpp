// SPDX-License-Identifier: Apache-2.0
// See collector_client.h. Which record means what to the collector stands in describe(), nowhere else.
#include "interposer/coalescing/collector_client.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string_view>

#include "interposer/driver_state/context_ids.h"
#include "interposer/coalescing/collector/interface.h"
#include "interposer/driver_state/code_generation.h"
#include "interposer/loader/object_files.h"
#include "interposer/log/nvtx_ranges.h"
#include "interposer/log/process.h"
#include "interposer/loader/real_dlsym.h"
#include "interposer/log/thread_session.h"
#include "interposer/log/interned_text.h"
#include "interposer/log/thread_log.h"
#include "trace/api_id.h"

namespace gmt::interposer {

constinit std::atomic<Coalescing> coalescing{Coalescing::kOff};

namespace {

using What = DriverCall::What;
using trace::Kind;
using trace::SyncOp;

constinit const CollectorFunctions* collector = nullptr; // written before `coalescing`
constinit std::atomic<std::uint64_t> profiler_start{0}, profiler_bytes{0};
constinit thread_local bool inside __attribute__((tls_model("initial-exec"))) = false;

// Held over every call of the collector.
class Inside {
public:
  Inside() noexcept : outer_(inside) { inside = true; }
  ~Inside() { inside = outer_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

private:
  bool outer_;
};

// ---- what a record means

// Of the calls that are only noted: those that give the device something to do.
constexpr bool is_hidden_work(std::string_view name) {
  for (const std::string_view start : {"cuLaunch", "cuMemBatchDecompress", "cuGraphicsMapResources",
                                       "cuGraphicsUnmapResources", "cuSignalExternalSemaphores"}) {
    if (name.starts_with(start)) return true;
  }
  return false;
}
struct HiddenWork {
  bool is[trace::kDriverApiCount] = {};
  constexpr HiddenWork() {
    for (unsigned row = 0; row < trace::kDriverApiCount; ++row) is[row] = is_hidden_work(trace::kApiNames[row]);
  }
};
constexpr HiddenWork kHiddenWork;

constexpr std::uint64_t kLegacyStream = 1; // CU_STREAM_LEGACY
DriverCall on_stream(What what, std::uint64_t stream, std::uint64_t object = 0) noexcept {
  return {what, stream != 0 ? stream : kLegacyStream, object};
}

// Of a launch, whose grid and block are packed as trace/format.h says.
std::uint64_t warps_of(const Record& r) noexcept {
  const std::uint64_t grid = r.w[2], block = r.w[3];
  const std::uint64_t blocks = (grid & 0xffffffff) * (grid >> 32 & 0xffff) * (grid >> 48);
  const std::uint64_t threads = (block & 0xffff) * (block >> 16 & 0xffff) * (block >> 32 & 0xffff);
  return blocks * ((threads + 31) / 32);
}

DriverCall describe_launch(const Record& r) noexcept {
  DriverCall call = on_stream(What::kLaunch, r.w[1], r.w[0]);
  call.warps = warps_of(r);
  return call;
}

DriverCall describe_order(const Record& r) noexcept {
  switch (static_cast<SyncOp>(r.w[2])) {
    case SyncOp::kStreamSynchronize:
    case SyncOp::kEventSynchronize:
    case SyncOp::kStreamQuery:
    case SyncOp::kEventQuery: return {What::kSynchronized};
    case SyncOp::kContextSynchronize: return {What::kContextSynchronized};
    case SyncOp::kGraphLaunch: return on_stream(What::kGraphLaunch, r.w[0], r.w[1]);
    case SyncOp::kGraphUpload: return on_stream(What::kGraphUpload, r.w[0], r.w[1]);
    case SyncOp::kBeginCapture: return on_stream(What::kBeginCapture, r.w[0]);
    case SyncOp::kEndCapture: return on_stream(What::kEndCapture, r.w[0]);
    case SyncOp::kEventRecord:
    case SyncOp::kStreamWaitEvent:
    case SyncOp::kHostFunction:
    case SyncOp::kExternalSignal:
    case SyncOp::kExternalWait: return on_stream(What::kWork, r.w[0]);
    case SyncOp::kElapsedTime:
    case SyncOp::kContextRecord:
    case SyncOp::kContextWait: break;
  }
  return {};
}

DriverCall describe_life(const Record& r) noexcept {
  const auto object = static_cast<trace::ObjectClass>(r.w[1]);
  const auto op = static_cast<trace::LifeOp>(r.w[2]);
  if (object == trace::ObjectClass::kGraphExec) {
    if (op == trace::LifeOp::kCreate) return {What::kGraphMade, 0, r.w[0], r.w[3]};
    return {What::kGraphChanged, 0, r.w[0]};
  }
  if (op == trace::LifeOp::kDestroy) {
    if (object == trace::ObjectClass::kStream) return {What::kStreamEnds, r.w[0]};
    if (object == trace::ObjectClass::kModule || object == trace::ObjectClass::kLibrary) return {What::kCodeEnds};
    if (object == trace::ObjectClass::kContext) return {What::kContextEnds, 0, r.w[0]};
  } else if (object == trace::ObjectClass::kPrimaryContext) {
    if (op == trace::LifeOp::kReset) return {What::kPrimaryEnds, 1, r.w[0]};
    if (op == trace::LifeOp::kRelease) return {What::kPrimaryEnds, 0, r.w[0]};
  }
  return {};
}

DriverCall describe_use(const Record& r) noexcept {
  switch (static_cast<trace::UseClass>(r.w[2])) {
    case trace::UseClass::kPrefetch:
    case trace::UseClass::kAttach:
    case trace::UseClass::kMemOp:
    case trace::UseClass::kMemOpWait:
    case trace::UseClass::kDiscard: return on_stream(What::kWork, r.w[3]);
    default: return {};
  }
}

DriverCall describe(const Record& r, std::uint16_t row) noexcept {
  switch (r.kind) {
    case Kind::kLaunch: return describe_launch(r);
    case Kind::kCopy: return on_stream((r.flags & trace::kCopyAsync) != 0 ? What::kWork : What::kWorkAndWait, r.w[3]);
    case Kind::kSet: return on_stream((r.flags & trace::kSetAsync) != 0 ? What::kWork : What::kWorkAndWait, r.w[3]);
    case Kind::kAlloc:
      if (r.w[2] != static_cast<std::uint64_t>(trace::Family::kStreamOrdered)) return {};
      return on_stream(What::kWork, r.w[3]);
    case Kind::kFree: // cuMemFree and its like wait for the device
      if ((r.flags & trace::kSetAsync) == 0) return {What::kSynchronized};
      return on_stream(What::kWork, r.w[2]);
    case Kind::kSync: return describe_order(r);
    case Kind::kLife: return describe_life(r);
    case Kind::kUse: return describe_use(r);
    case Kind::kGraphKernel: return {What::kGraphKernel, 0, r.w[1], r.w[0], r.w[4]};
    case Kind::kGraphChange:
      if (static_cast<trace::GraphOp>(r.w[1]) == trace::GraphOp::kUpdate) return {What::kGraphMade, 0, r.w[0], r.w[3]};
      if (static_cast<trace::GraphOp>(r.w[1]) >= trace::GraphOp::kEventRecord) return {}; // runs no kernel
      return {What::kGraphChanged, 0, r.w[0]};
    case Kind::kNote: return {row < trace::kDriverApiCount && kHiddenWork.is[row] ? What::kHiddenWork : What::kNothing};
    default: return {};
  }
}

// ---- what the collector may ask

bool in_range(const char* name) noexcept { return thread_is_in_range(name); }

void profiler_was_loaded(const void* address) noexcept {
  ObjectFile object;
  if (!object_of(address, object)) return;
  profiler_bytes.store(object.end - object.start);
  profiler_start.store(object.start);
}

void switch_off() noexcept { coalescing.store(Coalescing::kStopped); }

// A forked child has inherited what its parent registered.
void tell_at_exit() noexcept {
  static constinit std::atomic<bool> registered{false};
  if (registered.exchange(true)) return;
  on_exit(
      [](int, void*) noexcept {
        if (!is_coalescing() || !is_recorded_process()) return;
        const Inside guard;
        collector->process_exits();
      },
      nullptr);
}

std::uint16_t id_of_context() noexcept {
  ThreadLog* log = thread_log();
  return log != nullptr ? current_context(*log) : std::uint16_t{0};
}

trace::Slot* append(ThreadLog* log, Kind kind, const std::uint64_t* words, unsigned count,
                    std::uint16_t context) noexcept {
  return log->append_words(kind, words, count, context, true);
}

std::uint64_t append_to_sums(ThreadLog* log, const char* text, std::size_t length) noexcept {
  const std::string_view whole(text, length);
  return write_text(*log, whole);
}

bool path_of(const char* file, char* buffer, std::size_t size) noexcept { return Process::path_of(file, buffer, size); }
bool take_budget(std::uint64_t bytes) noexcept { return Process::take_budget(bytes, false); }

bool is_in_file(const void* address) noexcept {
  ObjectFile object;
  return object_of(address, object);
}

void each_object(const char* prefix, bool (*visit)(void*, const char*), void* context) noexcept {
  struct Visit {
    bool (*visit)(void*, const char*);
    void* context;
  } both{visit, context};
  for_each_object_named(
      prefix,
      [](void* data, const char* path, const void*) noexcept {
        const auto& v = *static_cast<const Visit*>(data);
        return v.visit(v.context, path);
      },
      &both);
}

constinit CoreFunctions core{
    nullptr, driver_symbol, current_context_handle, id_of_context, is_primary_context, code_generation, in_range,
    monotonic_ns, profiler_was_loaded, switch_off, tell_at_exit, ThreadLog::create_for_sums, append, append_to_sums,
    path_of, take_budget,
    initial_environment, is_in_file, each_object, real_dlsym};

} // namespace

void open_collector() noexcept {
  if (Process::options().coalescing == 0 && Process::options().counters == 0) return;
  if (collector == nullptr) {
    char path[1100];
    if (!own_folder(path, sizeof path - sizeof kCollectorLibrary - 1)) return;
    std::strcat(path, "/");
    std::strcat(path, kCollectorLibrary);
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void* symbol = library != nullptr ? real_dlsym(library, kCollectorSymbol) : nullptr;
    const auto open = reinterpret_cast<OpenCollector>(symbol);
    if (open == nullptr) return Process::tell_command("nocollector", path);
    core.options = &Process::options();
    collector = open(&core);
  }
  coalescing.store(Coalescing::kOn, std::memory_order_release);
}

void forget_collector() noexcept {
  coalescing.store(Coalescing::kOff);
  if (collector != nullptr) collector->forget();
}

std::uint64_t tell_before(const Record& record, std::uint16_t row) noexcept {
  const DriverCall call = describe(record, row);
  if (call.what == What::kNothing) return 0;
  const Inside guard;
  return collector->before(call);
}

void tell_after(const Record& record, std::uint16_t row, std::uint64_t token, bool succeeded) noexcept {
  const DriverCall call = describe(record, row);
  const Inside guard;
  collector->after(call, token, succeeded);
}

void tell_of_code(const void* image, std::size_t bytes) noexcept {
  const Inside guard;
  collector->code_was_loaded(image, bytes);
}

bool comes_from_profiler(const void* caller) noexcept {
  return inside || reinterpret_cast<std::uint64_t>(caller) - profiler_start.load(std::memory_order_relaxed) <
                       profiler_bytes.load(std::memory_order_relaxed);
}

} // namespace gmt::interposer
