// SPDX-License-Identifier: Apache-2.0
// host-race by host functions: an asynchronous copy from pageable memory reads that memory inside
// its call, or copies it elsewhere (CUDA driver API manual, API synchronization behavior; seen on
// an H100). A host function that was put into the stream before may not have run then, whatever the
// stream's order promises. What it does to the memory is inferred: it was given an address in the
// copy's source.

#include <unordered_map>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/heap/memory_kinds.h"

namespace gmt {
namespace {

using trace::SyncOp;

constexpr Wants kNoFunctions = wants(EventKind::kSync);
constexpr Wants kSomeFunctions = kNoFunctions | wants(EventKind::kCopy);

class HostFunctionRace : public Detector {
public:
  explicit HostFunctionRace(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap,
                Findings& findings) override {
    if (!e.succeeded() || e.is_nested) return;
    if (e.kind == EventKind::kCopy) on_copy(e, heap, findings);
    else on_order(e, heap);
    watch(functions_.empty() ? kNoFunctions : kSomeFunctions);
  }

private:
  struct Function {
    StackId stack;
    std::uint16_t api = trace::kNoApi;
    std::uint64_t given = 0;
  };

  void on_order(const Event& e, const Heap& heap) {
    switch (e.sync().op) {
    case SyncOp::kHostFunction:
      if (!heap.is_capturing(e, e.sync().stream))
        functions_[e.sync().stream] = {e.stack, e.via != trace::kNoApi ? e.via : e.api,
                                       e.sync().other};
      break;
    // Any of these may have let the host know that it has run
    case SyncOp::kStreamSynchronize:
    case SyncOp::kStreamQuery:
    case SyncOp::kEventSynchronize:
    case SyncOp::kEventQuery:
    case SyncOp::kElapsedTime:
    case SyncOp::kContextSynchronize: functions_.clear(); break;
    default: break;
    }
  }

  // Whether the source is memory of the host that CUDA does not know.
  static bool is_from_pageable(const Event& e, const Heap& heap) {
    const trace::Side side = e.copy().source_side;
    if (side != trace::Side::kHost && side != trace::Side::kUnified) return false;
    bool writes = false;
    for (const Access& access : heap.accesses()) {
      if (access.kind == Access::Kind::kRead) return false;
      writes |= access.kind == Access::Kind::kWrite;
    }
    return writes;
  }

  void on_copy(const Event& e, const Heap& heap, Findings& findings) {
    if (!e.copy().is_async) return functions_.clear(); // it waits for its stream, or for all
    const auto at = functions_.find(e.copy().stream);
    if (at == functions_.end() || heap.is_capturing(e, e.copy().stream)) return;
    const Rows source = rows_of(e, Verdict::Side::kSource);
    if (at->second.given - source.address >= source.width * source.count()) return;
    if (!is_from_pageable(e, heap)) return;
    add(e, at->second, source.width * source.count(), findings);
  }

  void add(const Event& e, const Function& function, std::uint64_t bytes,
           Findings& findings) const {
    const std::string_view name = facts_.api_name(e.via != trace::kNoApi ? e.via : e.api);
    const std::string_view of_function = facts_.api_name(function.api);
    const bool runtime = is_runtime_name(name);
    Finding f;
    f.kind = "host-race";
    f.severity = Severity::kWarning;
    f.api = name;
    f.address = function.given;
    f.bytes = bytes;
    f.message = {
      CallName{name},
      " reads ",
      format_bytes(bytes),
      " of pageable host memory inside the call; the host function that ",
      CallName{of_function},
      " has put before it on the stream was given that memory, and may not have run yet"};
    f.advice = {"Wait for the host function with ",
                ApiWord{runtime, "cuStreamSynchronize", "cudaStreamSynchronize"},
                " before the copy, or use pinned memory: the device reads that in the stream's "
                "order. It is no mistake if the function only reads there."};
    f.stacks.push_back(stack_as(StackRole::kCopied, e.stack, name));
    f.stacks.push_back(stack_as(StackRole::kCalled, function.stack, of_function));
    findings.add(std::move(f));
  }

  const ProcessFacts& facts_;
  std::unordered_map<std::uint64_t, Function> functions_; // the newest of each stream
};

const DetectorRegistration kHostFunctionRace{{
  .id = "host-race",
  .severity = Severity::kError,
  .title = "the host uses memory while work of the device uses it",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<HostFunctionRace>(facts);
  },
  .wants = kNoFunctions,
  .is_another_way = true,
}};

} // namespace
} // namespace gmt
