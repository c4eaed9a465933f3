// SPDX-License-Identifier: Apache-2.0
// uninitialized-read: a copy reads device memory that nothing we saw ever wrote. The simulated
// device knows what was written; there this looks at arrays alone. What copies and
// sets wrote is kept as ranges, only for blocks that no kernel, texture or other process can have
// written instead: those are taken for written. 2D writes count as written from their first to
// their last byte, with the padding behind it. Arrays are kept likewise, as if their rows lay one
// behind another. Each byte is reported once.
//
// It is an error where the copy goes to the host and no kernel can have written the block after
// all: none was launched since its allocation, and those from before are done when the copy reads
// (it is ordered behind them, or the host has waited for them), or were given device memory only,
// as their arguments show, that nothing wrote to while they ran and the block was there, in a
// program without __managed__ variables (RunningKernels). It is a note otherwise.
//
// Invariants: at most ByteRanges::kMost ranges a block, and as many blocks as are alive (within a
// factor of two).

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/byte_ranges.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/running_kernels.h"
#include "analyzer/detectors/shared/unwritten_read.h"

namespace gmt {
namespace {

using trace::MemoryKind;

constexpr std::size_t kFirstSweep = 4096; // blocks kept before the first look for dead ones

// One side of a copy in an array; of width 0 where it is not known.
Rows rows_in_array(const Event& copy, const Access& access, const Heap& heap) {
  const bool reads = access.kind == Access::Kind::kRead;
  const auto side = reads ? Verdict::Side::kSource : Verdict::Side::kDestination;
  const Heap::ArrayPart part = heap.find_array(access.address);
  const std::optional<Box> box = box_of(copy, side);
  if (part.width == 0 || !box) return {};
  return {.address = part.offset + (box->z * part.height + box->y) * part.width + box->x,
          .pitch = part.width,
          .width = box->width,
          .height = box->height,
          .depth = box->depth,
          .slice = part.height};
}

std::uint64_t end_of(const Rows& rows) {
  return rows.address + ((rows.depth - 1) * rows.slice + rows.height - 1) * rows.pitch + rows.width;
}

// What a copy reads of a block, row by row: padding between rows is no data, and no copy writes it.
class Reading {
public:
  Reading(const Event& copy, const Access& access, const Heap& heap)
      : begin_(access.address),
        end_(std::min(access.address + access.bytes, access.block->address + access.block->bytes)),
        rows_(rows_of(copy, Verdict::Side::kSource)) {
    if (is_array(*access.block)) {
      rows_ = rows_in_array(copy, access, heap);
      begin_ = rows_.width != 0 ? rows_.address : 0;
      end_ = rows_.width != 0 ? std::min(end_of(rows_), access.block->bytes) : 0;
      return;
    }
    const BlockDetail& shape = access.block->shape();
    if (rows_.pitch != 0 || shape.pitch == 0) return;
    rows_ = {.address = access.block->address, .pitch = shape.pitch, .width = shape.width};
    rows_.height = rows_.slice = access.block->bytes / shape.pitch; // of all slices
  }

  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }

  struct Bytes {
    std::uint64_t read = 0, missing = 0;
  };
  Bytes bytes(const ByteRanges& written) const {
    if (end_ <= begin_) return {};
    const Bytes flat{end_ - begin_, written.missing(begin_, end_)};
    if (flat.missing == 0 || rows_.pitch <= rows_.width) return flat;
    if (rows_.count() > kMostRows) return {};
    Bytes all;
    for (std::uint64_t row = 0; row < rows_.count(); ++row) {
      const std::uint64_t slice = row / rows_.height * rows_.slice;
      const std::uint64_t at = rows_.address + (slice + row % rows_.height) * rows_.pitch;
      const std::uint64_t from = std::max(at, begin_), to = std::min(at + rows_.width, end_);
      if (from >= to) continue;
      all.read += to - from;
      all.missing += written.missing(from, to);
    }
    return all;
  }

private:
  static constexpr std::uint64_t kMostRows = 1 << 16; // more are taken for written

  std::uint64_t begin_, end_;
  Rows rows_;
};

class UninitializedRead : public Detector {
public:
  explicit UninitializedRead(const ProcessFacts& facts)
      : facts_(facts), sees_copies_(facts.sees_unwritten_copies()), kernels_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap, Findings&) override {
    if (e.kind != EventKind::kCopy && e.kind != EventKind::kSet) return kernels_.follow(e, heap);
    follow_bytes(e, heap);
    kernels_.follow(e, heap);
  }

  void follow_bytes(const Event& e, const Heap& heap) {
    if (!e.succeeded() || e.is_nested) return;
    for (const Access& access : heap.accesses()) { // before what the same copy writes
      if (access.kind == Access::Kind::kRead && may_check(*access.block, heap))
        check(e, access, heap);
    }
    for (const Access& access : heap.accesses()) {
      if (access.kind == Access::Kind::kWrite && may_check(*access.block, heap))
        note_write(e, access, heap);
    }
  }

  void finish(const EndOfTrace& end, const Heap& heap, Findings& findings) override {
    if (found_.empty()) return;
    if (std::string why = why_uses_are_unseen(end, facts_, heap); !why.empty()) {
      findings.not_checked({"uninitialized-read", std::move(why)});
      return;
    }
    for (Finding& finding : found_) findings.add(std::move(finding));
  }

private:
  struct Entry {
    std::uint64_t allocated_at = 0;
    bool of_array = false;
    ByteRanges ranges;
  };
  using Key = std::array<std::uint64_t, 4>; // what equal findings have in common

  bool may_check(const Block& block, const Heap& heap) const {
    if ((block.flags & (kWasArgument | kWasBound | kWasExported)) != 0) return false; // most
    return (is_array(block) || !sees_copies_) && is_unshared(block, heap, facts_);
  }

  void note_write(const Event& e, const Access& access, const Heap& heap) {
    ByteRanges& ranges = written(*access.block, heap);
    if (is_array(*access.block)) {
      const Rows rows = rows_in_array(e, access, heap);
      const bool known = rows.width != 0 && end_of(rows) > rows.address;
      ranges.add(known ? rows.address : 0, known ? end_of(rows) : UINT64_MAX);
      return;
    }
    const auto side = Verdict::Side::kDestination;
    const Rows rows = is_shaped(e) ? rows_of(e, side) : Rows{};
    // What is behind the last row is no data
    const bool padded = rows.count() > 1 && rows.pitch > rows.width;
    const std::uint64_t padding = padded ? rows.pitch - rows.width : 0;
    const std::uint64_t end = access.address + access.bytes + padding;
    if (access.bytes != 0 && end > access.address) ranges.add(access.address, end);
  }

  ByteRanges& written(const Block& block, const Heap& heap) {
    if (blocks_.size() >= sweep_at_) sweep(heap);
    Entry& entry = blocks_[block.address];
    if (entry.allocated_at != block.allocated_at) entry = {block.allocated_at, is_array(block), {}};
    return entry.ranges;
  }

  void sweep(const Heap& heap) {
    std::erase_if(blocks_, [&](const auto& entry) {
      const Block* block =
        entry.second.of_array ? heap.find_array(entry.first).block : heap.find_live(entry.first);
      return block == nullptr || block->allocated_at != entry.second.allocated_at ||
             !may_check(*block, heap);
    });
    sweep_at_ = std::max(kFirstSweep, 2 * blocks_.size());
  }

  void check(const Event& e, const Access& access, const Heap& heap) {
    if (heap.is_capturing(e, e.copy().stream)) return; // reads when its graph is launched
    const Block& block = *access.block;
    const Reading reading(e, access, heap);
    ByteRanges& ranges = written(block, heap);
    const Reading::Bytes bytes = reading.bytes(ranges);
    if (bytes.missing == 0) return;
    ranges.add(reading.begin(), reading.end()); // reported once
    const Writer writer = writer_of(block, e, heap, kernels_);
    // Growing a buffer moves its unused part along: only what leaves the device is surely a
    // mistake.
    const bool sure = writer == Writer::kNone && goes_to_host(e, heap);
    // Reported at the end, when it is known that no record was lost; added up until then.
    const std::uint64_t call = e.via != trace::kNoApi ? e.via : e.api;
    const std::uint64_t range = facts_.groups_by_range() ? facts_.ranges().here() : 0;
    const Key key{e.stack.value, block.allocated.value, call << 16 | block.api,
                  range << 1 | (sure ? 1 : 0)};
    const auto [at, is_new] = by_stacks_.try_emplace(key, found_.size());
    if (is_new) {
      found_.push_back(finding(e, block, bytes, sure, writer));
      found_.back().address = is_array(block) ? access.address : reading.begin();
    } else {
      ++found_[at->second].count;
      found_[at->second].bytes += bytes.missing;
    }
  }

  Finding finding(const Event& e, const Block& block, const Reading::Bytes& bytes, bool sure,
                  Writer writer) const {
    UnwrittenRead read{.block = block, .stack = e.stack, .api = std::string(facts_.call_name(e))};
    read.bytes = bytes.read;
    read.missing = bytes.missing;
    read.severity = sure ? Severity::kError : Severity::kNote;
    read.why =
      is_array(block) ? "no copy, and no surface was made of it" : what_wrote_nothing(writer);
    return unwritten_read(read, facts_);
  }

  const ProcessFacts& facts_;
  const bool sees_copies_; // the device says which copies read what nothing wrote
  RunningKernels kernels_;
  std::unordered_map<std::uint64_t, Entry> blocks_; // by address or handle
  std::size_t sweep_at_ = kFirstSweep;
  std::vector<Finding> found_;
  std::map<Key, std::size_t> by_stacks_; // in found_
};

const DetectorRegistration kUninitializedRead{{
  .id = "uninitialized-read",
  .severity = Severity::kError,
  .title = "copy of device memory that nothing wrote",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<UninitializedRead>(facts);
  },
  .wants = RunningKernels::kWanted,
}};

} // namespace
} // namespace gmt
