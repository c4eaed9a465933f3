// SPDX-License-Identifier: Apache-2.0
// What is known of a process while its events pass by, and what only at the end.

#include "analyzer/analysis/process_model.h"

#include "analyzer/analysis/arbiter.h"
#include "tests/unit/analyzer/support/device_heap_fixture.h"

namespace gmt::test {
namespace {

// Detectors have a ProcessFacts all the time and an EndOfTrace in finish() alone. What only the end
// says must not come back to the former.
template <class Facts>
concept SaysTheEnd = requires(const Facts& facts) { facts.ending(); } ||
                     requires(const Facts& facts) { facts.lost_records(); } ||
                     requires(const Facts& facts) { facts.memory_access(); } ||
                     requires(const Facts& facts) { facts.device_heaps().contexts(); } ||
                     requires(const Facts& facts) { facts.device_heaps().conclude(); };
static_assert(!SaysTheEnd<ProcessFacts>);

class Model : public DeviceHeapTest {
protected:
  void follow_all(EventStream& stream, ProcessModel& model, Heap& heap) {
    while (const Event* e = stream.next()) {
      model.follow(*e);
      heap.apply(*e);
      model.follow_call(*e, heap);
    }
  }
  TraceDir written() {
    device.drained();
    std::filesystem::create_directories(directory.path() / "trace");
    device.write(directory.path() / "trace");
    trace.write(directory.path() / "trace");
    return open_trace(directory.path() / "trace").value();
  }
};

TEST_F(Model, TheParentsWordEndsATraceAndNotTheFirstLastWords) {
  log().exit(trace::ExitWay::kExit, 3);
  cuda_malloc(kA, kMiB); // by a destructor, behind exit()
  trace.complete = "how=signalled\nstatus=0\nsignal=11\ncore=0\n";
  EventStream stream(written());
  ProcessModel model(stream, options);
  Heap heap;
  EXPECT_FALSE(model.exit_recorded());
  follow_all(stream, model, heap);
  EXPECT_TRUE(model.exit_recorded());
  const EndOfTrace end = model.end();
  EXPECT_EQ(end.ending.how, Ending::How::kSignalled);
  EXPECT_EQ(end.ending.signal, 11);
}

TEST_F(Model, LossesAreKnownAtTheEnd) {
  log().record({.api = ""}, Made<trace::LossFields>().cause(trace::LossCause::kNoSpace).records(5));
  EventStream stream(written());
  ProcessModel model(stream, options);
  Heap heap;
  EXPECT_EQ(model.lost_so_far(), 0u);
  follow_all(stream, model, heap);
  EXPECT_EQ(model.end().lost_records, 5u);
}

TEST_F(Model, LaunchesAreMatchedAtTheEnd) {
  device.device_malloc({}, kP, 64);
  run_kernel(kStep, 1);
  EventStream stream(written());
  ProcessModel model(stream, options);
  Heap heap;
  follow_all(stream, model, heap);
  const DeviceHeaps::Found found = model.device_heaps().find(kP, 1, 0);
  const EndOfTrace end = model.end();
  ASSERT_EQ(end.device_contexts.size(), 1u);
  EXPECT_EQ(found.context, 0u);
  EXPECT_NE(end.device_contexts[0]->launches.find(1), nullptr);
  EXPECT_EQ(model.device_heaps().find(kA, 1, 0).context, DeviceHeaps::kNoContext);
}

TEST_F(Model, TheHeapsVerdictYieldsWhereADeviceHeapHasThePointer) {
  device.device_malloc({}, kP, 64);
  cuda_free(kP, 1);
  cuda_free(kB, 1);
  EventStream stream(written());
  ProcessModel model(stream, options);
  Heap heap;
  const Arbiter arbiter(heap, model.device_heaps(), 0, false);
  std::string standing;
  while (const Event* e = stream.next()) {
    model.follow(*e);
    const auto verdicts = heap.apply(*e);
    model.follow_call(*e, heap);
    if (e->kind == EventKind::kFree) {
      EXPECT_EQ(verdicts.size(), 1u);
      standing += std::to_string(arbiter.settle(*e, verdicts).size());
    }
  }
  EXPECT_EQ(standing, "01");
}

// One of those that were lost may have given the memory out again.
TEST_F(Model, VerdictsOnTensorsStandWhereNothingWasLost) {
  const auto tensor = [this](trace::TensorOp op) {
    log().record({.api = "reportMemoryUsageToProfiler", .stack = {0x500}},
                 Made<trace::TensorFields>().address(kA + 4096).bytes(1024).op(op));
  };
  cuda_malloc(kA, kMiB);
  tensor(trace::TensorOp::kGivenOut);
  tensor(trace::TensorOp::kTakenBack);
  cuda_memcpy(kA + 4096, kHost, 1024);
  EventStream stream(written());
  ProcessModel model(stream, options);
  Heap heap;
  const Arbiter arbiter(heap, model.device_heaps(), 0, false);
  const Arbiter behind_loss(heap, model.device_heaps(), 0, true);
  std::string standing;
  while (const Event* e = stream.next()) {
    model.follow(*e);
    const auto verdicts = heap.apply(*e);
    if (e->kind != EventKind::kCopy) continue;
    standing += std::to_string(arbiter.settle(*e, verdicts).size());
    standing += std::to_string(behind_loss.settle(*e, verdicts).size());
  }
  EXPECT_EQ(standing, "10");
}

} // namespace
} // namespace gmt::test
