// SPDX-License-Identifier: Apache-2.0
// One instruction of a kernel that accesses memory, and the lines of the source that it came from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gmt {

// Functions inlined into one another; more is damage
inline constexpr std::size_t kMostInlined = 256;

enum class MemoryOp : std::uint8_t {
  kLoad,
  kStore,
  kAtomic,    // with the old value returned
  kReduction, // without
  kCopy,      // global to shared memory through L1 (cp.async)
  // By the tensor memory accelerator, whose traffic CUPTI's instruction metrics do not see
  kBulkCopy,
};
enum class MemorySpace : std::uint8_t { kGlobal, kShared, kLocal, kGeneric, kConstant };

struct SourceLine {
  std::string function; // as linked; empty if unknown
  std::string file;
  std::uint32_t line = 0;

  bool operator==(const SourceLine&) const = default;
};

struct Instruction {
  std::uint32_t offset = 0; // in its function, bytes
  MemoryOp op = MemoryOp::kLoad;
  MemorySpace space = MemorySpace::kGlobal;
  std::uint32_t bytes = 0; // a thread's access: 1, 2, 4, 8, 16, 32; 0 unknown
  std::uint32_t address_register = kNoRegister;
  std::int32_t address_offset = 0; // added to the register
  std::vector<SourceLine> lines; // innermost inlined function first; empty without line information

  static constexpr std::uint32_t kNoRegister = 255;
  bool operator==(const Instruction&) const = default;
};

// A function's instructions that access memory, by offset.
struct FunctionCode {
  std::string name;       // as linked
  std::string module;     // path of the file it was found in
  bool has_lines = false; // compiled with -lineinfo or -G
  std::vector<Instruction> instructions;
};

} // namespace gmt
