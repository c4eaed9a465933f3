// SPDX-License-Identifier: Apache-2.0
// copy-out-of-bounds: a copy or set that passes the end of what was requested, whatever CUDA
// answered, or that begins before a block or behind one; likewise past the extent of an array. The
// verdict and the byte count are the heap's.
//
// A texture that is larger than its block is a warning. CUDA makes it, and a fetch behind the block
// returns other memory or 0, and no error (H100, driver 580).

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {
namespace {

class CopyOutOfBounds : public Detector {
public:
  explicit CopyOutOfBounds(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict> verdicts, const Heap& heap,
                Findings& findings) override {
    if (e.kind == EventKind::kUse) check_texture(e, heap, findings);
    for (const Verdict& j : verdicts) {
      if (j.kind == Verdict::Kind::kOutOfBounds) findings.add(finding(e, j, heap));
    }
  }

private:
  Finding finding(const Event& e, const Verdict& j, const Heap& heap) const {
    const Block& block = *j.block;
    const std::string_view call = facts_.call_name(e);
    const bool source = j.side == Verdict::Side::kSource;
    Finding f;
    f.kind = "copy-out-of-bounds";
    f.message = {CallName{call}, source ? " reads " : " writes "};
    if (is_array(block)) describe_extents(f, work_of_node(e).value_or(e), j, heap);
    else if (j.bytes_before != 0 || j.offset >= block.bytes) describe_begin(f, j);
    else describe_end(f, e, j);
    f.bytes = j.bytes_past;
    f.address = j.range_begin;
    f.api = call;
    f.group = source ? "source" : "destination";
    if (j.bytes_before != 0) f.group += " before";
    f.stacks.push_back(stack_as(role_of(e.kind), e.stack, call));
    f.stacks.push_back(allocation_stack(block, facts_));
    return f;
  }

  void check_texture(const Event& e, const Heap& heap, Findings& findings) const {
    const event::Use& use = e.use();
    if (use.use != trace::UseClass::kTexture || !e.succeeded()) return;
    const Rows rows = rows_of(e, Verdict::Side::kNone);
    // cudaBindTexture's default size means all of the memory
    const std::uint64_t linear = use.bytes != UINT32_MAX ? use.bytes : 0;
    const std::uint64_t extent =
      rows.pitch != 0 && rows.height != 0 ? (rows.height - 1) * rows.pitch + rows.width : linear;
    const Block* block = heap.find_live(use.address);
    if (block == nullptr || block->bytes == 0 || !is_one_piece(block->memory_kind)) return;
    const std::uint64_t left = block->address + block->bytes - use.address;
    if (extent > left) findings.add(texture_finding(e, *block, extent, extent - left));
  }

  Finding texture_finding(const Event& e, const Block& block, std::uint64_t extent,
                          std::uint64_t past) const {
    const std::string_view call = facts_.call_name(e);
    Finding f;
    f.kind = "copy-out-of-bounds";
    f.severity = Severity::kWarning;
    f.message = {CallName{call},           " makes a texture of ", format_exact_bytes(extent), ", ",
                 format_exact_bytes(past), " past the end of ",    block_words(block)};
    f.advice =
      "Give the texture no more than the block: a fetch behind it returns other memory or 0, and no "
      "error.";
    f.bytes = past;
    f.address = block.address + block.bytes;
    f.api = call;
    f.group = "texture";
    f.stacks.push_back(stack_as(StackRole::kUsed, e.stack, call));
    f.stacks.push_back(allocation_stack(block, facts_));
    return f;
  }

  // Not so are mappings, of which several may lie side by side.
  static bool is_one_piece(trace::MemoryKind kind) {
    using trace::MemoryKind;
    return kind == MemoryKind::kDevice || kind == MemoryKind::kPitched ||
           kind == MemoryKind::kStreamOrdered || kind == MemoryKind::kManaged;
  }

  static StackRole role_of(EventKind kind) {
    if (kind == EventKind::kSet) return StackRole::kSet;
    return kind == EventKind::kUse ? StackRole::kNodeMade : StackRole::kCopied;
  }

  static bool is_array(const Block& block) {
    return block.memory_kind == trace::MemoryKind::kArray ||
           block.memory_kind == trace::MemoryKind::kMipmappedArray;
  }

  // "a block of 1,000 bytes of device memory allocated by cudaMalloc"
  Text block_words(const Block& block) const {
    if (is_tensor(block)) return describe_block(block, facts_);
    return {"a block of ", size_of(block),        " of ", memory_noun(block.memory_kind),
            " ",           allocated_word(block), " by ", CallName{facts_.api_name(block.api)}};
  }

  void describe_end(Finding& f, const Event& e, const Verdict& j) const {
    const Block& block = *j.block;
    const std::string at =
      j.offset == 0 ? std::string() : cat({" at offset ", format_count(j.offset)});
    f.message += {format_exact_bytes(j.bytes_past),
                  " past the end of its ",
                  j.side == Verdict::Side::kSource ? "source" : "destination",
                  ": ",
                  format_exact_bytes(j.range_bytes),
                  at,
                  " of ",
                  block_words(block)};
    f.advice =
      block.shape().pitch != 0 || is_shaped(e)
        ? "Check width, height and pitch: the last row needs its width only, all rows before it the pitch."
        : cat({e.kind == EventKind::kSet ? "Set" : "Copy", " at most ",
               format_exact_bytes(block.bytes - j.offset), ", or allocate ",
               format_exact_bytes(j.bytes_past), " more: sizes are in bytes, not elements."});
  }

  // The range begins in no memory.
  void describe_begin(Finding& f, const Verdict& j) const {
    const Block& block = *j.block;
    const std::uint64_t behind = j.bytes_before == 0 ? j.offset - block.bytes : 0;
    std::string begins = "exactly at the end of ";
    if (j.bytes_before != 0) begins = cat({format_exact_bytes(j.bytes_before), " before "});
    else if (behind != 0) begins = cat({format_exact_bytes(behind), " past the end of "});
    f.message += {format_exact_bytes(j.range_bytes), " that begin ", begins, block_words(block)};
    f.advice =
      j.bytes_before != 0
        ? "Check the offset that is subtracted from the pointer: the block begins at its first byte."
        : "Check the offset that is added to the pointer: it counts elements of the pointer's type.";
  }

  // "cudaMemcpy2DToArray writes 8 rows of 256 bytes at row 60, past the extent of its destination:
  // an array of ..."
  void describe_extents(Finding& f, const Event& call, const Verdict& j, const Heap& heap) const {
    const Heap::ArrayPart part = heap.find_array(j.range_begin);
    const Box box = box_of(call, j.side).value_or(Box{});
    std::string at;
    const auto add = [&at](std::string_view what, std::uint64_t number) {
      if (number != 0) at += cat({at.empty() ? " at " : ", ", what, " ", format_count(number)});
    };
    add("byte", box.x);
    add("row", box.y);
    add("slice", box.z);
    const bool is_level = j.block->memory_kind == trace::MemoryKind::kMipmappedArray;
    const std::string whole = extent(part.width, part.height, part.depth);
    f.message +=
      {extent(box.width, box.height, box.depth),
       at,
       ", past the extent of its ",
       j.side == Verdict::Side::kSource ? "source: " : "destination: ",
       is_level ? cat({"level ", std::to_string(part.level), " (", whole, ") of a mipmapped array"})
                : cat({"an array of ", whole}),
       " allocated by ",
       CallName{facts_.api_name(j.block->api)}};
    f.advice =
      is_level
        ? "Keep offset and extent inside the level: each is half as large as the one before."
        : "Keep offset and extent inside the array: its width counts elements, of a copy's bytes.";
  }

  // "8 rows of 256 bytes", "256 bytes", "4 slices of 8 rows of 256 bytes"
  static std::string extent(std::uint64_t width, std::uint64_t height, std::uint64_t depth) {
    std::string text = width != 0 ? format_exact_bytes(width) : "unknown width";
    if (height > 1 || depth > 1) text = cat({format_plural(height, "row"), " of ", text});
    if (depth > 1) text = cat({format_plural(depth, "slice"), " of ", text});
    return text;
  }

  // "1,000 bytes", or "1,024 bytes (4 rows at a pitch of 256)".
  static std::string size_of(const Block& block) {
    const BlockDetail& shape = block.shape();
    const std::string bytes = format_exact_bytes(block.bytes);
    if (shape.pitch == 0) return bytes;
    return cat({bytes, " (", format_plural(block.bytes / shape.pitch, "row"), " at a pitch of ",
                format_count(shape.pitch), ")"});
  }

  const ProcessFacts& facts_;
};

const DetectorRegistration kCopyOutOfBounds{{
  .id = "copy-out-of-bounds",
  .severity = Severity::kError,
  .title = "copy or set past the end or before the beginning of an allocation",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<CopyOutOfBounds>(facts);
  },
  .wants = kWantsMistakes | wants(EventKind::kUse),
}};

} // namespace
} // namespace gmt
