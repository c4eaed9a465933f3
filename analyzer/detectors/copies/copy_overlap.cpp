// SPDX-License-Identifier: Apache-2.0
// copy-overlap: source and destination of one copy share bytes. CUDA copies in no defined order, so
// what arrives is undefined, and it says nothing (measured). Checked by the exact rows of 2D and 3D
// copies: columns of one matrix lie between each other without overlapping. A copy onto itself
// changes nothing and is a note.

#include <algorithm>
#include <cstdint>
#include <optional>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/rows_overlap.h"

namespace gmt {
namespace {

using Side = Verdict::Side;

bool ranges_overlap(std::uint64_t a, std::uint64_t b, std::uint64_t bytes) {
  return (a > b ? a - b : b - a) < bytes;
}

class CopyOverlap : public Detector {
public:
  explicit CopyOverlap(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap,
                Findings& findings) override {
    if (!e.succeeded() || e.is_nested) return;
    if (e.kind == EventKind::kCopy) return check(e, e, heap, findings);
    const std::optional<Event> copy = work_of_node(e);
    if (copy && copy->kind == EventKind::kCopy) check(e, *copy, heap, findings);
  }

private:
  // A copy, made by this call or by the node that it adds to a graph.
  void check(const Event& e, const Event& copy, const Heap& heap, Findings& findings) const {
    const event::Copy& view = copy.copy();
    const bool flat = !view.is_shaped;
    if (flat && !ranges_overlap(view.destination, view.source, view.bytes)) return; // nearly all
    const int arrays = (declared_side(copy, Side::kDestination) == trace::Side::kArray ? 1 : 0) +
                       (declared_side(copy, Side::kSource) == trace::Side::kArray ? 1 : 0);
    if (arrays == 2) return check_arrays(e, copy, heap, findings);
    if (arrays != 0) return;
    const Rows to = rows_of(copy, Side::kDestination), from = rows_of(copy, Side::kSource);
    if (overlap(to, from)) findings.add(finding(e, to, from, heap));
  }

  // Levels and planes have handles of their own; one may be asked for several times.
  static bool is_same_part(const Event& copy, const Heap::ArrayPart& to,
                           const Heap::ArrayPart& from) {
    if (copy.copy().destination == copy.copy().source) return true;
    return to.block == from.block && to.width != 0 && from.width != 0 && to.level == from.level;
  }

  void check_arrays(const Event& e, const Event& copy, const Heap& heap, Findings& findings) const {
    const std::optional<Box> to = box_of(copy, Side::kDestination),
                             from = box_of(copy, Side::kSource);
    const event::Copy& view = copy.copy();
    const Heap::ArrayPart part = heap.find_array(view.destination);
    if (!to || !from || view.bytes == 0 || part.block == nullptr) return;
    if (!is_same_part(copy, part, heap.find_array(view.source))) return;
    const bool overlaps = ranges_overlap(to->x, from->x, to->width) &&
                          ranges_overlap(to->y, from->y, to->height) &&
                          ranges_overlap(to->z, from->z, to->depth);
    if (!overlaps) return;
    const std::string what =
      to->depth > 1 || to->height > 1
        ? cat({format_plural(to->height * to->depth, "row"), " of ", format_exact_bytes(to->width)})
        : format_exact_bytes(to->width);
    Finding f =
      begin_finding(e, view.destination, to->x == from->x && to->y == from->y && to->z == from->z);
    f.message = {CallName{f.api}, " copies ", what};
    f.message += f.severity == Severity::kNote
                   ? cat({position(*to), " of an array onto themselves"})
                   : cat({" inside one array, from", position(*from), " to", position(*to),
                          ", and these overlap: what arrives is undefined"});
    add_stacks(f, e, part.block);
    findings.add(std::move(f));
  }

  // " byte 0 of row 8", with the slice where it is not the first
  static std::string position(const Box& box) {
    return cat({" byte ", format_count(box.x), " of row ", format_count(box.y),
                box.z != 0 ? cat({" in slice ", format_count(box.z)}) : std::string()});
  }

  Finding begin_finding(const Event& e, std::uint64_t address, bool self) const {
    Finding f;
    f.kind = "copy-overlap";
    f.api = facts_.call_name(e);
    f.address = address;
    f.group = self ? "self" : "";
    if (self) f.severity = Severity::kNote;
    f.advice =
      self
        ? "Leave the call out: it changes nothing."
        : "Copy through a buffer apart from both: CUDA copies in no defined order, unlike memmove.";
    return f;
  }

  void add_stacks(Finding& f, const Event& e, const Block* block) const {
    const bool node = e.kind == EventKind::kUse;
    f.stacks.push_back(stack_as(node ? StackRole::kNodeMade : StackRole::kCopied, e.stack, f.api));
    if (block != nullptr) f.stacks.push_back(allocation_stack(*block, facts_));
  }

  Finding finding(const Event& e, const Rows& to, const Rows& from, const Heap& heap) const {
    const bool self = to.address == from.address &&
                      (to.count() == 1 || (to.pitch == from.pitch && to.slice == from.slice));
    const std::string what =
      to.count() == 1
        ? format_exact_bytes(to.width)
        : cat({format_plural(to.count(), "row"), " of ", format_exact_bytes(to.width)});
    Finding f = begin_finding(e, to.address, self);
    f.message = {CallName{f.api}, " copies ", what};
    if (self) {
      f.message += cat({" at ", format_address(to.address), " onto themselves"});
    } else {
      f.message +=
        cat({" from ", format_address(from.address), " to ", format_address(to.address), ", "});
      if (to.count() == 1) {
        const std::uint64_t apart =
          std::max(to.address, from.address) - std::min(to.address, from.address);
        f.bytes = to.width - apart;
        f.message +=
          cat({"which overlap in ", format_exact_bytes(f.bytes), ": what arrives is undefined"});
      } else {
        f.message +=
          "and rows of the source overlap rows of the destination: what arrives is undefined";
      }
    }
    add_stacks(f, e, heap.find_live(to.address));
    return f;
  }

  const ProcessFacts& facts_;
};

const DetectorRegistration kCopyOverlap{{
  .id = "copy-overlap",
  .severity = Severity::kError,
  .title = "source and destination of a copy overlap",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<CopyOverlap>(facts);
  },
  .wants = wants(EventKind::kCopy) | wants(EventKind::kUse),
}};

} // namespace
} // namespace gmt
