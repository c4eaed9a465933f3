// SPDX-License-Identifier: Apache-2.0
// Which record means what to the collector stands in describe(), nowhere else.
#include "interposer/coalescing/collector_client.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string_view>

#include "interposer/coalescing/collector/interface.h"
#include "interposer/driver_state/code_generation.h"
#include "interposer/driver_state/context_ids.h"
#include "interposer/loader/driver_function.h"
#include "interposer/loader/object_files.h"
#include "interposer/loader/real_dlsym.h"
#include "interposer/log/interned_text.h"
#include "interposer/log/nvtx_ranges.h"
#include "interposer/log/process.h"
#include "interposer/log/thread_log.h"
#include "interposer/log/thread_session.h"
#include "trace/api_id.h"
#include "trace/execution_observer.h"
#include "trace/object_class.h"

namespace gmt::interposer {

constinit std::atomic<Coalescing> coalescing{Coalescing::kOff};

namespace {

using What = DriverCall::What;
using trace::Kind;
using trace::SyncOp;

constinit const CollectorFunctions* collector = nullptr; // written before `coalescing`
constinit std::atomic<std::uint64_t> profiler_start{0}, profiler_bytes{0};
constinit thread_local bool inside_collector __attribute__((tls_model("initial-exec"))) = false;

// Held over every call of the collector.
class Inside {
public:
  Inside() noexcept : outer_(inside_collector) { inside_collector = true; }
  ~Inside() { inside_collector = outer_; }
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
    for (unsigned row = 0; row < trace::kDriverApiCount; ++row)
      is[row] = is_hidden_work(trace::kApiNames[row]);
  }
};
constexpr HiddenWork kHiddenWork;

constexpr std::uint64_t kLegacyStream = 1; // CU_STREAM_LEGACY
DriverCall on_stream(What what, std::uint64_t stream, std::uint64_t object = 0) noexcept {
  return {what, stream != 0 ? stream : kLegacyStream, object};
}

std::uint64_t volume_of(trace::Index3 extents) noexcept {
  return std::uint64_t{extents.x} * extents.y * extents.z;
}

DriverCall describe_launch(trace::LaunchView launch) noexcept {
  constexpr std::uint64_t kThreadsOfWarp = 32;
  DriverCall call = on_stream(What::kLaunch, launch.stream(), launch.function());
  call.warps =
    volume_of(launch.grid()) * ((volume_of(launch.block()) + kThreadsOfWarp - 1) / kThreadsOfWarp);
  return call;
}

DriverCall describe_order(trace::SyncView order) noexcept {
  const std::uint64_t stream = order.stream();
  switch (order.op()) {
  case SyncOp::kStreamSynchronize:
  case SyncOp::kEventSynchronize:
  case SyncOp::kStreamQuery:
  case SyncOp::kEventQuery: return {What::kSynchronized};
  case SyncOp::kContextSynchronize: return {What::kContextSynchronized};
  case SyncOp::kGraphLaunch: return on_stream(What::kGraphLaunch, stream, order.executable_graph());
  case SyncOp::kGraphUpload: return on_stream(What::kGraphUpload, stream, order.executable_graph());
  case SyncOp::kBeginCapture: return on_stream(What::kBeginCapture, stream);
  case SyncOp::kEndCapture: return on_stream(What::kEndCapture, stream);
  case SyncOp::kEventRecord:
  case SyncOp::kStreamWaitEvent:
  case SyncOp::kHostFunction:
  case SyncOp::kExternalSignal:
  case SyncOp::kExternalWait: return on_stream(What::kWork, stream);
  case SyncOp::kElapsedTime:
  case SyncOp::kContextRecord:
  case SyncOp::kContextWait: break;
  }
  return {};
}

DriverCall describe_life(trace::LifeView life) noexcept {
  const trace::ObjectClass object = life.object();
  const trace::LifeOp op = life.op();
  if (object == trace::ObjectClass::kGraphExec) {
    if (op == trace::LifeOp::kCreate) return {What::kGraphMade, 0, life.handle(), life.parent()};
    return {What::kGraphChanged, 0, life.handle()};
  }
  if (op == trace::LifeOp::kDestroy) {
    if (object == trace::ObjectClass::kStream) return {What::kStreamEnds, life.handle()};
    if (object == trace::ObjectClass::kModule || object == trace::ObjectClass::kLibrary)
      return {What::kCodeEnds};
    if (object == trace::ObjectClass::kContext) return {What::kContextEnds, 0, life.handle()};
  } else if (object == trace::ObjectClass::kPrimaryContext) {
    if (op == trace::LifeOp::kReset) return {What::kPrimaryEnds, 1, life.device()};
    if (op == trace::LifeOp::kRelease) return {What::kPrimaryEnds, 0, life.device()};
  }
  return {};
}

DriverCall describe_use(trace::UseView use) noexcept {
  switch (use.use()) {
  case trace::UseClass::kPrefetch:
  case trace::UseClass::kAttach:
  case trace::UseClass::kMemOp:
  case trace::UseClass::kMemOpWait:
  case trace::UseClass::kDiscard: return on_stream(What::kWork, use.stream());
  default: return {};
  }
}

DriverCall describe_graph_change(trace::GraphChangeView change) noexcept {
  if (change.op() == trace::GraphOp::kUpdate)
    return {What::kGraphMade, 0, change.graph(), change.other_graph()};
  if (change.op() >= trace::GraphOp::kEventRecord) return {}; // runs no kernel
  return {What::kGraphChanged, 0, change.graph()};
}

DriverCall describe_graph_kernel(trace::GraphKernelView kernel) noexcept {
  return {What::kGraphKernel, 0, kernel.graph(), kernel.function(), kernel.node()};
}

DriverCall describe(const Record& r, std::uint16_t row) noexcept {
  switch (r.kind) {
  case Kind::kLaunch: return describe_launch(trace::LaunchView(r));
  case Kind::kCopy: {
    const bool async = (r.flags & trace::kCopyAsync) != 0;
    return on_stream(async ? What::kWork : What::kWorkAndWait, trace::CopyView(r).stream());
  }
  case Kind::kSet: {
    const bool async = (r.flags & trace::kSetAsync) != 0;
    return on_stream(async ? What::kWork : What::kWorkAndWait, trace::SetView(r).stream());
  }
  case Kind::kAlloc:
    if (trace::AllocView(r).memory_kind() != trace::MemoryKind::kStreamOrdered) return {};
    return on_stream(What::kWork, trace::AllocView(r).stream());
  case Kind::kFree: // cuMemFree and its like wait for the device
    if ((r.flags & trace::kSetAsync) == 0) return {What::kSynchronized};
    return on_stream(What::kWork, trace::FreeView(r).stream());
  case Kind::kSync: return describe_order(trace::SyncView(r));
  case Kind::kLife: return describe_life(trace::LifeView(r));
  case Kind::kUse: return describe_use(trace::UseView(r));
  case Kind::kGraphKernel: return describe_graph_kernel(trace::GraphKernelView(r));
  case Kind::kGraphChange: return describe_graph_change(trace::GraphChangeView(r));
  case Kind::kNote:
    return {row < trace::kDriverApiCount && kHiddenWork.is[row] ? What::kHiddenWork
                                                                : What::kNothing};
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
void notify_at_exit() noexcept {
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

bool path_of(const char* file, char* buffer, std::size_t size) noexcept {
  return Process::path_of(file, buffer, size);
}
bool take_budget(std::uint64_t bytes) noexcept { return Process::take_budget(bytes, 2); }

bool is_in_file(const void* address) noexcept {
  ObjectFile object;
  return object_of(address, object);
}

constinit CoreFunctions core{
  .options = nullptr, // when it is opened
  .driver_symbol = driver_symbol,
  .current_context = current_context_handle,
  .context_id = id_of_context,
  .is_primary_context = is_primary_context,
  .code_generation = code_generation,
  .in_range = in_range,
  .now = monotonic_ns,
  .profiler_was_loaded = profiler_was_loaded,
  .switch_off = switch_off,
  .notify_at_exit = notify_at_exit,
  .make_log = ThreadLog::create_for_sums,
  .append = append,
  .append_text = append_to_sums,
  .path_of = path_of,
  .take_budget = take_budget,
  .initial_environment = initial_environment,
  .is_in_file = is_in_file,
  .each_object = each_object_path,
  .find_symbol = real_dlsym,
};

bool collector_is_asked_for() noexcept {
  return Process::options().coalescing != 0 || Process::options().counters != 0;
}

} // namespace

bool device_counts_traffic() noexcept {
  if (!collector_is_asked_for()) return false;
  constinit static DriverFunction<const trace::ExecutionObserver*> observe{trace::kObserveSymbol};
  char cupti[4096]; // a value that does not fit counts as none
  const bool has_cupti =
    initial_environment("GPUMEMTRACE_CUPTI", cupti, sizeof cupti) && cupti[0] != '\0';
  return !has_cupti && observe.is_there();
}

void open_collector() noexcept {
  if (!collector_is_asked_for() || device_counts_traffic()) return;
  if (collector == nullptr) {
    char path[1100];
    if (!own_folder(path, sizeof path - sizeof kCollectorLibrary - 1)) return;
    std::strcat(path, "/");
    std::strcat(path, kCollectorLibrary);
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void* symbol = library != nullptr ? real_dlsym(library, kCollectorSymbol) : nullptr;
    const auto open = reinterpret_cast<OpenCollector>(symbol);
    if (open == nullptr) return Process::notify_command("nocollector", path);
    core.options = &Process::options();
    collector = open(&core);
  }
  coalescing.store(Coalescing::kOn, std::memory_order_release);
}

void forget_collector() noexcept {
  coalescing.store(Coalescing::kOff);
  if (collector != nullptr) collector->forget();
}

std::uint64_t notify_before(const Record& record, std::uint16_t row) noexcept {
  const DriverCall call = describe(record, row);
  if (call.what == What::kNothing) return 0;
  const Inside guard;
  return collector->before(call);
}

void notify_after(const Record& record, std::uint16_t row, std::uint64_t token,
                  bool succeeded) noexcept {
  const DriverCall call = describe(record, row);
  const Inside guard;
  collector->after(call, token, succeeded);
}

void notify_of_code(const void* image, std::size_t bytes) noexcept {
  const Inside guard;
  collector->code_was_loaded(image, bytes);
}

bool comes_from_profiler(const void* caller) noexcept {
  return inside_collector ||
         reinterpret_cast<std::uint64_t>(caller) - profiler_start.load(std::memory_order_relaxed) <
           profiler_bytes.load(std::memory_order_relaxed);
}

} // namespace gmt::interposer
