// SPDX-License-Identifier: Apache-2.0
// peer-pointer: a kernel is given the address of another device's memory, which its own was never
// given access to. Checked is what cudaMalloc and its like give out: access to it is
// cuCtxEnablePeerAccess alone (cuda.h). Pools and mappings have lists of their own, other memory is
// reached from all devices.
//
// A kernel that is given such an address need not use it; one that does dies of an illegal address,
// and its context with it. So on a real device nothing is said before that. The simulated device
// finds such a use itself (kernel-fault). Of a launch that it did not run it counts if the kernel's
// name declares the parameter a pointer. Libraries' launches are left out: they pass tables of all
// devices' memory by value.

#include <array>
#include <map>
#include <string>
#include <unordered_map>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/declared_pointers.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/symbols/demangle.h"
#include "trace/cuda_constants.h"
#include "trace/cuda_results.h"

namespace gmt {
namespace {

using trace::MemoryKind;

constexpr Wants kSearchesSecondDevice = wants(EventKind::kContext) | wants(EventKind::kLife);
constexpr Wants kHasSeveralDevices = kSearchesSecondDevice | wants(EventKind::kLaunch) |
                                     wants(EventKind::kSync) | wants(EventKind::kExecution) |
                                     kWantsFailures;

class PeerPointer : public Detector {
public:
  explicit PeerPointer(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap,
                Findings& findings) override {
    if (e.kind == EventKind::kContext || e.kind == EventKind::kLife) {
      if (heap.cuda().peers.has_several_devices() && facts_.records_access())
        watch(kHasSeveralDevices);
    }
    if (e.kind == EventKind::kExecution) return report_unrun(e, findings);
    if (e.result == cuda::CUDA_ERROR_ILLEGAL_ADDRESS) return report_suspects(e, findings);
    if (!e.succeeded()) return;
    if (e.kind == EventKind::kSync) return forget_launches(e);
    if (e.kind == EventKind::kLaunch) check(e, heap);
  }

private:
  struct Suspect {
    std::uint64_t function = 0, address = 0, stream = 0; // address 0: none
    unsigned parameter = 0;
    std::uint16_t context = 0;
    int device = 0, owner = 0;
    Block block; // as it was
    std::string_view api;
    StackId launched;
    // The block beside that the address is the end of, if another argument points into it
    Text end_of;
  };

  // The device that runs the launch; -1 if context and stream do not agree on it.
  int device_of(const Event& launch, const Heap& heap) const {
    const int device = heap.device_of_context(launch.context);
    const std::uint64_t named = launch.launch().stream;
    if (named <= cuda::kStreamPerThread) return device;
    const Stream* stream = heap.cuda().streams.find(named);
    return stream != nullptr && stream->device == device ? device : -1;
  }

  void check(const Event& e, const Heap& heap) {
    const PeerAccess& peers = heap.cuda().peers;
    if (e.is_nested || peers.is_unknown() || facts_.lost_so_far() != 0) return;
    const event::Launch& launch = e.launch();
    const int device = device_of(e, heap);
    if (device < 0 || heap.is_capturing(e, launch.stream)) return;
    // One finding a parameter: all fields of a structure are one mistake
    unsigned last = kNoParameter;
    for (const Access& access : heap.accesses()) {
      const Block& block = *access.block;
      if (block.memory_kind != MemoryKind::kDevice && block.memory_kind != MemoryKind::kPitched)
        continue;
      const int owner = heap.device_of(block);
      if (owner < 0 || owner == device || peers.is_open(device, owner)) continue;
      if (access.parameter == last || is_of_library(e.stack)) continue;
      if (access.address == block.address && heap.takes_end(launch.function, access.parameter))
        continue;
      last = access.parameter;
      Suspect suspect{launch.function,
                      access.address,
                      launch.stream,
                      access.parameter,
                      e.context,
                      device,
                      owner,
                      block,
                      facts_.call_name(e),
                      e.stack,
                      end_of(access, heap)};
      suspect.block.detail = nullptr; // may go with the block
      if (!facts_.simulated()) suspects_[next_suspect_++ % suspects_.size()] = suspect;
      else if (pointers_.contain(suspect.function, suspect.parameter))
        waiting_.emplace(e.order, suspect);
      if (waiting_.size() > kMostUnsettled) waiting_.erase(waiting_.begin());
    }
  }

  void report_unrun(const Event& e, Findings& findings) {
    const event::Execution& execution = e.execution();
    const trace::ExecutionOp op = execution.op;
    if (op != trace::ExecutionOp::kNotRun && op != trace::ExecutionOp::kNotSelected) return;
    const auto [first, last] = waiting_.equal_range(execution.call);
    for (auto at = first; at != last; ++at) findings.add(finding(at->second));
    waiting_.erase(first, last);
  }

  Text end_of(const Access& access, const Heap& heap) const {
    const bool is_base = access.address == access.block->address;
    const Access* other = is_base ? heap.argument_ending_at(access.address) : nullptr;
    return other != nullptr ? describe_block(*other->block, facts_) : Text();
  }

  bool is_of_library(StackId stack) {
    const auto [at, is_new] = of_library_.try_emplace(stack.value, false);
    if (is_new) at->second = !facts_.caller(stack).owner.empty();
    return at->second;
  }

  // What has been waited for has not died.
  void forget_launches(const Event& e) {
    const event::Sync& sync = e.sync();
    const trace::SyncOp op = sync.op;
    const bool of_stream = op == trace::SyncOp::kStreamSynchronize;
    if (!of_stream && op != trace::SyncOp::kContextSynchronize) return;
    for (Suspect& suspect : suspects_) {
      if (suspect.context == e.context && (!of_stream || suspect.stream == sync.stream))
        suspect = {};
    }
  }

  // Every later call fails alike: only the first is a death.
  void report_suspects(const Event& e, Findings& findings) {
    for (Suspect& suspect : suspects_) {
      if (suspect.address == 0 || suspect.context != e.context) continue;
      Finding f = finding(suspect);
      f.message += {"; behind it ", CallName{facts_.call_name(e)}, " reported an illegal address"};
      f.stacks.push_back(stack_as(StackRole::kReported, e.stack, facts_.call_name(e)));
      findings.add(std::move(f));
      suspect = {};
    }
  }

  Finding finding(const Suspect& suspect) const {
    const std::string name = demangle(facts_.handle_name(suspect.function));
    const std::string device = std::to_string(suspect.device),
                      owner = std::to_string(suspect.owner);
    Finding f;
    f.kind = "peer-pointer";
    f.severity = Severity::kWarning;
    f.api = suspect.api;
    f.address = suspect.address;
    f.group = cat({std::to_string(suspect.parameter), " ", device, " ", owner});
    f.message = {"The launch of ",
                 name.empty() ? "a kernel" : shorten_function(name, kLongestName),
                 " on device ",
                 device,
                 " passes in parameter ",
                 std::to_string(suspect.parameter + 1),
                 " the pointer ",
                 format_address(suspect.address),
                 " into ",
                 describe_block(suspect.block, facts_),
                 out_of_reach(suspect.device, suspect.owner)};
    if (!suspect.end_of.empty()) {
      f.message += {"; unless it is only the end of ", suspect.end_of,
                    ", into which another parameter points"};
    }
    f.advice = advice_on_reach(suspect.device, suspect.owner);
    f.stacks.push_back(stack_as(StackRole::kLaunched, suspect.launched, f.api));
    f.stacks.push_back(allocation_stack(suspect.block, facts_));
    return f;
  }

  const ProcessFacts& facts_;
  DeclaredPointers pointers_{facts_};
  std::unordered_map<std::uint32_t, bool> of_library_; // by call stack
  std::array<Suspect, 8> suspects_;                    // the newest
  static constexpr std::size_t kMostUnsettled = 1024;
  std::multimap<std::uint64_t, Suspect> waiting_; // by their launch's order
  std::size_t next_suspect_ = 0;
};

const DetectorRegistration kPeerPointer{{
  .id = "peer-pointer",
  .severity = Severity::kWarning,
  .title = "a kernel is given a pointer to another device's memory that it has no access to",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<PeerPointer>(facts);
  },
  .wants = kSearchesSecondDevice,
}};

} // namespace
} // namespace gmt
