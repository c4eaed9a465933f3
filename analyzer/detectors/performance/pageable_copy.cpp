// SPDX-License-Identifier: Apache-2.0
// pageable-copy: large copies, again and again from one call stack, between the device and host
// memory that is neither pinned nor registered nor managed, with their measured time and bandwidth.
// Silent where the device reads pageable memory itself.
//
// A single large copy costs less than pinning its memory would, so it takes kCopies of them and
// kBytes in all.

#include <optional>
#include <unordered_map>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {
namespace {

// Below it the fixed cost of a copy outweighs the staging.
constexpr std::uint64_t kWorthPinning = 1 << 20;
constexpr std::uint64_t kCopies = 10;
constexpr std::uint64_t kBytes = 256 << 20; // some 10 ms lost at 12 instead of 50 GB/s

class PageableCopy : public Detector {
public:
  explicit PageableCopy(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap, Findings&) override {
    const event::Copy& copy = e.copy();
    if (e.is_nested || e.from_runtime || copy.is_batched) return;
    if (copy.bytes < kWorthPinning || !e.succeeded() || !e.stack) return;
    const auto to_device = pageable_to_device(e, heap);
    if (!to_device || heap.is_capturing(e, copy.stream)) return;
    const DeviceFacts* device = facts_.device(heap.device_of_context(e.context));
    if (device != nullptr && (device->uses_host_page_tables || device->reads_pageable_memory))
      return;
    Copies& copies = by_stack_[std::uint64_t{e.stack.value} << 1 | (*to_device ? 1 : 0)];
    copies.api = e.via != trace::kNoApi ? e.via : e.api;
    copies.bytes += copy.bytes;
    copies.ticks += e.ticks;
    ++copies.count;
  }

  void finish(const EndOfTrace&, const Heap&, Findings& findings) override {
    for (const auto& [key, copies] : by_stack_) {
      if (copies.count < kCopies || copies.bytes < kBytes) continue;
      findings.add(finding(StackId{static_cast<std::uint32_t>(key >> 1)}, (key & 1) != 0, copies));
    }
  }

private:
  struct Copies {
    std::uint64_t bytes = 0, ticks = 0, count = 0;
    std::uint16_t api = 0;
  };

  // Whether a copy goes from pageable memory to the device; nothing if it is no copy between the
  // two. What the heap knows (pinned, registered, managed) is among its accesses; a side that
  // it does not know is pageable unless it is declared otherwise.
  static std::optional<bool> pageable_to_device(const Event& e, const Heap& heap) {
    const Block* to = nullptr;
    const Block* from = nullptr;
    for (const Access& access : heap.accesses()) {
      (access.kind == Access::Kind::kWrite ? to : from) = access.block;
    }
    const auto is_device = [](const Block* block, trace::Side side) {
      if (block != nullptr)
        return block->memory_kind != trace::MemoryKind::kPinned &&
               block->memory_kind != trace::MemoryKind::kRegistered;
      return side == trace::Side::kDevice || side == trace::Side::kArray;
    };
    const auto is_pageable = [](const Block* block, trace::Side side) {
      return block == nullptr && (side == trace::Side::kHost || side == trace::Side::kUnified);
    };
    const event::Copy& copy = e.copy();
    if (is_device(to, copy.destination_side) && is_pageable(from, copy.source_side)) return true;
    if (is_device(from, copy.source_side) && is_pageable(to, copy.destination_side)) return false;
    return {};
  }

  Finding finding(StackId stack, bool to_device, const Copies& copies) const {
    const std::string_view api = facts_.api_name(copies.api);
    const bool runtime = is_runtime_name(api);
    const double time = facts_.nanoseconds(copies.ticks);
    char bandwidth[32];
    std::snprintf(bandwidth, sizeof bandwidth, "%.1f GB/s",
                  time == 0 ? 0 : static_cast<double>(copies.bytes) / time);
    Finding f;
    f.kind = "pageable-copy";
    f.severity = Severity::kWarning;
    f.api = api;
    f.bytes = copies.bytes;
    f.count = copies.count;
    f.group = to_device ? "to the device" : "from the device";
    f.message = {CallName{api},
                 " copied ",
                 format_bytes(copies.bytes),
                 to_device ? " from pageable host memory to the device in "
                           : " from the device to pageable host memory in ",
                 format_count(copies.count),
                 " copies from one place",
                 time == 0 ? std::string("; how long they took is not known")
                           : cat({", which took ", format_duration(time), " (", bandwidth, ")"})};
    f.advice = {
      "Allocate the host memory with ", ApiWord{runtime, "cuMemAllocHost", "cudaMallocHost"},
      ", or pin it once with ", ApiWord{runtime, "cuMemHostRegister", "cudaHostRegister"},
      ": the driver then copies without staging. Asynchronous copies do not wait then: the "
      "host may use the memory only after it has synchronised with the stream."};
    f.stacks.push_back(stack_as(StackRole::kCopied, stack, api));
    return f;
  }

  const ProcessFacts& facts_;
  std::unordered_map<std::uint64_t, Copies> by_stack_;
};

const DetectorRegistration kPageableCopy{{
  .id = "pageable-copy",
  .severity = Severity::kWarning,
  .title = "large copies, again and again, from or to pageable host memory",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<PageableCopy>(facts);
  },
  .wants = wants(EventKind::kCopy),
}};

} // namespace
} // namespace gmt
