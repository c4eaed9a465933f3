// SPDX-License-Identifier: Apache-2.0
// unfinished-call: calls that had not returned when the recording ended: the one the process died
// in, or ones that other threads were still in when the program exited.

#include <algorithm>

#include "analyzer/base/signal_name.h"
#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {
namespace {

class UnfinishedCall : public Detector {
public:
  explicit UnfinishedCall(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap&, Findings&) override {
    if (!e.in_flight() || e.is_nested || calls_.size() >= kMaxCalls) return;
    // free() is recorded before it runs and never patched; it ends, or glibc ends the process, and
    // that is a finding of its own.
    if (e.kind == EventKind::kFree && e.free().function == trace::FreeFunction::kHostFree) return;
    calls_.push_back({std::string(facts_.call_name(e)), e.stack, e.order});
  }

  void finish(const EndOfTrace& end, const Heap&, Findings& findings) override {
    // The newest first: what the process died in is what it did last.
    std::ranges::sort(calls_, [](const Call& a, const Call& b) { return a.order > b.order; });
    const Ending& ending = end.ending;
    if (ending.at_run_limit) return; // what was cut off stands under "not checked"
    for (const Call& call : calls_) {
      Finding f;
      f.kind = "unfinished-call";
      f.severity = Severity::kNote;
      f.api = call.api;
      f.stacks.push_back(stack_as(StackRole::kCalled, call.stack, call.api));
      switch (ending.how) {
      case Ending::How::kSignalled:
        f.message = {CallName{call.api}, " had not returned when the program was killed by ",
                     signal_name(ending.signal)};
        f.advice = "If the program crashed, look at the arguments of this call first.";
        break;
      case Ending::How::kExited:
        f.message = {CallName{call.api},
                     " was still running in another thread when the program exited"};
        f.advice =
          "Join the threads that use CUDA before the program ends: what they had not freed by "
          "then is a leak.";
        break;
      case Ending::How::kRunning:
        f.message = {CallName{call.api}, " is still running"};
        f.advice = "Analyse the trace again when the program has ended.";
        break;
      default:
        f.message = {CallName{call.api}, " had not returned when the recording ended"};
        f.advice = "If the program crashed, look at the arguments of this call first.";
      }
      findings.add(std::move(f));
    }
  }

private:
  static constexpr std::size_t kMaxCalls = 10'000; // what more threads do is nothing new
  struct Call {
    std::string api;
    StackId stack;
    std::uint64_t order;
  };
  const ProcessFacts& facts_;
  std::vector<Call> calls_;
};

const DetectorRegistration kUnfinishedCall{{
  .id = "unfinished-call",
  .severity = Severity::kNote,
  .title = "call that had not returned when the program ended",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<UnfinishedCall>(facts);
  },
  .wants = kWantsFailures,
}};

} // namespace
} // namespace gmt
