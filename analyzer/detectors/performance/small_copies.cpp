// SPDX-License-Identifier: Apache-2.0
// small-copies: runs of tiny copies from one call stack that one call could make. Copies with a
// kernel in between are no run: what they bring depends on it. Nor are copies of the same bytes to
// the same address, as in a loop that waits for a value, nor what PyTorch's autograd engine copies
// on its own threads: gradients to the buckets of DistributedDataParallel and back.
//
// Costs one array access for each small copy, and memory for each call stack.

#include <vector>

#include "analyzer/base/path.h"
#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {
namespace {

constexpr std::uint64_t kSmall = 4096; // takes as long as one of a byte: the call is what costs
constexpr std::uint64_t kFewestCopies = 1000;

class SmallCopies : public Detector {
public:
  explicit SmallCopies(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap, Findings&) override {
    const event::Copy& copy = e.copy();
    if (e.is_nested || e.from_runtime || copy.is_batched) return;
    const std::uint64_t bytes = copy.bytes;
    if (bytes >= kSmall || bytes == 0 || !e.succeeded() || !e.stack) return;
    if (stacks_.size() <= e.stack.value) stacks_.resize(std::size_t{e.stack.value} + 1);
    Run& run = stacks_[e.stack.value];
    const bool follows =
      run.newest > heap.last_kernel() && (run.to != copy.destination || run.from != copy.source);
    if (follows && !run.first_counted) add(run, run.first_bytes, run.first_ticks);
    if (follows) {
      add(run, bytes, e.ticks);
    } else {
      run.first_bytes = bytes;
      run.first_ticks = e.ticks;
    }
    run.first_counted = follows;
    run.newest = e.order;
    run.to = copy.destination;
    run.from = copy.source;
    run.api = e.via != trace::kNoApi ? e.via : e.api;
  }

  void finish(const EndOfTrace&, const Heap&, Findings& findings) override {
    for (std::size_t stack = 0; stack < stacks_.size(); ++stack) {
      const StackId id{static_cast<std::uint32_t>(stack)};
      if (stacks_[stack].copies >= kFewestCopies && !is_of_pytorch(id))
        findings.add(finding(id, stacks_[stack]));
    }
  }

private:
  struct Run {
    std::uint64_t copies = 0, bytes = 0, ticks = 0; // those in runs of two and more
    std::uint64_t first_bytes = 0, first_ticks = 0;
    std::uint64_t newest = 0; // order
    std::uint64_t to = 0, from = 0;
    std::uint16_t api = 0;
    bool first_counted = false;
  };

  static void add(Run& run, std::uint64_t bytes, std::uint64_t ticks) {
    ++run.copies;
    run.bytes += bytes;
    run.ticks += ticks;
  }

  // And no line of Python asked for them.
  bool is_of_pytorch(StackId stack) const {
    const Caller caller = facts_.caller(stack);
    return base_name(caller.module).starts_with("libtorch") && !caller.has_python;
  }

  Finding finding(StackId stack, const Run& run) const {
    const std::string_view api = facts_.api_name(run.api);
    const double time = facts_.nanoseconds(run.ticks);
    Finding f;
    f.kind = "small-copies";
    f.severity = Severity::kWarning;
    f.api = api;
    f.bytes = run.bytes;
    f.count = run.copies;
    f.message = {CallName{api},
                 " made ",
                 format_count(run.copies),
                 " copies of less than ",
                 format_bytes(kSmall),
                 " from one place with no kernel between them, ",
                 format_bytes(run.bytes),
                 " in all",
                 time == 0 ? std::string() : cat({" in ", format_duration(time)})};
    f.advice = {"Gather the data and copy it at once, or give all copies to one ",
                ApiWord{is_runtime_name(api), "cuMemcpyBatchAsync", "cudaMemcpyBatchAsync"}, "."};
    f.stacks.push_back(stack_as(StackRole::kCopied, stack, api));
    return f;
  }

  const ProcessFacts& facts_;
  std::vector<Run> stacks_; // by id
};

const DetectorRegistration kSmallCopies{{
  .id = "small-copies",
  .severity = Severity::kWarning,
  .title = "many tiny copies that one call could make",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<SmallCopies>(facts);
  },
  .wants = wants(EventKind::kCopy),
}};

} // namespace
} // namespace gmt
