// SPDX-License-Identifier: Apache-2.0
// See place.h.
#include "simulated_cuda/executor/checks/place.h"

namespace gmt::executor {

Extent thread_extent(const Launch& launch, std::uint32_t thread) {
  Extent extent;
  extent.x = thread % launch.block.x;
  extent.y = thread / launch.block.x % launch.block.y;
  extent.z = thread / launch.block.x / launch.block.y;
  return extent;
}

Place place_of(const Code& code, std::uint32_t source) {
  Place place;
  place.function = code.name;
  if (source == ptx::kNone) return place;
  const ptx::Instruction& instruction = code.body->instructions[source];
  place.ptx_line = code.module->text_line(instruction.text_offset);
  place.instruction = code.module->text().substr(instruction.text_offset, instruction.text_size);
  for (char& c : place.instruction) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  for (const ptx::SourceFrame& frame : code.body->lines.stack(*code.module, instruction.line)) {
    SourceLine line;
    line.function = frame.function;
    line.file = frame.file;
    line.line = frame.line;
    place.lines.push_back(line);
  }
  return place;
}

} // namespace gmt::executor
