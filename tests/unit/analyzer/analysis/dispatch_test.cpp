// SPDX-License-Identifier: Apache-2.0
// Which detectors are called for an event, and who is left with refused calls: by detectors of this
// file's own, that note what they were called for.

#include "analyzer/analysis/dispatch.h"

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

std::string g_calls; // of the detectors below, a word each

constexpr Wants kLater = wants(EventKind::kCopy) | kWantsFailures;

// Claims refused frees, and asks for copies once it has seen a set.
class Claiming : public Detector {
public:
  void on_event(const Event& e, std::span<const Verdict>, const Heap&,
                Findings& findings) override {
    g_calls += e.kind == EventKind::kCopy ? "copy " : "";
    if (e.kind == EventKind::kSet) watch(kLater);
    if (e.kind == EventKind::kFree && !e.succeeded()) findings.claim_refusal();
  }
  void finish(const EndOfTrace& end, const Heap&, Findings&) override {
    g_calls += "end" + std::to_string(end.ending.status) + " ";
  }
};

// Sorted before the one above, and called behind it all the same.
class Unclaimed : public Detector {
public:
  void on_unclaimed(const Event& e, const Heap&, Findings&) override {
    g_calls += "unclaimed" + std::to_string(e.result) + " ";
  }
  void finish(const EndOfTrace&, const Heap&, Findings&) override { g_calls += "last "; }
};

class OddAllocations : public Detector {
public:
  void on_event(const Event&, std::span<const Verdict>, const Heap&, Findings&) override {
    g_calls += "odd ";
  }
};

template <class T> std::unique_ptr<Detector> make(const ProcessFacts&) {
  return std::make_unique<T>();
}

const DetectorRegistration kClaiming{{.id = "a-test-2",
                                      .severity = Severity::kNote,
                                      .title = "",
                                      .make = make<Claiming>,
                                      .wants = wants(EventKind::kSet) | kWantsFailures}};
const DetectorRegistration kUnclaimed{{.id = "a-test-1",
                                       .severity = Severity::kNote,
                                       .title = "",
                                       .make = make<Unclaimed>,
                                       .wants = kWantsUnclaimed}};

const DetectorRegistration kOddAllocations{{.id = "a-test-3",
                                            .severity = Severity::kNote,
                                            .title = "",
                                            .make = make<OddAllocations>,
                                            .wants = kWantsOddAllocations}};

class Dispatched : public AnalysisTest {
protected:
  void SetUp() override {
    g_calls.clear();
    cuda_malloc(kA, kMiB);
  }
  std::string calls() {
    run();
    return g_calls;
  }
  void refused(std::uint16_t code) { // by no reason that a detector knows
    log().record({.api = "cuMemPoolTrimTo", .result = code}, Made<trace::NoteFields>());
  }
};

TEST_F(Dispatched, AClaimIsOfOneEvent) {
  cuda_free(kA, 800);
  refused(1);
  EXPECT_EQ(calls(), "unclaimed1 end0 last ");
}

TEST_F(Dispatched, MistakesAndWhatDidNotReturnAreNotUnclaimed) {
  cuda_memcpy(kA, kHost, 2 * kMiB, 1); // copy-out-of-bounds
  refused(trace::kResultInFlight);
  EXPECT_EQ(calls(), "copy end0 last ");
}

TEST_F(Dispatched, WatchHoldsFromTheNextEventOn) {
  cuda_memcpy(kA, kHost, 1);
  log().set({.api = "cuMemsetD8_v2"}, kA, kMiB);
  cuda_memcpy(kA, kHost, 2);
  cuda_memcpy(kA, kHost, 3);
  EXPECT_EQ(calls(), "copy copy end0 last ");
}

TEST_F(Dispatched, PlainDeviceMemoryIsNoOddAllocation) {
  cuda_malloc(kB, kMiB);
  log().alloc({.api = "cuMemAllocManaged"}, trace::MemoryKind::kManaged, kB + kMiB, kMiB);
  EXPECT_EQ(calls(), "odd end0 last ");
}

} // namespace
} // namespace gmt::test
