// SPDX-License-Identifier: Apache-2.0
// copy-direction: a copy whose kind, or whose driver function, says host where the memory is the
// device's, or device where it is the host's. CUDA stays silent about most of the former (measured
// on an H200: any declared direction between two device blocks returns success).
//
// What fits what, under unified addressing: device memory is device memory only. Managed memory is
// both. Pinned and registered host memory may be declared as device memory, since the device
// reaches it at the same address. Other host memory is the host's, unless the device reads pageable
// memory. Memory of unseen origin is checked only where CUDA refused the call. There belongs a
// __device__ variable that is named as if it were memory: what the call gets is the address of the
// host's shadow of it. Nodes of graphs are checked when they are made or changed, by hand or not;
// of these, ordinary host memory as the device's side is reported although CUDA may find it out
// only later.

#include <array>
#include <optional>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "trace/cuda_results.h"

namespace gmt {
namespace {

using Side = Verdict::Side;
using trace::MemoryKind;

// cudaMemcpyKind (driver_types.h): names, and what each says of destination and source.
struct Direction {
  std::string_view name, driver;
  trace::Side to, from;
};
constexpr std::array<Direction, 4> kKinds{{
  {"cudaMemcpyHostToHost", "cuMemcpy", trace::Side::kHost, trace::Side::kHost},
  {"cudaMemcpyHostToDevice", "cuMemcpyHtoD", trace::Side::kDevice, trace::Side::kHost},
  {"cudaMemcpyDeviceToHost", "cuMemcpyDtoH", trace::Side::kHost, trace::Side::kDevice},
  {"cudaMemcpyDeviceToDevice", "cuMemcpyDtoD", trace::Side::kDevice, trace::Side::kDevice},
}};

const Direction* direction_of(const Event& e) {
  const unsigned kind = e.kind == EventKind::kCopy ? e.copy().declared_kind_plus_1 : 0;
  return kind >= 1 && kind <= kKinds.size() ? &kKinds[kind - 1] : nullptr;
}

trace::Side declared(const Event& e, Side side) {
  if (e.kind == EventKind::kSet) return trace::Side::kDevice;
  const trace::Side by_driver = declared_side(e, side);
  const Direction* kind = direction_of(e);
  if (kind == nullptr || by_driver == trace::Side::kArray) return by_driver;
  return side == Side::kSource ? kind->from : kind->to;
}

// Surely out of the host's reach. Mappings, imports and explicit pools may lie on the host.
bool is_device_only(const Block& block, bool accepted) {
  switch (block.memory_kind) {
  case MemoryKind::kDevice:
  case MemoryKind::kPitched:
  case MemoryKind::kGraph:
  case MemoryKind::kIpc:
  case MemoryKind::kModuleGlobal: return true;
  case MemoryKind::kStreamOrdered: return block.shape().pool == 0 || !accepted;
  default: return false;
  }
}

class CopyDirection : public Detector {
public:
  explicit CopyDirection(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict> verdicts, const Heap& heap,
                Findings& findings) override {
    if (e.is_nested || heap.cuda().contexts.sticky_code() != 0) return;
    if (e.kind == EventKind::kUse) return check_node(e, verdicts, heap, findings);
    if (e.succeeded()) {
      if (e.kind == EventKind::kCopy && may_be_wrong(e, heap)) check_accepted(e, heap, findings);
      return;
    }
    if (e.result == cuda::CUDA_ERROR_INVALID_VALUE && !has_mistake(verdicts))
      check_refused(e, heap, findings);
  }

private:
  struct Wrong { // one side that is not what it was declared
    bool wrong = false;
    const Block* block = nullptr;                // null: host memory
    std::optional<StaticVariable> variable = {}; // that is there
    bool is_array = false;                       // the handle of an array, which is no address
  };

  // What CUDA refused for another reason than a direction.
  static bool has_mistake(std::span<const Verdict> verdicts) {
    for (const Verdict& j : verdicts) {
      if (j.is_mistake()) return true;
    }
    return false;
  }

  void check_node(const Event& e, std::span<const Verdict> verdicts, const Heap& heap,
                  Findings& findings) const {
    std::optional<Event> work = work_of_node(e);
    if (!work) return;
    if (e.result == cuda::CUDA_ERROR_INVALID_VALUE && !has_mistake(verdicts))
      check_refused(*work, heap, findings, true);
    if (!e.succeeded()) return;
    const Wrong to = check_node_side(*work, Side::kDestination, heap);
    const Wrong from =
      work->kind == EventKind::kCopy ? check_node_side(*work, Side::kSource, heap) : Wrong{};
    if (to.wrong || from.wrong) findings.add(finding(*work, to, from, true));
  }

  // A copy takes the handle for an address, be it declared as the host's or the device's.
  static Wrong array_at(std::uint64_t address, const Heap& heap) {
    const Block* array = heap.find_array(address).block;
    return {array != nullptr, array, {}, array != nullptr};
  }

  Wrong check_node_side(const Event& work, Side side, const Heap& heap) const {
    const std::uint64_t address = address_of(work, side);
    const trace::Side as = declared(work, side);
    if (address == 0 || (as != trace::Side::kHost && as != trace::Side::kDevice)) return {};
    if (const Wrong array = array_at(address, heap); array.wrong) return array;
    const Block* block = heap.find_live(address);
    if (as == trace::Side::kHost) return {block != nullptr && is_device_only(*block, true), block};
    if (block != nullptr) return {};
    if (const Wrong shadow = shadow_at(address); shadow.wrong) return shadow;
    const bool host = facts_.is_plain_host_memory(address) || facts_.is_static_memory(address);
    return {host && !device_reads_host_memory(work, heap), nullptr};
  }

  // Whether check_accepted() finds anything: of nearly all copies it does not.
  bool may_be_wrong(const Event& e, const Heap& heap) const {
    bool knows_to = false, knows_from = false; // CUDA's memory
    for (const Access& access : heap.accesses()) {
      const bool source = access.kind == Access::Kind::kRead;
      (source ? knows_from : knows_to) = true;
      if (declared(e, source ? Side::kSource : Side::kDestination) == trace::Side::kHost &&
          is_device_only(*access.block, true))
        return true;
    }
    return (!knows_to && is_stray(e, Side::kDestination, heap)) ||
           (!knows_from && is_stray(e, Side::kSource, heap));
  }

  bool is_stray(const Event& e, Side side, const Heap& heap) const {
    const std::uint64_t address = address_of(e, side);
    return (declared(e, side) != trace::Side::kArray &&
            heap.find_array(address).block != nullptr) ||
           facts_.is_static_memory(address);
  }

  void check_accepted(const Event& e, const Heap& heap, Findings& findings) const {
    Wrong to, from;
    bool knows_to = false, knows_from = false; // CUDA's memory
    for (const Access& access : heap.accesses()) {
      const bool source = access.kind == Access::Kind::kRead;
      (source ? knows_from : knows_to) = true;
      if (!is_device_only(*access.block, true)) continue;
      if (declared(e, source ? Side::kSource : Side::kDestination) != trace::Side::kHost) continue;
      (source ? from : to) = {true, access.block};
    }
    if (!knows_to) to = stray_at(e, Side::kDestination, heap);
    if (!knows_from) from = stray_at(e, Side::kSource, heap);
    if (to.wrong || from.wrong) findings.add(finding(e, to, from));
  }

  Wrong stray_at(const Event& e, Side side, const Heap& heap) const {
    const std::uint64_t address = address_of(e, side);
    if (declared(e, side) != trace::Side::kArray) {
      if (const Wrong array = array_at(address, heap); array.wrong) return array;
    }
    return shadow_at(address);
  }

  // Whatever is declared: no program means the host's shadow. (The device's variable has an address
  // of its own.)
  Wrong shadow_at(std::uint64_t address) const {
    if (!facts_.is_static_memory(address)) return {};
    const StaticVariable variable = facts_.static_variable(address);
    if (variable.kind != StaticVariable::Kind::kShadow) return {};
    return {true, nullptr, variable};
  }

  void check_refused(const Event& e, const Heap& heap, Findings& findings,
                     bool of_node = false) const {
    const Wrong to = check_refused_side(e, Side::kDestination, heap);
    const Wrong from =
      e.kind == EventKind::kCopy ? check_refused_side(e, Side::kSource, heap) : Wrong{};
    if (!to.wrong && !from.wrong) return;
    findings.add(finding(e, to, from, of_node));
    findings.claim_refusal();
  }

  Wrong check_refused_side(const Event& e, Side side, const Heap& heap) const {
    const std::uint64_t address = address_of(e, side);
    const trace::Side as = declared(e, side);
    if (address == 0 || (as != trace::Side::kHost && as != trace::Side::kDevice)) return {};
    if (const Wrong array = array_at(address, heap); array.wrong) return array;
    const Block* block = heap.find_live(address);
    if (block == nullptr && facts_.device_heaps().spans(address)) return {}; // heap-mixed
    if (as == trace::Side::kHost) return {block != nullptr && is_device_only(*block, false), block};
    if (block != nullptr || device_reads_host_memory(e, heap)) return {};
    Wrong host{true, nullptr, {}};
    if (facts_.is_static_memory(address)) host.variable = facts_.static_variable(address);
    return host;
  }

  bool device_reads_host_memory(const Event& e, const Heap& heap) const {
    int ordinal = heap.device_of_context(e.context);
    for (const Side side : {Side::kDestination, Side::kSource}) {
      const Block* block = ordinal < 0 ? heap.find_live(address_of(e, side)) : nullptr;
      if (block != nullptr) ordinal = heap.device_of(*block);
    }
    const DeviceFacts* device = facts_.device(ordinal < 0 ? 0 : ordinal);
    return device != nullptr && device->reads_pageable_memory;
  }

  Finding finding(const Event& e, const Wrong& to, const Wrong& from, bool of_node = false) const {
    const Direction* kind = direction_of(e);
    const std::uint64_t destination = address_of(e, Side::kDestination),
                        source = address_of(e, Side::kSource);
    Finding f;
    f.kind = "copy-direction";
    f.api = facts_.call_name(e);
    f.message = CallName{f.api};
    if (kind != nullptr) f.message += cat({" with ", kind->name});
    if (to.wrong && from.wrong) {
      f.message +=
        cat({" takes its destination for ", word(declared(e, Side::kDestination)),
             " memory and its source for ", word(declared(e, Side::kSource)), " memory, but the "});
      f.message += {"destination is ", describe(to, destination), " and the source is ",
                    describe(from, source)};
    } else {
      const Side side = to.wrong ? Side::kDestination : Side::kSource;
      f.message += {" takes its ",
                    e.kind == EventKind::kSet ? "target" : name_of(side),
                    " for ",
                    word(declared(e, side)),
                    " memory, but that is ",
                    to.wrong ? describe(to, destination) : describe(from, source)};
    }
    const std::string_view accepted =
      of_node ? "; CUDA accepted the graph's node silently" : "; CUDA accepted it silently";
    f.message += e.succeeded() ? accepted : "; CUDA refused it";
    f.advice = advice(e, to, from);
    f.address = to.wrong ? destination : source;
    f.bytes = e.kind == EventKind::kSet ? e.set().bytes : e.copy().bytes;
    f.group = cat({kind == nullptr ? "" : kind->name, to.wrong ? " destination" : "",
                   from.wrong ? " source" : ""});
    const StackRole role = e.kind == EventKind::kSet ? StackRole::kSet : StackRole::kCopied;
    f.stacks.push_back(stack_as(of_node ? StackRole::kNodeMade : role, e.stack, f.api));
    for (const Wrong* side : {&to, &from}) {
      if (side->block != nullptr) f.stacks.push_back(allocation_stack(*side->block, facts_));
    }
    return f;
  }

  static std::string_view word(trace::Side side) {
    return side == trace::Side::kHost ? "host" : "device";
  }

  static std::string_view name_of(Side side) {
    return side == Side::kDestination ? "destination" : "source";
  }

  Text describe(const Wrong& side, std::uint64_t address) const {
    if (side.is_array)
      return {"the handle of ", describe_block(*side.block, facts_), ", which is no address"};
    if (side.block != nullptr) return describe_block(*side.block, facts_);
    if (is_shadow(side)) {
      return cat({"the host's shadow of the __device__ or __constant__ variable ",
                  side.variable->name, " (", format_address(address), ")"});
    }
    return cat({"a host pointer (", format_address(address), ", in no memory that CUDA gave out)"});
  }

  static bool is_shadow(const Wrong& side) {
    return side.variable && side.variable->kind == StaticVariable::Kind::kShadow;
  }

  // What copies to or from a variable of the device; empty if the side is none for sure.
  static std::string symbol_call(const Event& e, const Wrong& to, const Wrong& from) {
    for (const Wrong* side : {&to, &from}) {
      if (!side->variable || side->variable->kind == StaticVariable::Kind::kHost) continue;
      const std::string_view copy = side == &to ? "cudaMemcpyToSymbol" : "cudaMemcpyFromSymbol";
      const std::string address = "the address that cudaGetSymbolAddress gives";
      return e.kind == EventKind::kSet ? address : cat({copy, ", or ", address});
    }
    return {};
  }

  static std::string advice(const Event& e, const Wrong& to, const Wrong& from) {
    const std::string call = symbol_call(e, to, from);
    if (to.is_array || from.is_array) return array_advice(e, to, from);
    if (is_shadow(to) || is_shadow(from)) return cat({"Use ", call, "."});
    const std::string usual = usual_advice(e, to, from);
    return call.empty()
             ? usual
             : cat({usual, " For a __device__ or __constant__ variable use ", call, "."});
  }

  static std::string array_advice(const Event& e, const Wrong& to, const Wrong& from) {
    if (e.kind == EventKind::kSet)
      return "Copy zeros to the array with cudaMemcpy2DToArray, or let a kernel write a surface of "
             "it.";
    const bool has_depth = (to.is_array && to.block->shape().depth > 1) ||
                           (from.is_array && from.block->shape().depth > 1);
    if (has_depth) return "Use cudaMemcpy3D (cuMemcpy3D), with the array in dstArray or srcArray.";
    std::string_view call = "cudaMemcpy2DToArray";
    if (from.is_array) call = to.is_array ? "cudaMemcpy2DArrayToArray" : "cudaMemcpy2DFromArray";
    return cat(
      {"Use ", call, " (cuMemcpy2D): it takes the width of a row in bytes, and the rows."});
  }

  static std::string usual_advice(const Event& e, const Wrong& to, const Wrong& from) {
    if (e.kind == EventKind::kSet) return "Pass a device pointer, or set host memory with memset.";
    const auto actual = [&](Side side, const Wrong& found) {
      if (!found.wrong) return declared(e, side);
      return found.block != nullptr ? trace::Side::kDevice : trace::Side::kHost;
    };
    const trace::Side right_to = actual(Side::kDestination, to),
                      right_from = actual(Side::kSource, from);
    for (const Direction& kind : kKinds) {
      if (kind.to != right_to || kind.from != right_from) continue;
      const std::string_view swapped = to.wrong && from.wrong
                                         ? "Swap source and destination, or if the direction is "
                                           "meant, use "
                                         : "Use ";
      return cat({swapped, kind.name, " (", kind.driver,
                  "), or cudaMemcpyDefault, which takes the direction from the pointers."});
    }
    return "Use cudaMemcpyDefault, which takes the direction from the pointers.";
  }

  const ProcessFacts& facts_;
};

const DetectorRegistration kCopyDirection{{
  .id = "copy-direction",
  .severity = Severity::kError,
  .title = "host pointer where device is declared, or the reverse",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<CopyDirection>(facts);
  },
  .wants = wants(EventKind::kCopy) | wants(EventKind::kSet) | wants(EventKind::kUse),
}};

} // namespace
} // namespace gmt
