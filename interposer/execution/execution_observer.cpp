// SPDX-License-Identifier: Apache-2.0
// The device may call with its lock held, on threads of its own, which get a log then as any thread
// does at its first call.
#include "interposer/execution/execution_observer.h"

#include "interposer/base/own_stack.h"
#include "interposer/calls/call.h"
#include "interposer/coalescing/collector_client.h"
#include "interposer/driver_state/context_ids.h"
#include "interposer/execution/heap_log.h"
#include "interposer/execution/records.h"
#include "interposer/execution/sums.h"
#include "interposer/execution/traffic.h"
#include "interposer/loader/driver_function.h"
#include "interposer/log/nvtx_ranges.h"
#include "interposer/log/thread_session.h"
#include "trace/kernel_faults.h"

namespace gmt::interposer {

namespace {

using trace::ExecutionFault;
using trace::ExecutionLaunch;
using trace::ExecutionLocation;
using trace::ExecutionSkip;
using trace::ExecutionTotals;

// The members that both have are the same numbers.
template <class To, class From> constexpr bool is_same(To to, From from) {
  return static_cast<unsigned>(to) == static_cast<unsigned>(from);
}
static_assert(is_same(trace::FaultKind::kOutOfBounds, trace::ExecutionReport::kOutOfBounds) &&
              is_same(trace::FaultKind::kSharedRace, trace::ExecutionReport::kSharedRace) &&
              is_same(trace::FaultKind::kAssert, trace::ExecutionReport::kAssert) &&
              is_same(trace::FaultKind::kOther, trace::ExecutionReport::kOther) &&
              is_same(trace::FaultKind::kHang, trace::ExecutionReport::kHang) &&
              is_same(trace::FaultKind::kGlobalRace, trace::ExecutionReport::kGlobalRace) &&
              is_same(trace::FaultSpace::kGeneric, trace::ExecutionSpace::kGeneric) &&
              is_same(trace::FaultAccess::kCopy, trace::ExecutionAccess::kCopy) &&
              is_same(trace::ExecutionOp::kNotRun, trace::ExecutionEnd::kNotRun) &&
              is_same(trace::ExecutionOp::kNotSelected, trace::ExecutionEnd::kNotSelected) &&
              is_same(trace::ExecutionOp::kRunOver, trace::ExecutionEnd::kRunOver) &&
              is_same(trace::ExecutionOp::kRacesLeftOut, trace::ExecutionEnd::kRacesLeftOut) &&
              is_same(trace::UnwrittenForm::kTail, trace::ExecutionUnwritten::kTail));

constexpr trace::Index3 index_of(const std::uint32_t (&v)[3]) noexcept {
  return {v[0], v[1], v[2]};
}

void add_launch(trace::FaultFields<Record>& fault, const ExecutionLaunch& launch) noexcept {
  fault.call(launch.call).made(launch.made).node(launch.node).stream(launch.stream);
  fault.grid_id(launch.grid_id).launched(launch.function);
  fault.grid(index_of(launch.grid)).block(index_of(launch.block));
}

void add_other(ThreadLog& log, Record& record, const ExecutionFault& f) noexcept {
  const bool known = has_field(f, &ExecutionFault::other_access) && f.has_other != 0;
  if (!known) return;
  record.flags |= trace::kFaultHasOther;
  trace::FaultFields fault(record);
  fault.other_lines(lines_of(log, f.other)).other_instruction(text_of(log, f.other.instruction));
  fault.other_function(text_of(log, f.other.function));
  fault.other_access(static_cast<trace::FaultAccess>(f.other_access));
  if (f.other.has_thread == 0) return;
  record.flags |= trace::kFaultOtherHasThread;
  fault.other_block_index(index_of(f.other.block)).other_thread_index(index_of(f.other.thread));
}

void add_neighbour(ThreadLog& log, Record& record, const ExecutionFault& f) noexcept {
  if (!has_field(f, &ExecutionFault::neighbour)) return;
  // A name without bytes: dynamic shared memory of which the launch gave none
  if (f.neighbour.bytes == 0 && f.neighbour.name == nullptr) return;
  if (f.neighbour.is_freed != 0) record.flags |= trace::kFaultNeighbourFreed;
  trace::FaultFields fault(record);
  fault.neighbour(f.neighbour.begin).neighbour_bytes(f.neighbour.bytes);
  fault.neighbour_space(static_cast<trace::FaultSpace>(f.neighbour.space));
  fault.neighbour_name(text_of(log, f.neighbour.name));
}

void record_fault(ThreadLog& log, const ExecutionFault& f, std::uint16_t flags = 0) noexcept {
  Record record;
  record.flags = flags;
  record.kind = trace::Kind::kFault;
  record.droppable = false;
  record.use(trace::FaultWord::kCount);
  trace::FaultFields fault(record);
  add_launch(fault, f.launch);
  fault.fault(static_cast<trace::FaultKind>(f.kind)).kernel(text_of(log, f.launch.kernel));
  fault.lines(lines_of(log, f.location)).instruction(text_of(log, f.location.instruction));
  fault.function(text_of(log, f.location.function));
  fault.bytes(f.bytes).space(static_cast<trace::FaultSpace>(f.space));
  fault.access(static_cast<trace::FaultAccess>(f.access)).count(f.count).gpu_error(f.gpu_error);
  if (f.location.has_thread != 0) {
    record.flags |= trace::kFaultHasThread;
    fault.block_index(index_of(f.location.block)).thread_index(index_of(f.location.thread));
  }
  if (f.has_address != 0) {
    record.flags |= trace::kFaultHasAddress;
    fault.address(f.address);
  }
  add_neighbour(log, record, f);
  add_other(log, record, f);
  if (has_field(f, &ExecutionFault::message)) fault.message(text_of(log, f.message));
  append_ordered(log, record, known_context(f.launch.context));
}

void record_skip(ThreadLog& log, const ExecutionSkip& s) noexcept {
  Record record;
  record.kind = trace::Kind::kExecution;
  record.use(trace::ExecutionWord::kCount);
  trace::ExecutionFields execution(record);
  execution.op(static_cast<trace::ExecutionOp>(s.end)).kernel(text_of(log, s.launch.kernel));
  execution.reason(text_of(log, s.reason)).call(s.launch.call).made(s.launch.made);
  execution.node(s.launch.node).lines(lines_of(log, s.location));
  execution.instruction(text_of(log, s.location.instruction));
  execution.blocks_done(s.blocks_done).instructions(s.instructions_done);
  if (has_field(s, &ExecutionSkip::as_asked) && s.as_asked != 0)
    record.flags |= trace::kExecutionAsAsked;
  append_ordered(log, record, known_context(s.launch.context));
}

void record_copy(ThreadLog& log, const trace::ExecutionCopy& c) noexcept {
  Record record;
  record.kind = trace::Kind::kExecution;
  record.droppable = false;
  record.use(trace::ExecutionWord::kCount);
  if (c.to_host != 0) record.flags |= trace::kExecutionToHost;
  trace::ExecutionFields copy(record);
  copy.op(trace::ExecutionOp::kUnwrittenCopy).call(c.call).address(c.address);
  copy.bytes(c.bytes).missing(c.missing).form(static_cast<trace::UnwrittenForm>(c.form));
  append_ordered(log, record, known_context(c.context));
}

// As many records as it takes.
void record_accesses(ThreadLog& log, const trace::ExecutionAccesses& a) noexcept {
  constexpr unsigned kFirst = trace::ExecutionWord::kCount;
  constexpr unsigned kMost = (kMaxRecordWords - kFirst) / trace::kWordsOfRows;
  unsigned done = 0;
  do {
    const unsigned here = a.row_count - done < kMost ? a.row_count - done : kMost;
    Record record;
    record.kind = trace::Kind::kExecution;
    record.use(kFirst + here * trace::kWordsOfRows);
    trace::ExecutionFields execution(record);
    execution.op(trace::ExecutionOp::kAccesses).kernel(text_of(log, a.launch.kernel));
    execution.call(a.launch.call).node(a.launch.node).index(a.index).before(a.before);
    for (unsigned i = 0; i < here; ++i) {
      const trace::ExecutionRows& rows = a.rows[done + i];
      const std::uint64_t use =
        (rows.is_read != 0 ? trace::kRowsRead : 0) |
        (rows.is_written != 0 ? trace::kRowsWritten : 0) |
        (rows.is_strong != 0 ? trace::kRowsStrong : 0) |
        (rows.life == trace::ExecutionLife::kAllocated ? trace::kRowsAllocated : 0) |
        (rows.life == trace::ExecutionLife::kFreed ? trace::kRowsFreed : 0);
      const unsigned at = kFirst + i * trace::kWordsOfRows;
      record.set(at, rows.address);
      record.set(at + 1, rows.width);
      record.set(at + 2, rows.pitch);
      record.set(at + 3, rows.count << trace::kRowsCountShift | use);
    }
    done += here;
    if (a.is_whole != 0) record.flags |= trace::kExecutionWhole;
    if (a.may_wait != 0) record.flags |= trace::kExecutionMayWait;
    if (done < a.row_count) record.flags |= trace::kExecutionMore;
    append_ordered(log, record, known_context(a.launch.context));
  } while (done < a.row_count);
}

void record_host_write(ThreadLog& log, const trace::ExecutionHostWrite& h) noexcept {
  Record record;
  record.kind = trace::Kind::kExecution;
  record.droppable = false;
  record.use(trace::ExecutionWord::kCount);
  trace::ExecutionFields write(record);
  write.op(h.is_known != 0 ? trace::ExecutionOp::kHostWrote : trace::ExecutionOp::kSourceNotKept);
  write.call(h.call).address(h.address).bytes(h.bytes).missing(h.changed);
  append_ordered(log, record, known_context(h.context));
}

// Calls with(log) where there is a session.
template <class With> void with_log(With with) noexcept {
  ThreadLog* log = current_log();
  if (log == nullptr) return;
  with_room([&](bool) noexcept { with(*log); });
}

std::uint64_t call_in_progress() noexcept { return order_of_call_in_progress(); }
std::uint32_t is_in_range(const char* name) noexcept { return thread_is_in_range(name) ? 1 : 0; }

void on_fault(const ExecutionFault* fault) noexcept {
  with_log([fault](ThreadLog& log) noexcept { record_fault(log, *fault); });
}
void on_skipped(const ExecutionSkip* skip) noexcept {
  with_log([skip](ThreadLog& log) noexcept { record_skip(log, *skip); });
}
void on_heap_call(const trace::ExecutionHeapCall* call) noexcept {
  with_log([call](ThreadLog&) noexcept { record_heap_call(*call); });
}
constinit thread_local bool copies_are_own [[gnu::tls_model("initial-exec")]] = false;

void on_unwritten_copy(const trace::ExecutionCopy* copy) noexcept {
  if (copies_are_own) return;
  with_log([copy](ThreadLog& log) noexcept { record_copy(log, *copy); });
}
void on_totals(const ExecutionTotals* totals) noexcept {
  with_log([totals](ThreadLog& log) noexcept { record_totals(log, *totals); });
}
void on_accesses(const trace::ExecutionAccesses* accesses) noexcept {
  with_log([accesses](ThreadLog& log) noexcept { record_accesses(log, *accesses); });
}
void on_host_wrote(const trace::ExecutionHostWrite* write) noexcept {
  with_log([write](ThreadLog& log) noexcept { record_host_write(log, *write); });
}
void on_refused(const trace::ExecutionRefusal* refusal) noexcept {
  with_log([refusal](ThreadLog& log) noexcept { record_refusal(log, *refusal); });
}

void on_traffic(const trace::ExecutionTraffic* traffic) noexcept {
  with_log([traffic](ThreadLog&) noexcept { record_traffic(*traffic); });
}

constexpr trace::ExecutionObserver
observer_with(void (*traffic)(const trace::ExecutionTraffic*)) noexcept {
  return {sizeof(trace::ExecutionObserver),
          trace::kExecutionVersion,
          call_in_progress,
          on_fault,
          on_skipped,
          on_heap_call,
          on_totals,
          on_unwritten_copy,
          on_refused,
          on_accesses,
          on_host_wrote,
          traffic,
          is_in_range};
}
constinit const trace::ExecutionObserver kObserver = observer_with(nullptr);
constinit const trace::ExecutionObserver kCountingObserver = observer_with(on_traffic);

// The simulated device's alone. Answers its version.
constinit DriverFunction<const trace::ExecutionObserver*> observe{trace::kObserveSymbol};

} // namespace

void begin_execution_observer() noexcept {
  if (observe.is_there()) observe(device_counts_traffic() ? &kCountingObserver : &kObserver);
}

void set_own_copies(bool begin) noexcept { copies_are_own = begin; }

void record_checked_fault(const ExecutionFault& fault) noexcept {
  with_log([&fault](ThreadLog& log) noexcept { record_fault(log, fault, trace::kFaultChecked); });
}

void record_unchecked(const char* kernel, const char* reason, std::uint64_t launches) noexcept {
  with_log([=](ThreadLog& log) noexcept {
    Record record;
    record.kind = trace::Kind::kExecution;
    record.use(trace::ExecutionWord::kCount);
    trace::ExecutionFields execution(record);
    execution.op(trace::ExecutionOp::kUnchecked).kernel(text_of(log, kernel));
    execution.reason(text_of(log, reason)).launches(launches);
    append_ordered(log, record, 0);
  });
}

void forget_execution_observer() noexcept {
  forget_heap_logs();
  forget_sums();
  forget_traffic();
}

} // namespace gmt::interposer
