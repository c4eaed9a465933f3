// SPDX-License-Identifier: Apache-2.0
// host-race: the host uses memory that work of the device uses at the same time. With --late the
// simulated device runs asynchronous copies later than their calls, as a GPU may. It says where
// bytes that a copy uses are others than at the call, and only the host can have written them:
// nothing had let the host know by then that the copy was done.
//
// With --host-races pages that such a copy uses are closed from its call on, so that the host's own
// access of them faults, and a record says where. Whether the host had waited for the copy by then
// is StreamClock's answer. Never a guess, as in stream_race.cpp: where it is not known how a call
// orders, nothing is found but listed as not checked, and lost records may have ordered everything.
// A kernel that was given memory of the host may have let the host know how far its stream was. So
// may a graph, or a copy of a few bytes to the host, which that polls: what follows is a warning.
//
// Invariant: kMostKept and kMostWatched copies are remembered. With --late fewer wait at a time.

#include <map>
#include <optional>
#include <vector>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/work_order.h"
#include "analyzer/heap/memory_kinds.h"

namespace gmt {
namespace {

using trace::ExecutionOp;
using trace::HostNotWatched;
using trace::MemoryKind;
using Point = StreamClock::Point;

class HostRace : public Detector {
public:
  explicit HostRace(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap,
                Findings& findings) override {
    if (e.kind == EventKind::kCopy) return remember(e);
    if (e.kind == EventKind::kSet) return remember_set(e);
    if (e.execution().op == ExecutionOp::kSourceNotKept) ++not_kept_;
    if (e.execution().op == ExecutionOp::kHostWrote) on_write(e, heap, findings);
  }

  void finish(const EndOfTrace&, const Heap&, Findings& findings) override {
    if (not_kept_ == 0) return;
    findings.not_checked(
      {"host-race", cat({"--late keeps up to 256 MiB of what copies use: of ",
                         format_count(not_kept_), not_kept_ == 1 ? " copy" : " copies",
                         " more it is not known whether the host wrote there before"})});
  }

private:
  static constexpr std::size_t kMostKept = 8192;
  struct Copy {
    StackId stack;
    std::uint16_t api = trace::kNoApi;
    std::uint64_t source = 0, source_end = 0;
    bool is_set = false;
    std::string_view purpose(std::uint64_t address) const {
      if (is_set) return " had been called to set them";
      return address >= source && address < source_end ? " had been called to copy from there"
                                                       : " had been called to copy to there";
    }
  };

  void remember(const Event& e) {
    if (!e.succeeded() || !e.copy().is_async) return;
    const Rows source = rows_of(e, Verdict::Side::kSource);
    const std::uint64_t last_row = source.count() == 0 ? 0 : (source.count() - 1) * source.pitch;
    remember(e, {e.stack, e.via != trace::kNoApi ? e.via : e.api, source.address,
                 source.address + last_row + source.width});
  }

  void remember_set(const Event& e) {
    if (!e.succeeded() || !e.set().is_async) return;
    remember(e, {e.stack, e.via != trace::kNoApi ? e.via : e.api, 0, 0, true});
  }

  void remember(const Event& e, const Copy& copy) {
    copies_.insert_or_assign(e.order & kOrderMask, copy);
    if (copies_.size() > kMostKept) copies_.erase(copies_.begin());
  }

  void on_write(const Event& e, const Heap& heap, Findings& findings) const {
    const event::Execution& said = e.execution();
    const auto copy = copies_.find(said.call);
    const Block* block = heap.find_live(said.address());
    if (block == nullptr) return;
    const LoggedLaunch* launch =
      copy == copies_.end() ? facts_.launches().find(said.call) : nullptr;
    if (copy == copies_.end() && launch == nullptr) return;
    const std::string_view name =
      facts_.api_name(launch != nullptr ? launch->api : copy->second.api);
    const bool runtime = is_runtime_name(name);
    Finding f;
    f.kind = "host-race";
    f.severity = Severity::kError;
    f.api = name;
    f.address = said.address();
    f.bytes = said.missing();
    f.message = {"The host changed ",
                 format_bytes(said.missing()),
                 " of ",
                 describe_block(*block, facts_),
                 " after ",
                 CallName{name},
                 launch != nullptr ? " had launched a kernel that uses them"
                                   : copy->second.purpose(said.address()),
                 ", and before that was done"};
    f.advice = {"Let the host wait with ",
                ApiWord{runtime, "cuStreamSynchronize", "cudaStreamSynchronize"},
                " or ",
                ApiWord{runtime, "cuEventSynchronize", "cudaEventSynchronize"},
                " before it writes there again, or give each ",
                launch != nullptr ? "kernel" : "copy",
                " a buffer of its own."};
    if (launch != nullptr) f.stacks.push_back(stack_as(StackRole::kLaunched, launch->stack, name));
    else
      f.stacks.push_back(stack_as(copy->second.is_set ? StackRole::kSet : StackRole::kCopied,
                                  copy->second.stack, name));
    f.stacks.push_back(allocation_stack(*block, facts_));
    findings.add(std::move(f));
  }

  const ProcessFacts& facts_;
  std::map<std::uint64_t, Copy> copies_; // by order, the newest
  std::uint64_t not_kept_ = 0;
};

constexpr std::size_t kMostWatched = 4096, kMostFound = 1024;
constexpr Wants kAwakeWants = WorkOrder::kAwake | wants(EventKind::kExecution);
constexpr std::uint64_t kBytesOfPoll = 8; // hosts poll as many

bool is_host_kind(MemoryKind kind) {
  return kind == MemoryKind::kPinned || kind == MemoryKind::kRegistered ||
         kind == MemoryKind::kManaged || kind == MemoryKind::kManagedVariable;
}

std::string_view words_of(HostNotWatched why) {
  switch (why) {
  case HostNotWatched::kHandler:
    return "the program has a handler of SIGSEGV of its own, which --host-races leaves alone";
  case HostNotWatched::kUring:
    return "liburing is loaded: the kernel may use memory that --host-races would have closed";
  case HostNotWatched::kRdma:
    return "libibverbs is loaded: network cards use memory that --host-races would have closed";
  case HostNotWatched::kNoLibrary:
    return "libgpumemtrace_host.so, which --host-races needs, was not preloaded";
  default: return "--host-races was turned off";
  }
}

class HostUses : public Detector {
public:
  explicit HostUses(const ProcessFacts& facts)
      : facts_(facts), order_(facts, WorkOrder::PageableCopies::kDoneAtReturn) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap, Findings&) override {
    if (e.kind == EventKind::kExecution) return on_execution(e, heap);
    if (order_.follow(e, heap, true)) return;
    if (e.kind == EventKind::kFree) return on_free(e, heap);
    const std::optional<Point> now = order_.start(e, heap);
    if (!now) return;
    if (e.kind == EventKind::kCopy && e.copy().is_async) remember(e, *now);
    order_.end(e, *now, heap);
    if (may_signal(e, heap)) signalled_ = now->order;
    if (e.kind == EventKind::kLaunch && takes_host_memory(heap)) order_.clock().host_waits(*now);
  }

  void finish(const EndOfTrace& end, const Heap&, Findings& findings) override {
    if (why_not_ != HostNotWatched::kNone)
      findings.not_checked({"host-race", std::string(words_of(why_not_))});
    order_.report_unchecked("host-race", findings);
    if (found_.empty() || WorkOrder::report_losses("host-race", end, findings)) return;
    for (Finding& finding : found_) findings.add(std::move(finding));
  }

private:
  struct Copy {
    Point work;
    StackId stack;
    std::uint16_t api = trace::kNoApi;
    std::uint64_t source = 0, bytes = 0;
    bool reads(std::uint64_t address) const { return address - source < bytes; }
  };

  static bool takes_host_memory(const Heap& heap) {
    for (const Access& access : heap.accesses()) {
      if (is_host_kind(access.block->memory_kind)) return true;
    }
    return false;
  }

  static bool may_signal(const Event& e, const Heap& heap) {
    if (e.kind == EventKind::kSync) return e.sync().op == trace::SyncOp::kGraphLaunch;
    if (e.kind != EventKind::kCopy) return false;
    const Rows to = rows_of(e, Verdict::Side::kDestination);
    if (to.width > kBytesOfPoll || to.count() != 1) return false;
    const Block* block = heap.find_live(to.address);
    return block != nullptr && is_host_kind(block->memory_kind);
  }

  void on_free(const Event& e, const Heap& heap) {
    if (e.free().function != trace::FreeFunction::kMemFreeAsync) return order_.on_release(e);
    if (!heap.is_capturing(e, e.free().stream)) order_.clock().work(e, e.free().stream, heap);
  }

  void remember(const Event& e, Point now) {
    const Rows source = rows_of(e, Verdict::Side::kSource);
    copies_.insert_or_assign(e.order & kOrderMask,
                             Copy{now, e.stack, e.via != trace::kNoApi ? e.via : e.api,
                                  source.address, source.width * source.count()});
    if (copies_.size() > kMostWatched) copies_.erase(copies_.begin());
  }

  void on_execution(const Event& e, const Heap& heap) {
    const event::Execution& said = e.execution();
    if (said.op == ExecutionOp::kHostNotWatched) {
      why_not_ = static_cast<HostNotWatched>(said.missing());
      watch(kAwakeWants);
    }
    const bool stores = said.op == ExecutionOp::kHostStores;
    if (!stores && said.op != ExecutionOp::kHostLoads) return;
    const auto at = copies_.find(said.call);
    const Block* block = heap.find_live(said.address());
    if (at == copies_.end() || block == nullptr || found_.size() == kMostFound) return;
    const Copy& copy = at->second;
    if (order_.clock().is_full() || order_.clock().is_done(copy.work)) return;
    if (order_.is_certain_since(copy.work.order)) add(e, copy, *block, stores);
  }

  void add(const Event& e, const Copy& copy, const Block& block, bool stores) {
    const std::string_view name = facts_.api_name(copy.api);
    const bool runtime = is_runtime_name(name);
    const bool is_source = copy.reads(e.execution().address());
    const bool may_poll = !stores && copy.bytes <= kBytesOfPoll;
    const std::string stream = order_.clock().name(copy.work.stream);
    Finding f;
    f.kind = "host-race";
    const bool may_be_polled = signalled_ > copy.work.order;
    f.severity = may_poll || may_be_polled ? Severity::kWarning : Severity::kError;
    f.api = name;
    f.address = e.execution().address();
    f.message = {"The host ",
                 stores ? "writes " : "reads ",
                 describe_block(block, facts_),
                 ", which ",
                 CallName{name},
                 " on ",
                 stream,
                 is_source ? " reads" : " writes",
                 ", and nothing has let the host know that the copy is done"};
    f.advice = {"Call ",
                ApiWord{runtime, "cuStreamSynchronize", "cudaStreamSynchronize"},
                " for ",
                stream,
                " before that, or ",
                ApiWord{runtime, "cuEventSynchronize", "cudaEventSynchronize"},
                " for an event that is recorded behind the copy",
                stores ? "; or give each copy a buffer of its own." : "."};
    if (may_poll) f.advice += " It is no mistake if the host polls a flag there.";
    else if (may_be_polled)
      f.advice += " It is no mistake if the host has polled what later work of the stream writes.";
    f.stacks.push_back(stack_as(StackRole::kUsed, e.stack, ""));
    f.stacks.push_back(stack_as(StackRole::kCopied, copy.stack, name));
    f.stacks.push_back(allocation_stack(block, facts_));
    found_.push_back(std::move(f));
  }

  const ProcessFacts& facts_;
  WorkOrder order_;
  std::map<std::uint64_t, Copy> copies_; // by order
  std::vector<Finding> found_;
  std::uint64_t signalled_ = 0; // order of the newest work that the host may have polled
  HostNotWatched why_not_ = HostNotWatched::kNone;
};

const DetectorRegistration kHostRace{{
  .id = "host-race",
  .severity = Severity::kError,
  .title = "the host uses memory while work of the device uses it",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    if (!facts.simulated()) return nullptr;
    return std::make_unique<HostRace>(facts);
  },
  .wants = wants(EventKind::kCopy) | wants(EventKind::kSet) | wants(EventKind::kExecution),
}};

const DetectorRegistration kHostUses{{
  .id = "host-race",
  .severity = Severity::kError,
  .title = "the host uses memory while work of the device uses it",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<HostUses>(facts);
  },
  .wants = wants(EventKind::kExecution),
  .is_another_way = true,
}};

} // namespace
} // namespace gmt
