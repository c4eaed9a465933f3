// SPDX-License-Identifier: Apache-2.0
// A segment is straight code from a checked access to another, without anything between that could
// not be copied. Its accesses are checked in groups, before the first of each group: what
// computes the addresses of the others is moved there. All accesses of a group are executed if the
// first is, so one branch decides for all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/syntax/ptx.h"
#include "rewriter/memory_instructions.h"

namespace gmt::rewriter {

struct Group {
  std::size_t position = 0;            // in Segment::order: the check stands before it
  std::vector<std::uint32_t> accesses; // instructions, in the order of the text
};

struct Segment {
  std::uint32_t first = 0; // instructions [first, last) of the body
  std::uint32_t last = 0;
  std::vector<std::uint32_t> order; // the same instructions as they are to stand
  std::vector<Group> groups;        // by position
};

// Whether code is copied. If not, a segment goes on behind what lanes do together, and is longer.
enum class Copied : std::uint8_t { kYes, kNo };

// `classified` has what classify() says of each instruction. Segments are in the order of the text.
std::vector<Segment> segments_of(const ptx::Module& module, const ptx::Body& body,
                                 const std::vector<Classified>& classified, Copied copied);

} // namespace gmt::rewriter
