// SPDX-License-Identifier: Apache-2.0
// What does not fit into the tables here has no record.
#include "interposer/execution/sums.h"

#include "interposer/execution/records.h"
#include "interposer/log/interned_text.h"
#include "interposer/log/thread_log.h"
#include "trace/kernel_faults.h"

namespace gmt::interposer {

namespace {

constexpr unsigned kMostFeatures = 256, kMostRefused = 256;

// A record that is raised where it stands, as long as its log has not left the file: that may be
// packed then. After that a new record says more.
struct Raised {
  trace::Slot* slot = nullptr;
  const ThreadLog* log = nullptr;
  std::uint32_t file = 0;

  bool has_left() const noexcept { return slot != nullptr && log->file() != file; }
};

struct Refused {
  std::uint64_t id;    // of both texts; 0: the rest of the table is free
  std::uint64_t calls; // in its record
  Raised record;
};

constinit Raised totals_record{};
constinit Raised feature_records[kMostFeatures] = {};
constinit Refused refused_calls[kMostRefused] = {};

void begin(Record& record) noexcept {
  record.kind = trace::Kind::kExecution;
  record.droppable = false;
  record.use(trace::ExecutionWord::kCount);
}

void put(ThreadLog& log, Raised& raised, const Record& record) noexcept {
  if (raised.slot != nullptr && !raised.has_left()) return raise_words(raised.slot, record);
  raised.slot = append_ordered(log, record, 0);
  raised.log = &log;
  raised.file = log.file(); // which the record may have begun
}

void record_feature(ThreadLog& log, Raised& raised,
                    const trace::ExecutionFidelity& feature) noexcept {
  Record record;
  begin(record);
  if (feature.is_exact != 0) record.flags = trace::kExecutionExact;
  trace::ExecutionFields words(record);
  words.op(trace::ExecutionOp::kFeature).feature(text_of(log, feature.feature));
  words.launches(feature.launches).instructions(feature.instructions);
  put(log, raised, record);
}

} // namespace

void record_totals(ThreadLog& log, const trace::ExecutionTotals& t) noexcept {
  const auto* row = reinterpret_cast<const char*>(t.rows);
  for (unsigned i = 0; i < t.row_count && i < kMostFeatures && row != nullptr; ++i) {
    trace::ExecutionFidelity feature{};
    __builtin_memcpy(&feature, row, sizeof feature);
    if (feature.size < sizeof feature) break; // older than all of its fields
    record_feature(log, feature_records[i], feature);
    row += feature.size;
  }
  Record record;
  begin(record);
  trace::ExecutionFields totals(record);
  totals.op(trace::ExecutionOp::kTotals).launches(t.launches).ran(t.ran).skipped(t.skipped);
  totals.stopped(t.stopped).instructions(t.thread_instructions).nanoseconds(t.nanoseconds);
  if (has_field(t, &trace::ExecutionTotals::threads)) totals.seed(t.seed).threads(t.threads);
  if (has_field(t, &trace::ExecutionTotals::late)) totals.late(t.late);
  put(log, totals_record, record);
}

void record_refusal(ThreadLog& log, const trace::ExecutionRefusal& refusal) noexcept {
  constexpr std::uint64_t kFactor = 31;
  const std::uint64_t id =
    (text_id(as_text(refusal.function)) * kFactor + text_id(as_text(refusal.what))) | 1;
  for (Refused& one : refused_calls) {
    if (one.id != 0 && one.id != id) continue;
    one.id = id;
    if (one.record.has_left()) one.calls = 0;
    ++one.calls;
    Record record;
    begin(record);
    trace::ExecutionFields words(record);
    words.op(trace::ExecutionOp::kRefused).function(text_of(log, refusal.function));
    words.reason(text_of(log, refusal.what)).calls(one.calls);
    return put(log, one.record, record);
  }
}

void forget_sums() noexcept {
  totals_record = {};
  for (Raised& raised : feature_records) raised = {};
  for (Refused& one : refused_calls) one = {};
}

} // namespace gmt::interposer
