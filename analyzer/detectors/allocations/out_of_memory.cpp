// SPDX-License-Identifier: Apache-2.0
// out-of-memory: an allocation that failed for want of memory. It shows what was asked for, what
// each call stack and each module held at that moment, what had been freed and in which pieces, and
// how much no traced program held. Equal failures (same stack) are one finding; the first is the
// example. Where the same code then asked again, for as much or less, and got it, it is a note:
// caches try again when they have freed what they can, or take what there is. What the driver says
// about its free memory follows the failure in the same log and names the device as well
// (kMemoryInfo); older traces lack it.
//
// Where PyTorch's allocator then says that it has nothing for a tensor, that is the finding, with
// tensors as holders, and its calls of CUDA are parts of it. A library's call that got memory at
// the next try is no finding.

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/memory_stock.h"
#include "analyzer/detectors/shared/tensor_refusal.h"
#include "analyzer/detectors/shared/tensor_stock.h"
#include "trace/cuda_results.h"

namespace gmt {
namespace {

constexpr Wants kWantsFailedOnes = kWantsFailures | wants(EventKind::kMemoryInfo) | kWantsTensors;
// While a failure waits for the next try.
constexpr Wants kWantsNextTry = kWantsFailedOnes | wants(EventKind::kAlloc);

std::string advice_for(const HeldMemory& held, trace::MemoryKind memory_kind) {
  const bool may_be_larger = memory_kind == trace::MemoryKind::kManaged;
  if (!may_be_larger && held.total_bytes && held.requested_bytes > *held.total_bytes) {
    const bool is_negative = held.requested_bytes >> 63 != 0;
    return cat({"Check how the size is computed: the device has ", format_bytes(*held.total_bytes),
                " in all", is_negative ? ", and a negative number becomes such a size." : "."});
  }
  const std::uint64_t untraced = held.untraced_bytes().value_or(0);
  if (untraced != 0 && untraced >= *held.total_bytes / 2)
    return "Look for other programs on this device (nvidia-smi): most of its memory is not this program's.";
  if (held.blocks == 0) return "Ask for less, or look for another program that holds the memory.";
  if (held.free_bytes.value_or(0) >= held.requested_bytes)
    return "As much was free, but not in one piece: allocate large blocks first, or use cudaMallocAsync.";
  return "Free what is no longer needed before this call; the largest holders are shown.";
}

class OutOfMemory : public Detector {
public:
  explicit OutOfMemory(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap, Findings&) override {
    if (e.kind == EventKind::kMemoryInfo) return on_memory_info(e, heap);
    if (e.kind == EventKind::kTensor) return on_tensor(e, heap);
    if (e.kind != EventKind::kAlloc || e.is_nested) return;
    if (e.succeeded()) return end_tries(e);
    if (e.result != cuda::CUDA_ERROR_OUT_OF_MEMORY) return;
    const std::uint16_t api = e.via != trace::kNoApi ? e.via : e.api;
    const auto [at, is_new] =
      by_call_.try_emplace(std::uint64_t{e.stack.value} << 16 | api, failures_.size());
    if (is_new) {
      failures_.push_back(first(e, heap));
      awaiting_[e.thread] = at->second;
    } else {
      awaiting_.erase(e.thread); // what the driver says next is not about the example
    }
    Failure& failure = failures_[at->second];
    ++failure.count;
    failure.bytes += e.allocation().bytes;
    follow_try(e, at->second);
  }

  void finish(const EndOfTrace&, const Heap&, Findings& findings) override {
    for (Failure& failure : failures_) {
      if (!is_part_of_other(failure)) findings.add(finding(std::move(failure)));
    }
    for (Refusal& refusal : refusals_) findings.add(finding(std::move(refusal)));
  }

private:
  struct Failure {
    std::string_view call;
    StackId stack;
    trace::MemoryKind memory_kind;
    std::uint64_t requested = 0;
    std::string range;
    MemoryStock stock; // at the first failure
    std::uint64_t count = 0, bytes = 0;
    std::uint64_t recovered = 0, got = 0; // failures after which it got memory, and how much
    std::uint64_t of_tensors = 0;         // those that PyTorch's allocator reported itself
  };

  // PyTorch's allocator had nothing for a tensor.
  struct Refusal {
    StackId stack;
    std::uint64_t requested = 0;
    std::string range;
    TensorStock tensors; // at the first one
    std::uint64_t count = 0, bytes = 0;
  };

  bool is_part_of_other(const Failure& failure) const {
    if (failure.of_tensors == failure.count) return true;
    return failure.recovered == failure.count && !facts_.caller(failure.stack).owner.empty();
  }

  void on_tensor(const Event& e, const Heap& heap) {
    const event::Tensor& tensor = e.tensor();
    if (tensor.op != trace::TensorOp::kRefused) return;
    const int device = static_cast<int>(tensor.device());
    auto at = std::ranges::find(refusals_, e.stack, &Refusal::stack);
    const bool is_new = at == refusals_.end();
    if (is_new) {
      at = refusals_.insert(refusals_.end(), {.stack = e.stack,

                                              .requested = tensor.bytes,
                                              .range = facts_.ranges().text(facts_.ranges().here()),
                                              .tensors = tensors_of_device(
                                                heap, facts_, {device, tensor.bytes, e.time})});
    }
    ++at->count;
    at->bytes += tensor.bytes;
    const auto tries = tries_.find(e.thread);
    if (tries == tries_.end()) return;
    for (const std::size_t i : tries->second.failures) {
      ++failures_[i].of_tensors;
      const HeldMemory& known = failures_[i].stock.held;
      if (!is_new || !known.free_bytes) continue;
      at->tensors.stock.held.free_bytes = known.free_bytes;
      at->tensors.stock.held.total_bytes = known.total_bytes;
    }
    tries_.erase(tries);
  }

  // A thread's failures in a row of code that asks again.
  struct Tries {
    std::uint16_t api = 0;
    StackId stack;
    std::uint64_t bytes = 0;
    std::vector<std::size_t> failures;
  };

  // Half is as much less as code asks for at the next try. Another line of the same file asks again
  // if it asks for as much, or in a known library for less; else it asks for something else.
  bool is_next_try(const Tries& tries, const Event& e) const {
    const std::uint64_t bytes = e.allocation().bytes;
    if (e.api != tries.api || bytes > tries.bytes || bytes < tries.bytes / 2) return false;
    if (e.stack == tries.stack) return true;
    const Caller before = facts_.caller(tries.stack), now = facts_.caller(e.stack);
    if (now.module.empty() || now.module != before.module) return false;
    return bytes == tries.bytes || !now.owner.empty();
  }

  void follow_try(const Event& e, std::size_t failure) {
    Tries& tries = tries_[e.thread];
    if (!tries.failures.empty() && !is_next_try(tries, e)) tries.failures.clear();
    tries.api = e.api;
    tries.stack = e.stack;
    tries.bytes = e.allocation().bytes;
    tries.failures.push_back(failure);
    watch(kWantsNextTry);
  }

  void end_tries(const Event& e) {
    const auto at = tries_.find(e.thread);
    if (at == tries_.end()) return;
    if (is_next_try(at->second, e)) {
      for (const std::size_t i : at->second.failures) {
        ++failures_[i].recovered;
        failures_[i].got = e.allocation().bytes;
      }
    }
    tries_.erase(at);
    if (tries_.empty()) watch(kWantsFailedOnes);
  }

  Failure first(const Event& e, const Heap& heap) const {
    const event::Allocation& alloc = e.allocation();
    const trace::MemoryKind memory_kind = alloc.memory_kind;
    return {.call = facts_.call_name(e),
            .stack = e.stack,
            .memory_kind = memory_kind,
            .requested = alloc.bytes,
            .range = facts_.ranges().text(facts_.ranges().here()),
            .stock = is_page_locked(memory_kind) ? stock_of_host(heap, facts_)
                                                 : stock_of_device(heap, facts_, kAnyDevice)};
  }

  void on_memory_info(const Event& e, const Heap& heap) {
    const auto at = awaiting_.find(e.thread);
    if (at == awaiting_.end()) return;
    Failure& failure = failures_[at->second];
    awaiting_.erase(at);
    if (is_page_locked(failure.memory_kind)) return;
    const int device = heap.device_of_context(e.context);
    if (device != kAnyDevice) failure.stock = stock_of_device(heap, facts_, device);
    const event::MemoryInfo& info = e.memory_info();
    failure.stock.held.free_bytes = info.free_bytes;
    failure.stock.held.total_bytes = info.total_bytes;
  }

  // A tensor is made by no call of CUDA.
  std::string_view call_of(const MemoryHolder& holder) const {
    if (holder.api == trace::kNoApi) return {};
    return facts_.api_name(holder.api);
  }

  void add_holders(Finding& f, MemoryStock stock) const {
    for (const MemoryHolder& holder : stock.holders) {
      stock.held.holders.push_back({f.stacks.size(), holder.bytes, holder.blocks});
      FindingStack& stack =
        f.stacks.emplace_back(stack_as(StackRole::kHeld, holder.stack, call_of(holder)));
      stack.amount = {holder.bytes, holder.blocks};
    }
    std::ranges::stable_sort(stock.held.holders, std::ranges::greater{},
                             &HeldMemory::Holder::bytes);
    f.held = std::move(stock.held);
  }

  Finding finding(Refusal refusal) const {
    TensorStock& tensors = refusal.tensors;
    tensors.stock.held.requested_bytes = refusal.requested;
    Finding f;
    f.kind = "out-of-memory";
    f.severity = Severity::kWarning;
    f.bytes = refusal.bytes;
    f.count = refusal.count;
    f.range = std::move(refusal.range);
    f.message = refusal_message(tensors);
    if (f.count > 1)
      f.message += cat({" (the first of ", format_plural(f.count, "such failure"), ")"});
    f.message += idle_words(tensors, facts_);
    f.advice = refusal_advice(tensors);
    f.stacks.push_back(stack_as(StackRole::kFailed, refusal.stack, {}));
    add_holders(f, std::move(tensors.stock));
    return f;
  }

  Finding finding(Failure failure) const {
    HeldMemory& held = failure.stock.held;
    held.requested_bytes = failure.requested;
    std::uint64_t largest = 0;
    for (const HeldMemory::Pool& pool : held.pools) largest = std::max(largest, pool.largest_freed);
    Finding f;
    f.kind = "out-of-memory";
    const bool has_recovered = failure.recovered == failure.count;
    f.severity = has_recovered ? Severity::kNote : Severity::kWarning;
    f.api = failure.call;
    f.bytes = failure.bytes;
    f.count = failure.count;
    f.range = std::move(failure.range);
    f.message = {CallName{failure.call},
                 " of ",
                 describe_bytes(failure.requested, failure.memory_kind),
                 " failed for lack of memory; this program held ",
                 format_bytes(held.bytes),
                 " of ",
                 held.is_host ? "host" : "device",
                 " memory in ",
                 format_plural(held.blocks, "block")};
    if (largest != 0)
      f.message += cat({", and the largest piece it had freed is ", format_bytes(largest)});
    if (f.count > 1)
      f.message += cat({" (the first of ", format_plural(f.count, "such failure"), ")"});
    if (has_recovered) f.message += cat({"; asked again, CUDA gave ", format_bytes(failure.got)});
    f.advice = has_recovered ? "The program goes on with what it got: nothing needs to change."
                             : advice_for(held, failure.memory_kind);
    f.stacks.push_back(stack_as(StackRole::kFailed, failure.stack, failure.call));
    add_holders(f, std::move(failure.stock));
    return f;
  }

  const ProcessFacts& facts_;
  std::vector<Failure> failures_;
  std::vector<Refusal> refusals_;
  std::unordered_map<std::uint64_t, std::size_t> by_call_;
  std::unordered_map<std::uint32_t, Tries> tries_; // by thread
  // The driver's word: thread -> its failure
  std::unordered_map<std::uint32_t, std::size_t> awaiting_;
};

const DetectorRegistration kOutOfMemoryDetector{{
  .id = "out-of-memory",
  .severity = Severity::kWarning,
  .title = "allocation that failed for lack of memory",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<OutOfMemory>(facts);
  },
  .wants = kWantsFailedOnes,
}};

} // namespace
} // namespace gmt
