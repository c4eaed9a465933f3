// SPDX-License-Identifier: Apache-2.0
// The Python frames of one process's call stacks, each once. In a stack they stand behind the
// return addresses, innermost first, as addresses that no machine has.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gmt {

struct PythonCode {
  std::string function, file; // qualified name; both may be empty
  auto operator<=>(const PythonCode&) const = default;
};

// Whether a file is the interpreter's own, by its name; ctypes calls C through libffi.
bool is_python_interpreter(std::string_view path);

class PythonFrames {
public:
  // No machine has them: of canonical addresses the highest 8 bits are equal.
  static constexpr bool is_python(std::uint64_t address) {
    return address >> 48 == kFrames >> 48 || is_entry(address);
  }
  // Ends a run: what stands before it was entered from C, so one evaluator of the interpreter holds
  // it. `evaluator`: the number of that native frame, from 1; 0 not known.
  static constexpr std::uint64_t entry(std::uint32_t evaluator) { return kEntries + evaluator; }
  static constexpr bool is_entry(std::uint64_t address) { return address >> 48 == kEntries >> 48; }
  static constexpr std::uint32_t evaluator_of(std::uint64_t entry) {
    return static_cast<std::uint32_t>(entry - kEntries);
  }

  // Where the program was started: Python names the file of the program as it was given.
  void set_folder(std::string folder) { folder_ = std::move(folder); }

  // Equal frames get equal addresses.
  std::uint64_t intern(const PythonCode& code, std::uint32_t line);

  struct Frame {
    const PythonCode* code;
    std::uint32_t line; // 0 unknown
  };
  // Of an address that intern() gave out, else no code.
  Frame find(std::uint64_t address) const;

private:
  static constexpr std::uint64_t kFrames = 0x5059'0000'0000'0000, kEntries = 0x505a'0000'0000'0000;

  std::string folder_;
  std::map<std::pair<PythonCode, std::uint32_t>, std::uint64_t> addresses_;
  std::vector<const std::pair<const std::pair<PythonCode, std::uint32_t>, std::uint64_t>*> frames_;
};

} // namespace gmt
