// SPDX-License-Identifier: Apache-2.0
// Decodes the machine code of a kernel (SASS, sm_70 to sm_12x) as far as memory goes: which
// instructions access memory, how, and from which register they take the address.
//
// NVIDIA does not document the encoding. What is here was learnt from what nvdisasm 13.5 prints for
// compiled and for varied encodings, and is kept as data: one row for an opcode. Constant memory,
// textures, surfaces, tensor memory, prefetches and cache control are no accesses here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/device_code/instruction.h"

namespace gmt {

inline constexpr std::size_t kInstructionBytes = 16;

// `architecture` is major * 10 + minor. Nothing if the instruction does not access memory. Offset
// and lines are left empty.
std::optional<Instruction> decode_instruction(std::uint64_t low, std::uint64_t high,
                                              unsigned architecture);

// All of a function's, by offset. A rest of less than an instruction is ignored.
std::vector<Instruction> decode_function(std::span<const char> code, unsigned architecture);

} // namespace gmt
