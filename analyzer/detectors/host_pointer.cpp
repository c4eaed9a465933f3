// SPDX-License-Identifier: Apache-2.0
// host-pointer: a kernel is given the address of host memory that its GPU cannot read. What counts as such
// memory: the program's heap, the main thread's stack, and what copies used as pageable host memory; unless
// CUDA knows it by now (pinned, registered, managed) or the device reads pageable memory.

#include <algorithm>
#include <map>

#include "analyzer/detector.h"
#include "analyzer/function_name.h"
#include "analyzer/words.h"

namespace gmt {
namespace {

constexpr std::size_t kMostRanges = 4096; // of pageable memory remembered
constexpr std::size_t kLongestName = 120; // of a kernel: templates make them long

class HostPointer : public Detector {
public:
  explicit HostPointer(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Judgement>, const Heap& heap, Findings& findings) override {
    if (!e.succeeded()) return;
    if (e.kind == trace::Kind::kCopy) return remember(e, heap);
    if (e.payload.size() > trace::kFirstPayloadWords + heap.touched().size()) judge(e, heap, findings);
  }

private:
  // Host memory that CUDA does not know, and the copy that named it.
  struct Range {
    std::uint64_t end = 0;
    StackId copied;
    std::uint16_t api = trace::kNoApi;
  };

  void remember(const Event& e, const Heap& heap) {
    for (const auto side : {Judgement::Side::kDestination, Judgement::Side::kSource}) {
      const bool to = side == Judgement::Side::kDestination;
      const trace::Side declared = declared_side(e, side);
      if (declared != trace::Side::kHost && declared != trace::Side::kUnified) continue;
      const auto access = to ? Touch::Access::kWrite : Touch::Access::kRead;
      const auto touched = heap.touched();
      if (std::any_of(touched.begin(), touched.end(), [&](const Touch& t) { return t.access == access; })) {
        continue;
      }
      const std::uint64_t begin = e.p(to ? 0 : 1), bytes = copy_extent(e, side);
      if (begin == 0 || bytes == 0 || begin + bytes < begin) continue;
      if (pageable_.size() >= kMostRanges && !pageable_.contains(begin)) pageable_.erase(pageable_.begin());
      Range& range = pageable_[begin];
      range.end = std::max(range.end, begin + bytes);
      range.copied = e.stack;
      range.api = e.via != trace::kNoApi ? e.via : e.api;
    }
  }

  const Range* copied_range(std::uint64_t address) const {
    auto after = pageable_.upper_bound(address);
    if (after == pageable_.begin()) return nullptr;
    const Range& range = std::prev(after)->second;
    return address < range.end ? &range : nullptr;
  }

  void judge(const Event& e, const Heap& heap, Findings& findings) const {
    // A program that only launches has a context that nothing names yet.
    const DeviceFacts* device = facts_.device(std::max(0, heap.device_of_context(e.context)));
    if (device == nullptr || device->reads_pageable_memory) return;
    unsigned last = trace::kNoParameter; // one finding a parameter: all fields of a structure are one mistake
    for (const std::uint64_t word : e.payload.subspan(trace::kFirstPayloadWords)) {
      const std::uint64_t address = trace::argument_address(word);
      const unsigned parameter = trace::argument_parameter(word);
      if (parameter == last || parameter == trace::kNoParameter) continue;
      const Range* copied = copied_range(address);
      if (copied == nullptr && !facts_.is_plain_host_memory(address)) continue;
      if (heap.find_live(address) != nullptr || heap.find_freed(address) != nullptr) continue;
      findings.add(finding(e, address, parameter, copied));
      last = parameter;
    }
  }

  Finding finding(const Event& e, std::uint64_t address, unsigned parameter, const Range* copied) const {
    const Kernel* kernel = facts_.kernel(e.p(0));
    const bool whole = kernel != nullptr && parameter < kernel->parameters.size() &&
                       kernel->parameters[parameter].bytes == sizeof address;
    const std::string name = demangle(facts_.handle_name(e.p(0)));
    Finding f;
    f.kind = "host-pointer";
    f.api = facts_.call_name(e);
    f.address = address;
    f.group = std::to_string(parameter);
    f.message =
      cat({"The launch of ", name.empty() ? "a kernel" : shorten_function(name, kLongestName),
           whole ? " passes as parameter " : " passes in parameter ", std::to_string(parameter + 1),
           " the pointer ", format_address(address), ", which is ordinary host memory that the GPU cannot read",
           copied != nullptr ? cat({"; ", facts_.api_name(copied->api), " used it as such."}) : "."});
    f.advice = "Pass the device's copy of the data, or allocate it with cudaMallocManaged or cudaMallocHost.";
    if (!whole) {
      f.severity = Severity::kWarning;
      f.advice += " It is a mistake only if the kernel uses that field.";
    }
    f.stacks.push_back(labelled("launched here", e.stack, f.api));
    if (copied != nullptr) {
      f.stacks.push_back(labelled("host memory copied here", copied->copied, facts_.api_name(copied->api)));
    }
    return f;
  }

  const ProcessFacts& facts_;
  std::map<std::uint64_t, Range> pageable_; // by first address
};

const DetectorRegistration kHostPointer{{
  .id = "host-pointer",
  .severity = Severity::kError,
  .title = "a kernel is given a pointer to host memory that the GPU cannot read",
  .explain =
    "A launch passes an address of the program's heap or stack, or of memory that a copy used as pageable "
    "host memory. Where the GPU cannot read such memory (cudaDevAttrPageableMemoryAccess is 0) the kernel that "
    "uses it dies of an illegal address, and the context with it. Often the host's array was passed instead "
    "of the device's, or a structure was copied whose members still point to the host. A pointer inside a structure "
    "passed by value is a warning, because the kernel may not use it. Other threads' stacks and memory "
    "mapped apart from the heap are known only where a copy named them.",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<HostPointer>(facts);
  },
  .wants = wants(trace::Kind::kCopy) | wants(trace::Kind::kLaunch),
}};

} // namespace
} // namespace gmt
