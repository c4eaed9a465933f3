// SPDX-License-Identifier: Apache-2.0
// Looks at the program before it starts: which file it is, whether a library can be preloaded into
// it at all, and what it asks of the preload. Reads the file as bytes and trusts none of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gmt {

// What the ELF headers say; empty for scripts and everything else that is no ELF file.
struct ElfFacts {
  bool elf = false;
  bool bits64 = false;
  bool little_endian = false;
  std::uint16_t machine = 0; // EM_*
  std::string interpreter;   // the loader; empty if statically linked
  std::vector<std::string> needed;
  std::string rpath, runpath;
  bool device_code = false; // for a GPU
  // The CUDA runtime that is linked in, as far as the symbol table shows it.
  enum class LinkedRuntime : std::uint8_t { kNotSeen, kOlderThan13, k13 };
  LinkedRuntime linked_runtime = LinkedRuntime::kNotSeen;
};
ElfFacts read_elf_facts(const std::string& path);
bool built_for_this_machine(const ElfFacts& facts);

// The file that a shell would start for the word. Throws UserError: 127 not found, 126 not
// executable.
std::string resolve_program(const std::string& word);

struct ProgramCheck {
  ElfFacts facts;
  std::string refusal; // one sentence: why nothing can be preloaded and what to do; empty if it can
};
ProgramCheck check_program(const std::string& path);

// One sentence for a program that the simulated device cannot reach; empty if it can.
std::string static_runtime_sentence(const std::string& path, const ElfFacts& facts);

// Sanitizer runtimes insist on being the first library loaded.
bool is_sanitizer_runtime(std::string_view library);

} // namespace gmt
