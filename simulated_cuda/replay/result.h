// SPDX-License-Identifier: Apache-2.0
// What a replayed launch left in memory, against what the GPU left there.
#pragma once

#include "trace/capture_file.h"

#include <cstdint>
#include <string>

namespace gmt::replay {

class Textures;

struct Comparison {
  bool could_read = true;
  std::uint64_t changed = 0;          // bytes that the launch changed on the GPU
  std::uint64_t compared = 0;         // bytes
  std::uint64_t different = 0;        // bytes
  std::uint64_t different_blocks = 0; // with such bytes
  // Of the first one
  std::string where; // in words
  std::uint64_t offset = 0;
  std::uint8_t on_gpu = 0, here = 0;
};
Comparison compare(const trace::Capture& capture, const Textures& textures);

// What in the kernel makes its result uncertain, or is not in a capture: parts of a sentence,
// separated by commas. Empty: nothing is known.
std::string reasons_to_differ(const trace::Capture& capture);

} // namespace gmt::replay
