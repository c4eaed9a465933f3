// SPDX-License-Identifier: Apache-2.0
// device-heap-exhausted: malloc or new in a kernel that gave NULL. Says what was alive, the limit
// in force and the call that raises it. The limit can only be set before a kernel that allocates is
// loaded: later CUDA refuses the call with "invalid value" (measured on an H200, driver 580), which
// this finding explains too.

#include <algorithm>
#include <string>
#include <unordered_set>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/device_stacks.h"
#include "analyzer/detectors/shared/faults/recorded_evidence.h"
#include "trace/cuda_results.h"

namespace gmt {
namespace {

class DeviceHeapExhausted : public Detector {
public:
  explicit DeviceHeapExhausted(const ProcessFacts& facts) : facts_(facts) {}

  // A refused limit is part of the finding.
  void on_event(const Event& e, std::span<const Verdict>, const Heap&,
                Findings& findings) override {
    if (e.kind == EventKind::kFault) {
      if (is_null_access(e)) used_null_.insert(e.fault().grid_id);
      return;
    }
    if (facts_.device_heaps().is_refused_limit(e)) findings.claim_refusal();
  }

  void finish(const EndOfTrace& end, const Heap&, Findings& findings) override {
    for (const auto& context : end.device_contexts) {
      const auto key_of = [&](const DeviceRefusal& refusal) {
        return cat({device_call(refusal.first.op), " ", site_key(refusal.first, *context)});
      };
      for (const DeviceRefusal& refusal : merged(context->heap.refusals(), key_of))
        findings.add(finding(refusal, *context));
    }
  }

private:
  Finding finding(const DeviceRefusal& refusal, const DeviceContext& context) const {
    Finding f;
    f.kind = "device-heap-exhausted";
    f.severity = Severity::kWarning;
    f.api = device_call(refusal.first.op);
    f.bytes = refusal.bytes;
    f.count = refusal.count;
    f.message = {
      CallName{f.api},
      " of ",
      format_bytes(refusal.asked),
      " in ",
      kernel_of(refusal.first, context),
      " got NULL",
      refusal.count == 1 ? "" : cat({" (the first of ", format_count(refusal.count), " times)"}),
      ": ",
      format_bytes(refusal.live_bytes),
      " in ",
      format_plural(refusal.live_blocks, "block"),
      " were alive on the device heap, whose limit is ",
      format_bytes(context.limit)};
    if (refusal.live_bytes <= context.limit && refusal.asked <= context.limit - refusal.live_bytes)
      f.message += "; the rest was the allocator's own or in pieces too small";
    add_earlier(f, refusal, context);
    if (used_null_.contains(refusal.first.grid)) {
      f.severity = Severity::kError;
      f.message += "; the kernel used the NULL pointer";
    }
    add_device_stack(f, StackRole::kFailed, refusal.first, context, facts_);
    if (!context.refused.empty()) add_refusal(f, context.refused.back());
    f.advice = {advice(context),
                " before any kernel that allocates is loaded. Test in the kernel what ",
                CallName{f.api}, " gave."};
    return f;
  }

  // Blocks of launches before, which are alive still: a heap that fills up from launch to launch.
  static void add_earlier(Finding& f, const DeviceRefusal& refusal, const DeviceContext& context) {
    std::uint64_t bytes = 0, blocks = 0;
    context.heap.for_each_live([&](const DeviceBlock& block) {
      if (block.allocated.grid == refusal.first.grid || block.allocated.time > refusal.first.time)
        return;
      bytes += block.bytes;
      ++blocks;
    });
    if (blocks == 0) return;
    f.message += cat({"; ", format_bytes(bytes), " in ", format_plural(blocks, "block"),
                      " are of earlier launches, which never freed them"});
  }

  static bool is_late(const HeapLimitCall& call) {
    return call.behind_launch && call.result == cuda::CUDA_ERROR_INVALID_VALUE;
  }

  static std::string advice(const DeviceContext& context) {
    const std::uint64_t enough = sufficient_limit(context);
    if (context.refused.empty() || !is_late(context.refused.back())) {
      return cat({"Call cudaDeviceSetLimit(cudaLimitMallocHeapSize, ", std::to_string(enough),
                  ") before the first kernel is launched: it must come"});
    }
    return cat(
      {"Move the call before the first launch: cudaDeviceSetLimit(cudaLimitMallocHeapSize, ",
       std::to_string(std::max(context.refused.back().bytes, enough)), ") must come"});
  }

  void add_refusal(Finding& f, const HeapLimitCall& call) const {
    const std::string_view api = facts_.api_name(call.api);
    f.message +=
      {"; ",
       CallName{api},
       " had asked for ",
       format_bytes(call.bytes),
       is_late(call) ? ", but came too late and was refused with " : ", but was refused with ",
       error_text(call.result, is_runtime_name(api))};
    f.stacks.push_back(stack_as(StackRole::kLimitRefused, call.stack, api));
  }

  const ProcessFacts& facts_;
  std::unordered_set<std::uint64_t> used_null_; // grids
};

const DetectorRegistration kDeviceHeapExhausted{{
  .id = "device-heap-exhausted",
  .severity = Severity::kWarning,
  .title = "malloc in a kernel that got NULL",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<DeviceHeapExhausted>(facts);
  },
  .wants = kWantsFailures | wants(EventKind::kFault),
}};

} // namespace
} // namespace gmt
