// SPDX-License-Identifier: Apache-2.0
// What the simulated device says of kernels, as records: the test is the device, and calls the
// table of functions that it was given.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <utility>

#include "interposer/execution/execution_observer.h"
#include "interposer/loader/driver_function.h"
#include "interposer/log/interned_text.h"
#include "interposer/log/thread_log.h"
#include "interposer/log/thread_session.h"
#include "tests/unit/interposer/support/recorded.h"
#include "trace/execution_observer.h"

namespace gmt::interposer {

constinit const SessionPart kParts[] = {{forget_texts, nullptr}};
constinit const SessionParts session_parts{kParts, 1};

namespace {

using trace::Kind;

const trace::ExecutionObserver* observer = nullptr;
int observe(const trace::ExecutionObserver* given) {
  observer = given;
  return static_cast<int>(trace::kExecutionVersion);
}
void* find_function(const char* name) noexcept {
  return std::string(name) == trace::kObserveSymbol ? reinterpret_cast<void*>(&observe) : nullptr;
}

constexpr trace::ExecutionLine kLines[] = {{"inner\tone", "a.cuh", 7, 0}, {nullptr, "a.cu", 40, 0}};

trace::ExecutionLaunch made_up_launch() {
  trace::ExecutionLaunch launch{};
  launch.call = 12;
  launch.stream = 0x51;
  launch.grid_id = 3;
  launch.function = 0xf0;
  launch.kernel = "_Z4fillPfi";
  launch.grid[0] = 4, launch.grid[1] = 2, launch.grid[2] = 1;
  launch.block[0] = 64, launch.block[1] = launch.block[2] = 1;
  return launch;
}

trace::ExecutionLocation made_up_location() {
  trace::ExecutionLocation location{};
  location.lines = kLines;
  location.line_count = 2;
  location.has_thread = 1;
  location.instruction = "st.global.f32 [%rd4], %f1;";
  location.function = "_Z4fillPfi";
  location.block[0] = 3;
  location.thread[0] = 63;
  return location;
}

trace::ExecutionFault made_up_fault() {
  trace::ExecutionFault fault{};
  fault.size = sizeof fault;
  fault.kind = trace::ExecutionReport::kOutOfBounds;
  fault.launch = made_up_launch();
  fault.location = made_up_location();
  fault.address = 0x7000;
  fault.has_address = 1;
  fault.bytes = 4;
  fault.space = trace::ExecutionSpace::kGlobal;
  fault.access = trace::ExecutionAccess::kStore;
  fault.count = 96;
  fault.gpu_error = 700;
  return fault;
}

class InterposerExecution : public RecordedTest {
protected:
  void SetUp() override {
    set_driver_look_up(find_function);
    begin_execution_observer();
    ASSERT_NE(observer, nullptr);
    ASSERT_NE(thread_log(), nullptr);
    forget_execution_observer();
    RecordedTest::SetUp();
  }
};

TEST_F(InterposerExecution, AFaultIsRecordedWithItsLinesAndThread) {
  const trace::ExecutionFault said = made_up_fault();
  observer->fault(&said);
  const Recorded record = only(Kind::kFault);
  const trace::FaultView fault(record);
  EXPECT_EQ(fault.fault(), trace::FaultKind::kOutOfBounds);
  EXPECT_EQ(fault.call(), 12u);
  EXPECT_EQ(text_of_id(fault.kernel()), "_Z4fillPfi");
  EXPECT_EQ(text_of_id(fault.lines()), "7\tinner one\ta.cuh\n40\t\ta.cu") << "no tab in a name";
  EXPECT_EQ(text_of_id(fault.instruction()), "st.global.f32 [%rd4], %f1;");
  EXPECT_EQ(fault.address(), 0x7000u);
  EXPECT_EQ(fault.bytes(), 4u);
  EXPECT_EQ(fault.space(), trace::FaultSpace::kGlobal);
  EXPECT_EQ(fault.access(), trace::FaultAccess::kStore);
  EXPECT_EQ(fault.count(), 96u);
  EXPECT_EQ(fault.gpu_error(), 700u);
  EXPECT_EQ(fault.block_index().x, 3u);
  EXPECT_EQ(fault.thread_index().x, 63u);
  EXPECT_EQ(fault.grid().y, 2u);
  EXPECT_EQ(fault.launched(), 0xf0u);
  EXPECT_EQ(record.head.flags, trace::kFaultHasThread | trace::kFaultHasAddress);
  EXPECT_EQ(record.order, Process::current_order());
}

// The first is where it happened, and the last are the program's own.
TEST_F(InterposerExecution, LinesThatDoNotFitAreThoseInBetween) {
  const std::string file(300, 'f');
  std::vector<trace::ExecutionLine> lines;
  for (std::uint32_t i = 0; i < 40; ++i) lines.push_back({"g", file.c_str(), 10 + i, 0});
  trace::ExecutionFault said = made_up_fault();
  said.location.lines = lines.data();
  said.location.line_count = static_cast<std::uint32_t>(lines.size());
  observer->fault(&said);
  const std::string text = text_of_id(trace::FaultView(only(Kind::kFault)).lines());
  EXPECT_TRUE(text.starts_with("10\tg\tfff")) << text;
  EXPECT_NE(text.find("\n46\tg\t" + file + "\n47\tg\t"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\n49\tg\t" + file)) << text;
}

TEST_F(InterposerExecution, ARaceHasAnotherLocation) {
  trace::ExecutionFault said = made_up_fault();
  said.kind = trace::ExecutionReport::kSharedRace;
  said.has_other = 1;
  said.other = made_up_location();
  said.other.thread[0] = 5;
  said.other_access = trace::ExecutionAccess::kLoad;
  said.neighbour = {0x40, 128, 1, trace::ExecutionSpace::kShared, "tile"};
  observer->fault(&said);
  const Recorded record = only(Kind::kFault);
  const trace::FaultView fault(record);
  EXPECT_EQ(fault.other_thread_index().x, 5u);
  EXPECT_EQ(fault.other_access(), trace::FaultAccess::kLoad);
  EXPECT_EQ(text_of_id(fault.neighbour_name()), "tile");
  EXPECT_EQ(fault.neighbour_bytes(), 128u);
  EXPECT_NE(record.head.flags & trace::kFaultHasOther, 0);
  EXPECT_NE(record.head.flags & trace::kFaultOtherHasThread, 0);
  EXPECT_NE(record.head.flags & trace::kFaultNeighbourFreed, 0);
}

TEST_F(InterposerExecution, FieldsThatAnOlderDeviceLacksAreNotRead) {
  trace::ExecutionFault said = made_up_fault();
  said.size = offsetof(trace::ExecutionFault, neighbour);
  said.has_other = 1;
  said.other_access = trace::ExecutionAccess::kLoad;
  said.neighbour = {0x40, 128, 1, trace::ExecutionSpace::kShared,
                    reinterpret_cast<const char*>(0x10)};
  said.message = reinterpret_cast<const char*>(0x10);
  observer->fault(&said);
  const Recorded record = only(Kind::kFault);
  EXPECT_EQ(trace::FaultView(record).neighbour_bytes(), 0u);
  EXPECT_EQ(trace::FaultView(record).message(), 0u);
  EXPECT_EQ(record.head.flags & (trace::kFaultHasOther | trace::kFaultNeighbourFreed), 0);
}

TEST_F(InterposerExecution, LaunchesThatDidNotRun) {
  trace::ExecutionSkip said{};
  said.size = sizeof said;
  said.end = trace::ExecutionEnd::kStopped;
  said.launch = made_up_launch();
  said.location = made_up_location();
  said.reason = "it ran for 60 s";
  said.blocks_done = 7;
  said.instructions_done = 1000;
  said.as_asked = 1;
  observer->skipped(&said);
  const Recorded record = only(Kind::kExecution);
  const trace::ExecutionView execution(record);
  EXPECT_EQ(execution.op(), trace::ExecutionOp::kStopped);
  EXPECT_EQ(text_of_id(execution.reason()), "it ran for 60 s");
  EXPECT_EQ(execution.blocks_done(), 7u);
  EXPECT_EQ(execution.instructions(), 1000u);
  EXPECT_NE(record.head.flags & trace::kExecutionAsAsked, 0);
}

TEST_F(InterposerExecution, CopiesOfWhatNothingWrote) {
  const trace::ExecutionCopy said{
    sizeof said, trace::ExecutionUnwritten::kTail, 9, 0, 0x8000, 64, 16, 1, 0};
  observer->unwritten_copy(&said);
  const Recorded record = only(Kind::kExecution);
  const trace::ExecutionView copy(record);
  EXPECT_EQ(copy.op(), trace::ExecutionOp::kUnwrittenCopy);
  EXPECT_EQ(copy.form(), trace::UnwrittenForm::kTail);
  EXPECT_EQ(copy.call(), 9u);
  EXPECT_EQ(copy.address(), 0x8000u);
  EXPECT_EQ(copy.bytes(), 64u);
  EXPECT_EQ(copy.missing(), 16u);
  EXPECT_NE(record.head.flags & trace::kExecutionToHost, 0);
}

TEST_F(InterposerExecution, TotalsAreRaisedWhereTheyStand) {
  trace::ExecutionFidelity rows[] = {{sizeof rows[0], 1, "exact.op", 10, 1},
                                     {sizeof rows[0], 0, "ex2.approx.f32", 20, 1}};
  trace::ExecutionTotals said{};
  said.size = sizeof said;
  said.row_count = 1;
  said.rows = rows;
  said.launches = said.ran = 1;
  observer->totals(&said);
  rows[0].instructions = 30;
  said.row_count = 2;
  said.launches = 2;
  said.skipped = 1;
  observer->totals(&said);
  const std::vector<Recorded> records = fresh(Kind::kExecution);
  ASSERT_EQ(records.size(), 3u);
  const trace::ExecutionView exact(records[0]), totals(records[1]), approximate(records[2]);
  EXPECT_EQ(text_of_id(exact.feature()), "exact.op");
  EXPECT_EQ(exact.instructions(), 30u);
  EXPECT_NE(records[0].head.flags & trace::kExecutionExact, 0);
  EXPECT_EQ(totals.op(), trace::ExecutionOp::kTotals);
  EXPECT_EQ(totals.launches(), 2u);
  EXPECT_EQ(totals.ran(), 1u);
  EXPECT_EQ(totals.skipped(), 1u);
  EXPECT_EQ(text_of_id(approximate.feature()), "ex2.approx.f32");
  EXPECT_EQ(records[2].head.flags & trace::kExecutionExact, 0);
}

TEST_F(InterposerExecution, RefusedCallsAreCounted) {
  const trace::ExecutionRefusal whole{sizeof whole, 0, "cuGreenCtxCreate", nullptr},
    part{sizeof part, 0, "cuMemcpy3D_v2", "sparse arrays"};
  observer->refused(&whole);
  observer->refused(&part);
  observer->refused(&whole);
  const std::vector<Recorded> records = fresh(Kind::kExecution);
  ASSERT_EQ(records.size(), 2u);
  const trace::ExecutionView first(records[0]), second(records[1]);
  EXPECT_EQ(text_of_id(first.function()), "cuGreenCtxCreate");
  EXPECT_EQ(first.calls(), 2u);
  EXPECT_EQ(first.reason(), 0u);
  EXPECT_EQ(second.calls(), 1u);
  EXPECT_EQ(text_of_id(second.reason()), "sparse arrays");
}

// The file that a log has left may be packed: what is written there then is lost.
TEST_F(InterposerExecution, SumsGoOnInTheFileThatALogBegins) {
  auto& options = const_cast<Options&>(Process::options());
  const std::uint64_t max_trace = std::exchange(options.max_trace, 8 << 20); // files of 1 MiB
  std::thread([] {
    const trace::ExecutionRefusal refusal{sizeof refusal, 0, "cuGreenCtxDestroy", nullptr};
    trace::ExecutionTotals totals{};
    totals.size = sizeof totals;
    for (totals.launches = 101; totals.launches < 104; ++totals.launches) {
      observer->refused(&refusal);
      observer->totals(&totals);
      ThreadLog* const log = thread_log();
      const std::uint64_t word = 0;
      for (const std::uint32_t file = log->file(); log->file() == file;)
        ASSERT_NE(log->append_words(Kind::kHostMemory, &word, 1), nullptr);
    }
  }).join();
  options.max_trace = max_trace;
  std::uint64_t calls = 0;
  std::set<std::uint64_t> launches;
  for (const Recorded& record : all_records()) {
    if (record.head.kind != Kind::kExecution) continue;
    const trace::ExecutionView said(record);
    if (said.op() == trace::ExecutionOp::kTotals) launches.insert(said.launches());
    else if (text_of_id(said.function()) == "cuGreenCtxDestroy") calls += said.calls();
  }
  EXPECT_EQ(calls, 3u);
  EXPECT_TRUE(launches.contains(101) && launches.contains(102) && launches.contains(103));
}

// ---- the device heap, which has a log of its own for each context

std::vector<Recorded> heap_records(Kind kind) {
  std::vector<Recorded> found;
  for (const auto& entry : std::filesystem::directory_iterator(trace_folder())) {
    if (entry.path().filename().string().rfind("device-", 0) != 0) continue;
    for (const Recorded& record : records_of(entry.path())) {
      if (record.head.kind == kind) found.push_back(record);
    }
  }
  return found;
}

TEST_F(InterposerExecution, CallsOfTheDeviceHeapHaveALogOfTheirOwn) {
  trace::ExecutionHeapCall said{};
  said.size = sizeof said;
  said.launch = made_up_launch();
  said.location = made_up_location();
  said.bytes = 48;
  said.pointer = 0x9000;
  observer->heap_call(&said);
  said.is_free = 1;
  observer->heap_call(&said);
  said.is_free = 0;
  said.pointer = 0; // exhausted
  said.launch.grid_id = 4;
  observer->heap_call(&said);
  const std::vector<Recorded> allocations = heap_records(Kind::kDeviceAlloc);
  ASSERT_EQ(allocations.size(), 2u);
  const trace::DeviceAllocView first(allocations[0]);
  EXPECT_EQ(first.pointer(), 0x9000u);
  EXPECT_EQ(first.bytes(), 48u);
  EXPECT_EQ(first.grid(), 3u);
  EXPECT_EQ(first.block().x, 3u);
  EXPECT_EQ(allocations[0].head.result, 0);
  EXPECT_EQ(allocations[1].head.result, trace::kDeviceOutOfMemory);
  const std::vector<Recorded> frees = heap_records(Kind::kDeviceFree);
  ASSERT_EQ(frees.size(), 1u);
  EXPECT_EQ(trace::DeviceAllocView(frees[0]).pointer(), 0x9000u);
  EXPECT_EQ(heap_records(Kind::kDeviceGrid).size(), 2u) << "each grid once";
  const std::vector<Recorded> sites = heap_records(Kind::kDeviceSite);
  ASSERT_EQ(sites.size(), 1u) << "each line once";
  EXPECT_EQ(trace::DeviceSiteView(sites[0]).line(), 7u);
}

} // namespace
} // namespace gmt::interposer
