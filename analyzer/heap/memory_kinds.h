// SPDX-License-Identifier: Apache-2.0
// CUDA's rules about kinds of memory as plain functions: names, which release fits which
// allocation, and which bytes a copy or set reaches.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "analyzer/heap/block.h"
#include "analyzer/heap/verdict.h"
#include "analyzer/model/event.h"

namespace gmt {

// "device memory", "pinned host memory", ...
std::string_view memory_noun(trace::MemoryKind memory_kind);
// "cudaFreeHost" / "cuMemFreeHost"
std::string_view right_release(trace::MemoryKind memory_kind, bool runtime);
bool release_fits(trace::FreeFunction function, trace::MemoryKind memory_kind);
constexpr bool can_leak(trace::MemoryKind memory_kind) {
  return !is_static(memory_kind) && memory_kind != trace::MemoryKind::kGraphics &&
         memory_kind != trace::MemoryKind::kTensor;
}

// Rows as a call describes them: one linear side of a copy or set, or what a texture binds. A flat
// call is one row. Row i of slice z starts at address + (z * slice + i) * pitch.
struct Rows {
  std::uint64_t address = 0;
  std::uint64_t pitch = 0; // 0: none given
  std::uint64_t width = 0; // in bytes
  std::uint64_t height = 1, depth = 1;
  std::uint64_t slice = 1;     // rows from one slice to the next
  std::uint64_t element = 0;   // 0 unknown
  std::uint64_t count() const; // height x depth
};
Rows rows_of(const Event& call, Verdict::Side side); // the side matters for copies alone
inline trace::Side declared_side(const Event& copy, Verdict::Side side) {
  return side == Verdict::Side::kSource ? copy.copy().source_side : copy.copy().destination_side;
}
inline std::uint64_t address_of(const Event& call, Verdict::Side side) { // of a copy or set
  if (call.kind != EventKind::kCopy) return call.subject().first;
  return side == Verdict::Side::kSource ? call.copy().source : call.copy().destination;
}

// The part of an array that one side of a copy names: bytes of a row, rows and slices. A width of 0
// is not known.
struct Box {
  std::uint64_t x = 0, y = 0, z = 0;
  std::uint64_t width = 0, height = 1, depth = 1;
};
// Nothing where the record has no such part
std::optional<Box> box_of(const Event& copy, Verdict::Side side);

// What a handle of an array, or of a level or plane of one, names. The width is 0 where the extents
// are not known: block-compressed and planar formats, levels in traces before 1.5.
struct ArrayPart {
  const Block* block = nullptr;                   // the live array
  std::uint64_t level = 0;                        // or plane
  std::uint64_t width = 0, height = 1, depth = 1; // in bytes, rows and slices
  std::uint64_t offset = 0;                       // bytes of the levels before
};

// What a graph's node does when it runs, as the same call on a stream is recorded: its copy, from
// the record of the destination, or its set. Nothing from other records, and of copies in traces
// before 1.5.
std::optional<Event> work_of_node(const Event& use);

// Bytes from the first to the last byte that one side of a copy accesses, padding of the last row
// left out.
std::uint64_t extent_of_rows(const Event& call, Verdict::Side side);
inline std::uint64_t copy_extent(const Event& copy, Verdict::Side side) {
  return !copy.copy().is_shaped ? copy.copy().bytes : extent_of_rows(copy, side);
}
inline std::uint64_t set_extent(const Event& set) {
  return !set.set().is_shaped ? set.set().bytes : extent_of_rows(set, Verdict::Side::kDestination);
}

} // namespace gmt
