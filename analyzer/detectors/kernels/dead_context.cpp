// SPDX-License-Identifier: Apache-2.0
// kernel-fault where nothing has recorded the fault itself: a call answered an error that the
// context keeps from then on. Once for each context. The finding names the kernels that may have
// been running and the memory that they were given. It gives way to what knows more: a core dump, a
// record of the simulated device, a free in a kernel that explains the error. An error that no
// kernel causes (of the hardware, or of a copy where no kernel was launched) is an api-error.

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/closed_mappings.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/device_stacks.h"
#include "analyzer/detectors/shared/expected_failures.h"
#include "analyzer/detectors/shared/faults/fault_words.h"
#include "analyzer/detectors/shared/faults/suspect_kernels.h"
#include "trace/cuda_results.h"

namespace gmt {
namespace {

// What a kernel did, as far as the error says it; empty: no kernel is to blame.
std::string_view deed(std::uint16_t code) {
  switch (code) {
  case cuda::CUDA_ERROR_ILLEGAL_ADDRESS: return "used an illegal address";
  case cuda::CUDA_ERROR_LAUNCH_TIMEOUT: return "ran longer than the device's watchdog allows";
  case cuda::CUDA_ERROR_ASSERT: return "failed an assert";
  case cuda::CUDA_ERROR_HARDWARE_STACK_ERROR: return "damaged its call stack";
  case cuda::CUDA_ERROR_ILLEGAL_INSTRUCTION: return "met an illegal instruction";
  case cuda::CUDA_ERROR_MISALIGNED_ADDRESS: return "used a misaligned address";
  case cuda::CUDA_ERROR_INVALID_ADDRESS_SPACE:
    return "used an instruction for another kind of memory";
  case cuda::CUDA_ERROR_INVALID_PC: return "called or jumped to what is no code";
  case cuda::CUDA_ERROR_LAUNCH_FAILED: return "failed";
  case cuda::CUDA_ERROR_TENSOR_MEMORY_LEAK: return "ended without freeing its tensor memory";
  default: return {};
  }
}

std::string advice_on_code(std::uint16_t code, const ProcessFacts& facts) {
  std::string first;
  switch (code) {
  case cuda::CUDA_ERROR_ASSERT:
    first = "CUDA has printed the assert's condition, with block and thread, to the program's "
            "stderr. ";
    break;
  case cuda::CUDA_ERROR_LAUNCH_TIMEOUT:
    first = "Let each launch do less, or use a device that drives no display. ";
    break;
  case cuda::CUDA_ERROR_LAUNCH_FAILED:
    first = "A trap, a stack that is too small and a wrong free in a kernel end so. ";
    break;
  default: break;
  }
  if (facts.simulated()) return first + "Run the program under compute-sanitizer on a GPU.";
  const std::string_view dump =
    facts.is_guarded() ? "" : "with --core-dump, which names the kernel's line on this GPU, or ";
  return cat({first, "Run the program again ", dump,
              "with --device simulated, which checks each access of each kernel; "
              "compute-sanitizer names such accesses, too."});
}

class DeadContext : public Detector {
public:
  explicit DeadContext(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap, Findings&) override {
    switch (e.kind) {
    case EventKind::kFault: return note_fault(e);
    case EventKind::kExecution:
      if (e.execution().op == trace::ExecutionOp::kStopped) was_stopped_ = true;
      return;
    case EventKind::kLaunch:
      if (e.succeeded()) return suspects_.remember(e);
      break;
    default: break;
    }
    if (e.succeeded() || !is_checked_call(e)) return;
    const auto known = deaths_.find(context_number(e.context));
    if (known == deaths_.end()) {
      if (is_sticky(e.result)) report(e, heap);
    } else if (is_sticky(e.result) || !is_expected(e)) {
      ++known->second.later_calls;
    }
  }

  void finish(const EndOfTrace& end, const Heap& heap, Findings& findings) override {
    // A finding of its own names the kernel.
    if (has_dump()) return;
    for (const std::uint16_t context : order_) {
      if (explained_.contains(context)) continue;
      Death& death = deaths_.at(context);
      Finding& f = death.finding;
      if (death.later_calls != 0) {
        f.message +=
          cat({", and ", format_plural(death.later_calls, "later call"), " failed because of it"});
      }
      if (const std::string_view cause = deadly_free(death, end, heap); !cause.empty()) {
        make_note(f, cat({"Correct what ", cause,
                          " reports: such a free ends its kernel, and the context with it."}));
      } else if (death.code == cuda::CUDA_ERROR_LAUNCH_TIMEOUT && was_stopped_) {
        make_note(f, "The simulated device stopped a kernel: give it more time with "
                     "--kernel-time, or less to do.");
      } else {
        f.message += death.kernels.words;
        std::ranges::move(death.kernels.stacks, std::back_inserter(f.stacks));
      }
      findings.add(std::move(f));
    }
  }

private:
  struct Death {
    Finding finding;
    SuspectKernels::Found kernels;
    std::uint16_t code = 0, context = 0;
    std::uint64_t later_calls = 0;
  };
  bool has_dump() const {
    return std::ranges::any_of(facts_.core_dumps(),
                               [](const CoreDump& dump) { return !dump.faults.empty(); });
  }

  bool is_expected(const Event& e) const {
    return is_expected_failure(facts_.api_name(e.api), e.result) ||
           is_expected_failure(facts_.call_name(e), e.result);
  }

  void note_fault(const Event& e) {
    if (e.fault().gpu_error != 0) explained_.insert(context_number(e.context));
  }

  // A note beside the finding that knows the cause.
  static void make_note(Finding& f, std::string advice) {
    f.kind = "api-error";
    f.severity = Severity::kNote;
    f.advice = std::move(advice);
    for (FindingStack& stack : f.stacks) {
      if (stack.role == StackRole::kReported) stack.role = StackRole::kFailed;
    }
  }

  void report(const Event& e, const Heap& heap) {
    const std::string_view call = facts_.call_name(e);
    Death death;
    death.code = e.result;
    death.context = e.context;
    Finding& f = death.finding;
    f.kind = fault_kinds::kFault;
    f.severity = Severity::kError;
    f.api = call;
    f.group = std::to_string(e.result);
    f.range = facts_.ranges().text(facts_.ranges().here());
    f.stacks.push_back(stack_as(StackRole::kReported, e.stack, call));
    const Text answer = {error_text(e.result, is_runtime_name(call)), " was reported by ",
                         CallName{call}};
    const bool may_be_kernel = heap.last_kernel() != 0 || facts_.lost_so_far() != 0;
    const bool is_limit = facts_.simulated() && e.result == cuda::CUDA_ERROR_LAUNCH_TIMEOUT;
    const std::string_view what = is_limit ? "ran longer than it was given" : deed(e.result);
    if (what.empty()) {
      blame_hardware(f, answer);
    } else if (const auto closed = closed_mapping_of(e, heap, facts_)) {
      f.message = {"The context has died: ", answer};
      make_api_error(f);
      add_closed_mapping(*closed, facts_, f);
    } else if (!may_be_kernel) {
      f.message = {"The context has died though no kernel was launched: ", answer};
      make_api_error(f);
      f.advice = "Look at the copies, sets and memory operations of streams before this call: one "
                 "of them used memory that the device cannot reach.";
    } else {
      f.message = {"A kernel ", what, ": ", answer};
      f.advice = advice_on_code(e.result, facts_);
      death.kernels = suspects_.find(e, heap);
    }
    deaths_.emplace(context_number(e.context), std::move(death));
    order_.push_back(context_number(e.context));
  }

  static void make_api_error(Finding& f) {
    f.kind = "api-error";
    f.stacks.front().role = StackRole::kFailed;
  }

  static void blame_hardware(Finding& f, const Text& answer) {
    f.message = {"The hardware failed, and the context has died: ", answer};
    f.advice = "No kernel of the program causes this error: look at the system's log (Xid) and at "
               "nvidia-smi -q, and do not trust results from before it.";
    make_api_error(f);
  }

  // The finding about the newest free in a kernel that may have ended the context; empty if there
  // is none. Such frees give these two codes (measured on an H200, driver 580).
  static std::string_view deadly_free(const Death& death, const EndOfTrace& end, const Heap& heap) {
    using Mistake = DeviceMistake::What;
    if (death.code != cuda::CUDA_ERROR_ILLEGAL_ADDRESS &&
        death.code != cuda::CUDA_ERROR_LAUNCH_FAILED)
      return {};
    const DeviceMistake* newest = nullptr;
    for (const auto& context : end.device_contexts) {
      if (death.context != 0 && context->heap.context() != death.context) continue;
      for (const DeviceMistake& mistake : context->heap.mistakes()) {
        if (mistake.what == Mistake::kMismatched || mistake.what == Mistake::kAlignment) continue;
        if (newest == nullptr || mistake.at.time > newest->at.time) newest = &mistake;
      }
    }
    if (newest == nullptr) return {};
    if (newest->what == Mistake::kDoubleFree) return "device-heap-double-free";
    const bool of_host =
      newest->what == Mistake::kNeverAllocated && host_block_of(*newest, heap) != nullptr;
    return of_host ? "heap-mixed" : "device-heap-invalid-free";
  }

  const ProcessFacts& facts_;
  SuspectKernels suspects_{facts_};
  std::unordered_map<std::uint16_t, Death> deaths_; // by context
  std::vector<std::uint16_t> order_;                // contexts, as they died
  std::unordered_set<std::uint16_t> explained_;     // contexts: the simulated device's own finding
  bool was_stopped_ = false;                        // a kernel, by the simulated device
};

const DetectorRegistration kDeadContext{{
  .id = fault_kinds::kFault,
  .severity = Severity::kError,
  .title = "a kernel was stopped by any other fault",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<DeadContext>(facts);
  },
  .wants = kWantsFailures | wants(EventKind::kLaunch) | wants(EventKind::kFault) |
           wants(EventKind::kExecution),
  .is_another_way = true,
}};

} // namespace
} // namespace gmt
