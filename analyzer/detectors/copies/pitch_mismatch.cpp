// SPDX-License-Identifier: Apache-2.0
// pitch-mismatch: rows of pitched memory addressed as if they lay elsewhere. Three mistakes: a 2D
// or 3D call with another pitch than the allocation's, a flat copy or set over several rows of it,
// and a width larger than the pitch, which CUDA refuses. What reaches past the end is
// copy-out-of-bounds and not reported twice. Pictures keep their chroma planes behind the first
// plane of one allocation, with a half or a quarter of its pitch: no mistake. Copies and sets of
// graph nodes are checked when the node is made or changed.

#include <algorithm>
#include <optional>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/runtime_linkage.h"
#include "trace/cuda_results.h"

namespace gmt {
namespace {

using Side = Verdict::Side;

class PitchMismatch : public Detector {
public:
  explicit PitchMismatch(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict> verdicts, const Heap& heap,
                Findings& findings) override {
    if (e.is_nested) return;
    runtime_.note(e);
    if (e.kind == EventKind::kLife) return;
    of_node_ = e.kind == EventKind::kUse;
    if (of_node_) return check_node(e, verdicts, heap, findings);
    const bool shaped = is_shaped(e);
    shaped_call_ |= shaped;
    // The runtime looks at the pitch before any driver call (measured).
    if (e.result == cuda::CUDA_ERROR_INVALID_VALUE ||
        e.result == cuda::cudaErrorInvalidPitchValue) {
      if (shaped) check_refused(e, heap, findings);
      return;
    }
    if (!e.succeeded() || e.from_runtime || !verdicts.empty() || !uses_pitched(heap)) return;
    check_side(e, Side::kDestination, heap, findings);
    if (e.kind == EventKind::kCopy) check_side(e, Side::kSource, heap, findings);
  }

  void finish(const EndOfTrace&, const Heap&, Findings& findings) override {
    if (!shaped_call_ || !runtime_.is_static()) return;
    findings.not_checked(
      {"pitch-mismatch",
       "with a statically linked CUDA runtime, a 2D copy whose width is larger than its pitch "
       "is refused inside the runtime, where it cannot be seen: build with -cudart shared to have it checked"});
  }

private:
  void check_node(const Event& e, std::span<const Verdict> verdicts, const Heap& heap,
                  Findings& findings) const {
    if (!e.succeeded() || e.from_runtime || !verdicts.empty()) return;
    const std::optional<Event> work = work_of_node(e);
    if (!work) return;
    check_side(*work, Side::kDestination, heap, findings);
    if (work->kind == EventKind::kCopy) check_side(*work, Side::kSource, heap, findings);
  }

  void check_refused(const Event& e, const Heap& heap, Findings& findings) const {
    for (const Side side : {Side::kDestination, Side::kSource}) {
      if (!is_linear(e, side)) continue;
      const Rows rows = rows_of(e, side);
      // A single row needs no pitch; none is none.
      if (rows.width <= rows.pitch || (rows.pitch == 0 && rows.count() == 1)) continue;
      findings.add(width_finding(e, side, rows, heap));
      findings.claim_refusal();
      return;
    }
  }

  void check_side(const Event& e, Side side, const Heap& heap, Findings& findings) const {
    if (!is_linear(e, side)) return;
    const Block* block = pitched_block(e, side, heap);
    if (block == nullptr) return;
    const Rows rows = rows_of(e, side);
    const std::uint64_t pitch = block->shape().pitch;
    if (rows.count() > 1) {
      // Every second row, or every third, is a legal way to walk through the allocation's rows.
      if (rows.pitch % pitch != 0 && !is_smaller_plane(rows, *block))
        findings.add(rows_finding(e, side, rows, *block));
    } else if (crosses_rows(rows, *block) && !runs_between_equal_pitches(e, *block, heap)) {
      findings.add(flat_finding(e, side, rows, *block));
    }
  }

  // The pitch divides the allocation's, and before the rows there is room for a plane at least as
  // large.
  static bool is_smaller_plane(const Rows& rows, const Block& block) {
    if (rows.pitch == 0 || block.shape().pitch % rows.pitch != 0) return false;
    const std::uint64_t before = rows.address - block.address;
    return rows.count() <= before / rows.pitch;
  }

  static bool is_linear(const Event& e, Side side) {
    if (e.kind == EventKind::kSet) return side == Side::kDestination;
    return declared_side(e, side) != trace::Side::kArray;
  }

  static bool uses_pitched(const Heap& heap) {
    for (const Access& access : heap.accesses()) {
      if (access.block->memory_kind == trace::MemoryKind::kPitched) return true;
    }
    return false;
  }

  // Found among what the call used, which costs no search; a graph's node has not used
  // anything yet.
  const Block* pitched_block(const Event& e, Side side, const Heap& heap) const {
    const std::uint64_t address = address_of(e, side);
    if (of_node_) {
      const Block* block = heap.find_live(address);
      const bool pitched = block != nullptr && block->memory_kind == trace::MemoryKind::kPitched;
      return pitched && block->shape().pitch != 0 ? block : nullptr;
    }
    for (const Access& access : heap.accesses()) {
      if (access.address == address && access.block->memory_kind == trace::MemoryKind::kPitched &&
          access.block->shape().pitch != 0) {
        return access.block;
      }
    }
    return nullptr;
  }

  // More than one row, and not whole ones. The last may end with its width or anywhere in its
  // padding. As many bytes as the matrix has without padding are meant for it, even if they happen
  // to be whole pitches.
  static bool crosses_rows(const Rows& rows, const Block& block) {
    const BlockDetail& shape = block.shape();
    const std::uint64_t in_row = (rows.address - block.address) % shape.pitch;
    if (rows.width <= shape.pitch - in_row) return false;
    const std::uint64_t rest = rows.width % shape.pitch;
    const std::uint64_t dense = block.bytes / shape.pitch * shape.width;
    return in_row != 0 || (rest != 0 && rest < shape.width) ||
           (rows.width == dense && dense != block.bytes);
  }

  // Cloning pitched memory into memory with the same pitch and offset in the row keeps every row
  // whole.
  bool runs_between_equal_pitches(const Event& e, const Block& block, const Heap& heap) const {
    if (e.kind != EventKind::kCopy) return false;
    const Block* to = pitched_block(e, Side::kDestination, heap);
    const Block* from = pitched_block(e, Side::kSource, heap);
    const std::uint64_t pitch = block.shape().pitch;
    return to != nullptr && from != nullptr && to->shape().pitch == from->shape().pitch &&
           (address_of(e, Side::kDestination) - to->address) % pitch ==
             (address_of(e, Side::kSource) - from->address) % pitch;
  }

  Finding width_finding(const Event& e, Side side, const Rows& rows, const Heap& heap) const {
    Finding f = begin_finding(e, side, rows);
    f.message = {CallName{f.api},
                 " asks for rows of ",
                 format_exact_bytes(rows.width),
                 " at a ",
                 e.kind == EventKind::kSet ? "" : name_of(side),
                 "pitch of ",
                 format_exact_bytes(rows.pitch),
                 ": a row cannot be wider than the way to the next, and CUDA refused the call"};
    f.advice =
      "Give the width of a row in bytes, without padding, and for each side the pitch of that side's own "
      "memory.";
    f.group += " width";
    f.stacks.push_back(stack_as(StackRole::kFailed, e.stack, f.api));
    if (const Block* block = heap.find_live(rows.address))
      f.stacks.push_back(allocation_stack(*block, facts_));
    return f;
  }

  Finding rows_finding(const Event& e, Side side, const Rows& rows, const Block& block) const {
    Finding f = begin_finding(e, side, rows);
    const std::string pitch = format_count(block.shape().pitch);
    f.message = {CallName{f.api},
                 verb_of(e, side),
                 format_plural(rows.count(), "row"),
                 " of ",
                 format_exact_bytes(rows.width),
                 " at a pitch of ",
                 format_count(rows.pitch),
                 " in ",
                 describe_block(block, facts_),
                 " with a pitch of ",
                 pitch,
                 ": all rows but the first are ",
                 side == Side::kSource ? "taken from" : "put in",
                 " the wrong place"};
    f.advice = {"Pass the pitch that ",
                CallName{facts_.api_name(block.api)},
                " returned (",
                pitch,
                ")",
                side == Side::kSource ? " as the source pitch." : "."};
    add_stacks(f, e, block);
    return f;
  }

  Finding flat_finding(const Event& e, Side side, const Rows& rows, const Block& block) const {
    Finding f = begin_finding(e, side, rows);
    const BlockDetail& shape = block.shape();
    const bool set = e.kind == EventKind::kSet;
    f.message = {
      CallName{f.api},
      verb_of(e, side),
      format_exact_bytes(rows.width),
      " in one piece over the rows of ",
      describe_block(block, facts_),
      " (rows of ",
      format_count(shape.width),
      " at a pitch of ",
      format_count(shape.pitch),
      ")",
      set
        ? ": it starts or ends inside a row, and counts the padding as data"
        : ": the padding between rows is taken for data, so that all rows but the first are misplaced"};
    f.advice = set ? "Set rows with cudaMemset2D, or whole pitches (pitch x height bytes)."
                   : cat({"Copy rows with cudaMemcpy2D, giving ", format_count(shape.pitch),
                          " as the pitch of this side and the other side's own pitch there."});
    f.group += " flat";
    add_stacks(f, e, block);
    return f;
  }

  Finding begin_finding(const Event& e, Side side, const Rows& rows) const {
    Finding f;
    f.kind = "pitch-mismatch";
    f.severity = Severity::kWarning;
    f.address = rows.address;
    f.api = facts_.call_name(e);
    f.group = name_of(side);
    return f;
  }

  void add_stacks(Finding& f, const Event& e, const Block& block) const {
    const StackRole role = e.kind == EventKind::kSet ? StackRole::kSet : StackRole::kCopied;
    f.stacks.push_back(stack_as(of_node_ ? StackRole::kNodeMade : role, e.stack, f.api));
    f.stacks.push_back(allocation_stack(block, facts_));
  }

  static std::string_view name_of(Side side) {
    return side == Side::kSource ? "source " : "destination ";
  }
  static std::string_view verb_of(const Event& e, Side side) {
    if (e.kind == EventKind::kSet) return " sets ";
    return side == Side::kSource ? " reads " : " writes ";
  }

  const ProcessFacts& facts_;
  bool shaped_call_ = false; // a 2D or 3D call was seen
  bool of_node_ = false;     // what is checked is the work of a graph's node
  RuntimeLinkage runtime_;
};

const DetectorRegistration kPitchMismatch{{
  .id = "pitch-mismatch",
  .severity = Severity::kWarning,
  .title = "call whose rows are not the allocation's rows",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<PitchMismatch>(facts);
  },
  .wants = wants(EventKind::kCopy) | wants(EventKind::kSet) | wants(EventKind::kUse) |
           wants(EventKind::kLife),
}};

} // namespace
} // namespace gmt
