// SPDX-License-Identifier: Apache-2.0
// api-error: a failed call that no other finding explains. Left out: calls whose failure is their
// answer (probing), the runtime's own first tries that it repeats after making a context, and calls
// on a context that has died. Calls that the simulated device does not implement are notes, and so
// are those of other threads behind exit(), which takes CUDA down under them.

#include <unordered_map>
#include <utility>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/closed_mappings.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/expected_failures.h"
#include "analyzer/detectors/shared/held_findings.h"
#include "analyzer/detectors/shared/refusal_reasons.h"
#include "analyzer/detectors/shared/refused_calls.h"
#include "trace/cuda_results.h"
#include "trace/object_class.h"

namespace gmt {
namespace {

// Of captures: cuda.h of CUDA 13.0, at each of these results.
std::string_view advice_on(std::uint16_t result) {
  switch (result) {
  case cuda::CUDA_ERROR_NOT_PERMITTED:
    return "In a host callback CUDA may not be called: move such a call out of it. Elsewhere the "
           "function's documentation says what it does not permit.";
  case cuda::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
    return "A stream was being captured, and this call made the capture invalid: call it before the "
           "capture begins or after it has ended. If the capture is another thread's, let that one "
           "begin it with cudaStreamCaptureModeThreadLocal.";
  case cuda::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
    return "An earlier call made the capture invalid: mend that one, and check the result of each "
           "call between begin and end of the capture.";
  case cuda::CUDA_ERROR_STREAM_CAPTURE_MERGE:
    return "The call joins two captures: end one of them before the other begins, or let both be one "
           "capture by an event between their streams.";
  case cuda::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED:
    return "End the capture in the stream that it began in.";
  case cuda::CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
    return "Another stream came into the capture by an event, and its work was not joined: record an "
           "event behind the last work of that stream, and let the stream that began the capture wait "
           "for it (cudaStreamWaitEvent) before the capture ends.";
  case cuda::CUDA_ERROR_STREAM_CAPTURE_ISOLATION:
    return "The stream waits for an event that was recorded outside of the capture: record it inside, "
           "or wait for it before the capture begins.";
  case cuda::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
    return "The legacy default stream waits for all streams that were made without "
           "cudaStreamNonBlocking, and a capture cannot: make the captured stream with that flag, or "
           "leave the default stream alone while one is captured.";
  case cuda::CUDA_ERROR_CAPTURED_EVENT:
    return "The event was recorded in a capture, so no work ever completes it: use another event to "
           "wait or to measure time outside of the graph.";
  case cuda::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD:
    return "End the capture in the thread that began it, or begin it with "
           "cudaStreamCaptureModeRelaxed.";
  default: return "Check the arguments of this call, and its result in the program.";
  }
}

// The runtime's exit handler unloads the program's code, in a forked child that only exits, too.
bool ends_code(std::string_view api) { return api == "cuLibraryUnload" || api == "cuModuleUnload"; }

// While no failure may still be forgiven.
constexpr Wants kUsual =
  kWantsFailures | kWantsUnclaimed | wants(EventKind::kExecution) | wants(EventKind::kExit);

class ApiError : public Detector {
public:
  explicit ApiError(const ProcessFacts& facts) : facts_(facts), refused_(facts), launches_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap&, Findings&) override {
    if (e.kind == EventKind::kExecution) refused_.note(e);
    else if (e.kind == EventKind::kExit) note_exit(e);
    else if (e.succeeded()) forgive_retry(e);
  }

  void on_unclaimed(const Event& e, const Heap& heap, Findings& findings) override {
    if (!is_checked_call(e) || is_sticky(e.result) || heap.is_dead(e.context)) return;
    if (e.kind == EventKind::kAlloc && e.result == cuda::CUDA_ERROR_OUT_OF_MEMORY)
      return; // out-of-memory
    if (is_expected_failure(facts_.api_name(e.api), e.result) ||
        is_expected_failure(facts_.call_name(e), e.result))
      return;
    if (e.result == cuda::CUDA_ERROR_NOT_INITIALIZED && facts_.forked_from() != 0) {
      if (!ends_code(facts_.api_name(e.api))) report_fork(e);
    } else if (is_retried(e.result) && !e.from_runtime) {
      put_off(e, findings);
    } else {
      Finding f = finding(e);
      diagnose(e, heap, f);
      if (refused_.may_be(e)) refused_.hold(e, std::move(f));
      else if (e.kind == EventKind::kLaunch)
        launches_.hold(e, e.launch().function, std::move(f), RefusedLaunch(e));
      else findings.add(std::move(f));
    }
  }

  void finish(const EndOfTrace&, const Heap& heap, Findings& findings) override {
    launches_.release([&](Finding& failure, const RefusedLaunch& launch) {
      diagnose_launch(launch, heap.cuda().launch_limits.find(launch.order), facts_, failure);
      findings.add(std::move(failure));
    });
    for (auto& [thread, retry] : retries_) findings.add(std::move(retry.failure));
    if (in_fork_) findings.add(std::move(*in_fork_));
    refused_.finish(findings);
  }

private:
  // A failed first try. The runtime's second one asks for the same; a static runtime shows no `via`
  // with either.
  struct Retry {
    std::uint16_t api, via;
    std::uint64_t size;
    Finding failure;

    static std::uint64_t size_of(const Event& e) { return e.subject().second; }
    bool is_same_call(const Event& e) const {
      return api == e.api && via == e.via && size == size_of(e);
    }
  };

  struct Exit {
    std::uint32_t thread;
    std::uint64_t order; // failures are said of later than they are
  };

  Finding finding(const Event& e) const {
    const std::string_view call = facts_.call_name(e);
    Finding f;
    f.kind = "api-error";
    f.severity = Severity::kWarning;
    f.message = {CallName{call}, " failed with ", error_text(e.result, is_runtime_name(call))};
    f.advice = advice_on(e.result);
    f.api = call;
    f.group = std::to_string(e.result);
    f.stacks.push_back(stack_as(StackRole::kFailed, e.stack, call));
    if (exit_ && exit_->thread != e.thread && exit_->order < e.order) {
      f.severity = Severity::kNote;
      f.message = {"While another thread was in exit(), ", CallName{call}, " failed with ",
                   error_text(e.result, is_runtime_name(call))};
      f.advice =
        "exit() takes CUDA down: let threads that use CUDA end before main returns or calls "
        "it. On a GPU such a call may crash, too.";
      f.group += " behind exit()";
    }
    return f;
  }

  void note_exit(const Event& e) {
    const trace::ExitWay way = e.exit().way;
    if (way == trace::ExitWay::kExit || way == trace::ExitWay::kUnderscoreExit)
      exit_ = Exit{e.thread, e.order};
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
    if (e.kind == EventKind::kAlloc) return e.allocation().shape->pool;
    const event::Life& life = e.life();
    return e.kind == EventKind::kLife && life.object == trace::ObjectClass::kPool ? life.handle : 0;
  }

  // The fence made it so: what a plain run would have got is not known here.
  void diagnose_fence(const Event& e, const Heap& heap, Finding& f) const {
    if (!facts_.is_guarded() || e.kind != EventKind::kUse || e.result != 1) return;
    const event::Use& use = e.use();
    const Block* block = heap.find_live(use.address);
    if (use.use != trace::UseClass::kExport || block == nullptr) return;
    f.severity = Severity::kNote;
    f.message += {": memory that --guard fences cannot be given to other processes, ",
                  describe_block(*block, facts_)};
    f.advice = {"Run the program again with --guard-exclude ", AllocationSite{},
                ": what is allocated there stays plain then."};
    f.stacks.push_back(allocation_stack(*block, facts_));
  }

  // CUDA says "invalid value" to these (measured on an H200, driver 580).
  void diagnose(const Event& e, const Heap& heap, Finding& f) const {
    if (const auto closed = closed_mapping_of(e, heap, facts_))
      add_closed_mapping(*closed, facts_, f);
    diagnose_fence(e, heap, f);
    diagnose_registration(e, heap, facts_, f);
    diagnose_prefetch(e, heap, facts_, f);
    const Pool* pool = heap.cuda().pools.find(named_pool(e));
    if (pool != nullptr && pool->destroyed) {
      f.message += ": this pool had been destroyed";
      f.advice = "Destroy the pool after its last use, once.";
      f.stacks.push_back(stack_as(StackRole::kPoolDestroyed, pool->destroyed->stack,
                                  facts_.api_name(pool->destroyed->api)));
    }
    const event::Sync& sync = e.sync();
    const bool launch = e.kind == EventKind::kSync && sync.op == trace::SyncOp::kGraphLaunch;
    if (const Block* block = launch ? heap.unfreed_of_graph(sync.executable_graph()) : nullptr;
        block != nullptr) {
      f.message += ": memory that the graph's last launch allocated has not been freed";
      f.advice = {"Free it before the graph is launched again, or instantiate the graph with ",
                  ApiWord{is_runtime_name(f.api), "CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH",
                          "cudaGraphInstantiateFlagAutoFreeOnLaunch"},
                  "."};
      f.stacks.push_back(allocation_stack(*block, facts_));
    }
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
  std::optional<Exit> exit_;
  RefusedCalls refused_;
  // By thread: failures that the runtime may repeat
  std::unordered_map<std::uint32_t, Retry> retries_;
  std::optional<Finding> in_fork_;
  // What the driver said of a refused launch's kernel comes behind it
  HeldFindings<RefusedLaunch> launches_;
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
