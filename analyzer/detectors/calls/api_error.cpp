// SPDX-License-Identifier: Apache-2.0
// api-error: a failed call that no other finding explains. Left out: calls whose failure is their
// answer (probing), the runtime's own first tries that it repeats after making a context, and
// everything after a sticky error but the first call that reported it. Where a free in a kernel
// ended the context, that finding is the error and this one a note. Calls that the simulated device
// does not implement are notes, too.

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/device_stacks.h"
#include "analyzer/detectors/shared/expected_failures.h"
#include "analyzer/detectors/shared/faults/fault_words.h"
#include "analyzer/detectors/shared/refused_calls.h"
#include "trace/cuda_results.h"

namespace gmt {
namespace {

// While no failure may still be forgiven.
constexpr Wants kUsual = kWantsFailures | kWantsUnclaimed | wants(trace::Kind::kExecution);

class ApiError : public Detector {
public:
  explicit ApiError(const ProcessFacts& facts) : facts_(facts), refused_(facts) {}

  // A sticky error is the context's, whatever others say of the call that reports it.
  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap, Findings&) override {
    if (e.kind == trace::Kind::kExecution) {
      refused_.note(e);
    } else if (e.succeeded()) {
      forgive_retry(e);
    } else if (is_sticky(e.result) && is_checked(e)) {
      report_sticky(e, heap);
    }
  }

  void on_unclaimed(const Event& e, const Heap& heap, Findings& findings) override {
    if (!is_checked(e) || is_sticky(e.result)) return;
    if (e.kind == trace::Kind::kAlloc && e.result == cuda::CUDA_ERROR_OUT_OF_MEMORY)
      return; // out-of-memory
    if (is_expected_failure(facts_.api_name(e.api), e.result) ||
        is_expected_failure(facts_.call_name(e), e.result))
      return;
    if (e.result == cuda::CUDA_ERROR_NOT_INITIALIZED && facts_.forked_from() != 0) {
      report_fork(e);
    } else if (heap.is_dead(e.context)) {
      ++after_sticky_;
    } else if (is_retried(e.result) && !e.from_runtime()) {
      put_off(e, findings);
    } else {
      Finding f = finding(e);
      explain(e, heap, f);
      if (refused_.may_be(e)) refused_.hold(e, std::move(f));
      else findings.add(std::move(f));
    }
  }

  void finish(const EndOfTrace& end, const Heap& heap, Findings& findings) override {
    for (auto& [thread, retry] : retries_) findings.add(std::move(retry.failure));
    if (in_fork_) findings.add(std::move(*in_fork_));
    refused_.finish(findings);
    // A finding of its own names the kernel.
    if (!sticky_ || facts_.fatal_faults() != 0 || has_dump()) return;
    if (after_sticky_ != 0) {
      sticky_->message +=
        cat({", and ", format_plural(after_sticky_, "later call"), " failed because of it"});
    }
    const std::string_view cause = deadly_free(end, heap);
    if (cause.empty()) {
      name_kernels();
    } else {
      sticky_->severity = Severity::kNote;
      sticky_->advice = cat({"Correct what ", cause,
                             " reports: such a free ends its kernel, and the context with it."});
    }
    findings.add(std::move(*sticky_));
  }

private:
  bool has_dump() const {
    return std::ranges::any_of(facts_.core_dumps(),
                               [](const CoreDump& dump) { return !dump.faults.empty(); });
  }

  // A failed first try. The runtime's second one asks for the same; a static runtime shows no `via`
  // with either.
  struct Retry {
    std::uint16_t api, via;
    std::uint64_t size;
    Finding failure;

    // In the same word of all kinds: bytes of an allocation, function of a release.
    static std::uint64_t size_of(const Event& e) {
      return trace::RecordView(e).word(trace::AllocWord::bytes);
    }
    bool is_same_call(const Event& e) const {
      return api == e.api && via == e.via && size == size_of(e);
    }
  };

  static bool is_checked(const Event& e) {
    return !e.in_flight() && (e.flags & trace::kFlagNested) == 0 && is_call(e) &&
           !is_reported_before(e);
  }

  // kFree of the C library's free() has no CUDA result.
  static bool is_call(const Event& e) {
    return e.kind >= trace::Kind::kAlloc &&
           !(e.kind == trace::Kind::kFree &&
             trace::FreeView(e).function() == trace::FreeFunction::kHostFree);
  }

  // Another record of the same call, which was checked as a whole.
  static bool is_reported_before(const Event& e) {
    return e.kind == trace::Kind::kUse && (e.flags & trace::kUseOfRecordedCopy) != 0;
  }

  Finding finding(const Event& e) const {
    const std::string_view call = facts_.call_name(e);
    Finding f;
    f.kind = "api-error";
    f.severity = Severity::kWarning;
    f.message = {CallName{call}, " failed with ", error_text(e.result, is_runtime_name(call))};
    f.advice = e.result == cuda::CUDA_ERROR_NOT_PERMITTED
                 ? "CUDA may not be called from a host callback: move the call out of it."
                 : "Check the arguments of this call, and its result in the program.";
    f.api = call;
    f.group = std::to_string(e.result);
    f.stacks.push_back(stack_as(StackRole::kFailed, e.stack, call));
    return f;
  }

  // One mistake, however many calls it makes fail.
  void report_fork(const Event& e) {
    if (in_fork_) {
      ++in_fork_->count;
      return;
    }
    const std::string parent = std::to_string(facts_.forked_from());
    in_fork_ = finding(e);
    in_fork_->message = {"CUDA was used in a forked child: process ",
                         parent,
                         " had used CUDA before it forked this one, and ",
                         CallName{facts_.call_name(e)},
                         " failed with ",
                         error_text(e.result, is_runtime_name(facts_.call_name(e)))};
    in_fork_->advice =
      "Fork before the first CUDA call, or let the child begin anew: by exec, in Python with "
      "multiprocessing's start method \"spawn\" or \"forkserver\".";
  }

  // The pool that a call names, 0 if it names none.
  static std::uint64_t named_pool(const Event& e) {
    if (e.kind == trace::Kind::kAlloc) return trace::AllocView(e).pool();
    const trace::LifeView life(e);
    return e.kind == trace::Kind::kLife && life.object() == trace::ObjectClass::kPool
             ? life.handle()
             : 0;
  }

  // A mapping in the range to which no device was ever given access (cuda.h on cuMemMap asks for
  // cuMemSetAccess).
  static const Block* closed_mapping(const Heap& heap, std::uint64_t begin, std::uint64_t bytes) {
    for (std::uint64_t at = begin; at - begin < bytes;) {
      const Block* block = heap.find_live(at);
      if (block == nullptr || block->memory_kind != trace::MemoryKind::kVmmMapping) return nullptr;
      if ((block->flags & kHadAccess) == 0) return block;
      if (block->bytes == 0) return nullptr; // size unknown
      at = block->address + block->bytes;
    }
    return nullptr;
  }

  void explain_access(const Event& e, const Heap& heap, Finding& f) const {
    using Side = Verdict::Side;
    const bool copy = e.kind == trace::Kind::kCopy;
    if (e.result != cuda::CUDA_ERROR_INVALID_VALUE && e.result != cuda::CUDA_ERROR_ILLEGAL_ADDRESS)
      return;
    if (!copy && e.kind != trace::Kind::kSet) return;
    if (!facts_.records_access() || facts_.lost_so_far() != 0) return;
    const Block* to = closed_mapping(heap, address_of(e, Side::kDestination),
                                     copy ? copy_extent(e, Side::kDestination) : set_extent(e));
    const Block* from =
      copy ? closed_mapping(heap, address_of(e, Side::kSource), copy_extent(e, Side::kSource))
           : nullptr;
    if (to == nullptr && from == nullptr) return;
    const Block& block = to != nullptr ? *to : *from;
    const std::string_view copied_side = to != nullptr ? "destination" : "source";
    f.message += {": its ", copy ? copied_side : "target", " is ", describe_block(block, facts_),
                  ", to which no device was given access"};
    f.advice =
      "After cuMemMap, give each device that uses the mapping access to it with cuMemSetAccess.";
    f.stacks.push_back(allocation_stack(block, facts_));
  }

  // The fence made it so: what a plain run would have got is not known here.
  void explain_fence(const Event& e, const Heap& heap, Finding& f) const {
    if (!facts_.is_guarded() || e.kind != trace::Kind::kUse || e.result != 1) return;
    const trace::UseView use(e);
    const Block* block = heap.find_live(use.address());
    if (use.use() != trace::UseClass::kExport || block == nullptr) return;
    f.severity = Severity::kNote;
    f.message += {": memory that --guard fences cannot be given to other processes, ",
                  describe_block(*block, facts_)};
    f.advice = {"Run the program again with --guard-exclude ", AllocationSite{},
                ": what is allocated there stays plain then."};
    f.stacks.push_back(allocation_stack(*block, facts_));
  }

  // CUDA says "invalid value" to these (measured on an H200, driver 580).
  void explain(const Event& e, const Heap& heap, Finding& f) const {
    explain_access(e, heap, f);
    explain_fence(e, heap, f);
    const Pool* pool = heap.cuda().pools.find(named_pool(e));
    if (pool != nullptr && pool->destroyed) {
      f.message += ": this pool had been destroyed";
      f.advice = "Destroy the pool after its last use, once.";
      f.stacks.push_back(stack_as(StackRole::kPoolDestroyed, pool->destroyed->stack,
                                  facts_.api_name(pool->destroyed->api)));
    }
    const trace::SyncView sync(e);
    const bool launch = e.kind == trace::Kind::kSync && sync.op() == trace::SyncOp::kGraphLaunch;
    if (const Block* block = launch ? heap.unfreed_of_graph(sync.executable_graph()) : nullptr;
        block != nullptr) {
      f.message += ": memory that the graph's last launch allocated has not been freed";
      f.advice = cat({"Free it before the graph is launched again, or instantiate the graph with ",
                      is_runtime_name(f.api) ? "cudaGraphInstantiateFlagAutoFreeOnLaunch."
                                             : "CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH."});
      f.stacks.push_back(allocation_stack(*block, facts_));
    }
  }

  void report_sticky(const Event& e, const Heap& heap) {
    if (sticky_) {
      ++after_sticky_;
      return;
    }
    sticky_ = finding(e);
    sticky_code_ = e.result;
    sticky_context_ = e.context;
    const std::string_view call = facts_.call_name(e);
    sticky_->message = {"An earlier kernel failed: ", error_text(e.result, is_runtime_name(call)),
                        " was reported by ", CallName{call}};
    sticky_->advice =
      "Run it with --core-dump to see the kernel's line, or under compute-sanitizer, or set "
      "CUDA_LAUNCH_BLOCKING=1 so that the launch itself reports the error.";
    explain_access(e, heap, *sticky_);
    find_kernels(e);
  }

  static constexpr std::size_t kMostNamed = 3;

  // The launches that may have done it: the newest that are not known to be done, one for each
  // kernel and call stack.
  void find_kernels(const Event& e) {
    for (const LoggedLaunch* launch : facts_.launches().in_flight(e.context)) {
      if (launch->order >= e.order) continue;
      const bool known = std::ranges::any_of(in_flight_, [launch](const LoggedLaunch& other) {
        return other.stack == launch->stack && other.function == launch->function;
      });
      if (!known && in_flight_.size() <= kMostNamed) in_flight_.push_back(*launch);
    }
  }

  void name_kernels() {
    if (in_flight_.empty()) return;
    const bool more = in_flight_.size() > kMostNamed;
    if (more) in_flight_.pop_back();
    sticky_->message +=
      cat({"; ", more ? "among the " : "", "kernels that may have been running: "});
    for (const LoggedLaunch& launch : in_flight_) {
      const std::string_view name = facts_.handle_name(launch.function);
      const bool graph = launch.what == LoggedLaunch::What::kGraph;
      if (&launch != &in_flight_.front()) sticky_->message += ", ";
      sticky_->message += graph ? std::string("those of a graph") : kernel_words(name);
      sticky_->stacks.push_back(launch_stack(launch, facts_));
    }
  }

  // The finding about the newest free in a kernel that may have ended the context; empty if there
  // is none. Such frees give these two codes (measured on an H200, driver 580).
  std::string_view deadly_free(const EndOfTrace& end, const Heap& heap) const {
    using What = DeviceMistake::What;
    if (sticky_code_ != 700 && sticky_code_ != 719) return {};
    const DeviceMistake* newest = nullptr;
    for (const auto& context : end.device_contexts) {
      if (sticky_context_ != 0 && context->heap.context() != sticky_context_) continue;
      for (const DeviceMistake& mistake : context->heap.mistakes()) {
        if (mistake.what == What::kMismatched || mistake.what == What::kAlignment) continue;
        if (newest == nullptr || mistake.at.time > newest->at.time) newest = &mistake;
      }
    }
    if (newest == nullptr) return {};
    if (newest->what == What::kDoubleFree) return "device-heap-double-free";
    const bool of_host =
      newest->what == What::kNeverAllocated && host_block_of(*newest, heap) != nullptr;
    return of_host ? "heap-mixed" : "device-heap-invalid-free";
  }

  void put_off(const Event& e, Findings& findings) {
    watch(kWantsAll | kWantsUnclaimed);
    const auto [at, is_new] =
      retries_.try_emplace(e.thread, Retry{e.api, e.via, Retry::size_of(e), finding(e)});
    if (is_new) return;
    if (!at->second.is_same_call(e)) findings.add(std::move(at->second.failure));
    at->second = {e.api, e.via, Retry::size_of(e), finding(e)};
  }

  void forgive_retry(const Event& e) {
    const auto at = retries_.find(e.thread);
    if (at == retries_.end() || !at->second.is_same_call(e)) return;
    retries_.erase(at);
    if (retries_.empty()) watch(kUsual);
  }

  const ProcessFacts& facts_;
  RefusedCalls refused_;
  // By thread: failures that the runtime may repeat
  std::unordered_map<std::uint32_t, Retry> retries_;
  std::optional<Finding> sticky_, in_fork_;
  std::vector<LoggedLaunch> in_flight_; // when the error was reported
  std::uint16_t sticky_code_ = 0, sticky_context_ = 0;
  std::uint64_t after_sticky_ = 0;
};

const DetectorRegistration kApiError{{
  .id = "api-error",
  .severity = Severity::kWarning,
  .title = "failed call that no other finding explains",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<ApiError>(facts);
  },
  .wants = kUsual,
}};

} // namespace
} // namespace gmt
