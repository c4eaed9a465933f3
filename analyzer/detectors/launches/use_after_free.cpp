// SPDX-License-Identifier: Apache-2.0
// use-after-free: a copy, set, texture bind, prefetch or launch argument that points into memory
// freed before; of a graph's nodes, before the launch of the graph. The verdict is the heap's,
// which holds back where the addresses may belong to other memory by now.
//
// A kernel's argument that may as well be the end of another argument's block is a warning that
// names both. It waits for the end of the trace: where another launch shows that the parameter is
// such an end, nothing is said.
//
// The simulated device and --kernel-checks see whether the kernel uses the memory. Where it does,
// that access is a finding of its own, which knows more. So the one about the argument waits for
// it.
//
// A field of a structure, or a number, is a mistake only if the kernel uses it as an address.
// Structures hold words that no kernel reads: what the stack held before. So nothing is said where
// that use would have shown: on the simulated device, if the launch ran to its end; of a block that
// --guard fenced, unless its context has died with the launch in flight. Fields that a known
// library passes count only then, too, and so does all that cuSOLVER passes.
//
// A tensor that PyTorch's cache has taken back is a warning: its memory stays where it is until the
// cache gives it out again. Of a graph's work it is one when the cache has done so.

#include <algorithm>
#include <array>
#include <compare>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/faults/recorded_fault.h"
#include "analyzer/detectors/shared/freed_uses.h"
#include "analyzer/detectors/shared/library_calls.h"

namespace gmt {
namespace {

// Launches whose kernels may still turn out to use what they were given.
constexpr std::size_t kMostWaiting = 100'000;

constexpr int kBusError = 7, kSegmentationFault = 11; // signals of Linux

class UseAfterFree : public Detector {
public:
  explicit UseAfterFree(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict> verdicts, const Heap& heap,
                Findings& findings) override {
    if (e.kind == EventKind::kFault) return on_fault(e, heap);
    if (e.kind == EventKind::kExecution) return on_execution(e);
    for (const Verdict& j : verdicts) {
      if (j.kind != Verdict::Kind::kUseAfterFree || !is_meant(e, j)) continue;
      const bool sees_use = facts_.simulated() || facts_.has_kernel_checks();
      const bool waits = sees_use && FreedUses::is_argument(e, j);
      const Use use = use_of(e, j);
      if (waits || use != Use::kNotSeen || j.reading == Verdict::Reading::kEnd)
        hold(e, j, heap, use, waits);
      else findings.add(uses_.finding(e, j, heap));
    }
  }

  void finish(const EndOfTrace& end, const Heap& heap, Findings& findings) override {
    const bool crashed =
      end.ending.how == Ending::How::kSignalled &&
      (end.ending.signal == kSegmentationFault || end.ending.signal == kBusError);
    for (auto& [key, held] : held_) {
      const bool is_end =
        key.reading == Verdict::Reading::kEnd && heap.takes_end(key.function, key.parameter);
      const bool is_unused = (key.use == Use::kExecuted && executes_ && !held.left_out) ||
                             (key.use == Use::kKillsContext && !may_have_killed(held, heap)) ||
                             (key.use == Use::kKillsProcess && !crashed);
      if (!is_end && !is_unused) findings.add(std::move(held.finding));
    }
  }

private:
  // How it shows whether a kernel uses a word as an address, if only that makes it a mistake.
  enum class Use : std::uint8_t {
    kNotSeen,
    kExecuted,     // the simulated device reports the access
    kKillsContext, // nothing is mapped there, or else a library's own business
    kKillsProcess, // a call in flight at its end, with host memory that malloc may have again
  };
  // All in which two findings differ that are held back.
  struct Key {
    std::uint64_t function = 0;
    unsigned parameter = 0;
    Verdict::Reading reading = Verdict::Reading::kNone;
    Use use = Use::kNotSeen;
    std::array<std::uint32_t, 4> stacks{}; // of the launch, of the graph's node, free, allocation
    std::string range;
    auto operator<=>(const Key&) const = default;
  };
  struct Held {
    Finding finding;
    std::uint64_t order = 0; // of the newest launch
    std::uint16_t context = 0;
    bool left_out = false; // the simulated device did not run one of the launches to its end
  };
  struct Waiting {
    std::uint64_t address = 0; // of the freed block
    Key key;
  };

  Use use_of(const Event& e, const Verdict& j) {
    const bool is_host = j.block->memory_kind == trace::MemoryKind::kPinned ||
                         j.block->memory_kind == trace::MemoryKind::kManaged;
    if (e.in_flight() && is_host && e.kind == EventKind::kCopy) return Use::kKillsProcess;
    const bool is_dropped_tensor = j.work != nullptr && is_tensor(*j.block); // mapped as before
    if (!FreedUses::is_argument(e, j) || is_dropped_tensor) return Use::kNotSeen;
    const StackId made = j.work != nullptr ? j.work->made : e.stack;
    // Its getrf_pivot gets a pointer of an earlier call, and does not read it (CUDA 13.0, H100).
    const bool is_left_over = !facts_.simulated() && facts_.caller(made).owner == "cuSOLVER";
    if (uses_.is_whole_parameter(e, j) && !uses_.is_number(e, j) && !is_left_over)
      return Use::kNotSeen;
    if (facts_.simulated()) return Use::kExecuted;
    const bool is_fenced = (j.block->flags & kWasFenced) != 0;
    return is_fenced || by_libraries_.contain(made) ? Use::kKillsContext : Use::kNotSeen;
  }

  // What a library passes need not be what its kernel uses, and a tensor's memory stays mapped:
  // then nothing shows whether it was used.
  // Of a graph the fields of small structures count as well: its memory is another tensor's by now.
  bool is_meant(const Event& e, const Verdict& j) {
    if (!is_tensor(*j.block)) return true;
    if (j.work != nullptr && is_of_compiler(j.work->made)) return false;
    if (!FreedUses::is_argument(e, j)) return true;
    if (j.work != nullptr) return is_in_small_parameter(e, j) && !uses_.is_number(e, j);
    return uses_.is_whole_parameter(e, j) && !uses_.is_number(e, j) &&
           !by_libraries_.contain(e.stack);
  }

  // torch.compile's graphs share a pool, and copy what they are given into it before each launch.
  bool is_of_compiler(StackId captured) const {
    return std::ranges::any_of(facts_.python_lines(captured), [](const PythonLine& line) {
      return line.file.find("/torch/_inductor/") != std::string_view::npos;
    });
  }

  // Larger ones may be tables that are full in part.
  bool is_in_small_parameter(const Event& e, const Verdict& j) const {
    constexpr std::uint32_t kSmall = 64; // bytes
    const Kernel* kernel = facts_.kernel(FreedUses::function_of(e, j));
    return kernel != nullptr && j.parameter < kernel->parameters.size() &&
           kernel->parameters[j.parameter].bytes <= kSmall;
  }

  // What has been waited for without an error has not.
  bool may_have_killed(const Held& held, const Heap& heap) const {
    if (!heap.is_dead(held.context)) return false;
    const auto running = facts_.launches().in_flight(held.context);
    return std::ranges::any_of(
      running, [&held](const LoggedLaunch* launch) { return launch->order == held.order; });
  }

  void hold(const Event& e, const Verdict& j, const Heap& heap, Use use, bool waits) {
    Key key{.function = FreedUses::function_of(e, j),
            .parameter = j.parameter,
            .reading = j.reading,
            .use = use,
            .stacks = {e.stack.value, j.work != nullptr ? j.work->made.value : 0,
                       j.block->freed.value, j.block->allocated.value},
            .range = facts_.groups_by_range() ? facts_.ranges().text(facts_.ranges().here())
                                              : std::string()};
    if (waits) {
      waiting_[e.order].push_back({j.block->address, key});
      if (waiting_.size() > kMostWaiting) waiting_.erase(waiting_.begin());
    }
    const auto [at, is_new] = held_.try_emplace(std::move(key));
    at->second.order = e.order;
    if (!is_new) {
      ++at->second.finding.count;
      return;
    }
    at->second.finding = uses_.finding(e, j, heap);
    at->second.context = e.context;
    at->second.finding.range = facts_.ranges().text(facts_.ranges().here());
  }

  void on_execution(const Event& e) {
    executes_ = true;
    const event::Execution& execution = e.execution();
    const trace::ExecutionOp op = execution.op;
    if (op != trace::ExecutionOp::kNotRun && op != trace::ExecutionOp::kStopped &&
        op != trace::ExecutionOp::kNotSelected)
      return;
    const auto launch = waiting_.find(execution.call);
    if (launch == waiting_.end()) return;
    for (const Waiting& argument : launch->second) {
      if (const auto held = held_.find(argument.key); held != held_.end())
        held->second.left_out = true;
    }
  }

  // The finding about the access stands for those about the launch's arguments.
  void on_fault(const Event& e, const Heap& heap) {
    const auto launch = waiting_.find(e.fault().call);
    if (launch == waiting_.end()) return;
    const Block* used = freed_block_of(e, heap);
    if (used == nullptr) return;
    std::erase_if(launch->second, [&](const Waiting& argument) {
      if (argument.address != used->address) return false;
      const auto held = held_.find(argument.key);
      if (held != held_.end() && --held->second.finding.count == 0) held_.erase(held);
      return true;
    });
    if (launch->second.empty()) waiting_.erase(launch);
  }

  const ProcessFacts& facts_;
  FreedUses uses_{facts_};
  std::map<Key, Held> held_;
  LibraryCalls by_libraries_{facts_};
  bool executes_ = false; // the simulated device says how far kernels ran
  std::map<std::uint64_t, std::vector<Waiting>> waiting_; // by the order of the launch
};

const DetectorRegistration kUseAfterFree{{
  .id = "use-after-free",
  .severity = Severity::kError,
  .title = "freed memory used in a copy, set, bind or launch",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<UseAfterFree>(facts);
  },
  .wants = kWantsMistakes | wants(EventKind::kFault) | wants(EventKind::kExecution),
}};

} // namespace
} // namespace gmt
