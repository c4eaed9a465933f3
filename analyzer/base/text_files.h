// SPDX-License-Identifier: Apache-2.0
// What the text files of a trace have in common (trace/FORMAT.md): escapes, hexadecimal numbers,
// and how the command replaces one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <system_error>

namespace gmt {

std::string escape(std::string_view text);   // \\ \n \r \t
std::string unescape(std::string_view text); // a stray backslash stands for itself
std::string hex(std::uint64_t value);        // without 0x

// Why a file could not be written; no code on success.
struct WriteFailure {
  std::error_code code;
  const char* what = ""; // "written to", "renamed to"
};

// Writes to a name of its own and renames, so that two reports at once, or one that is killed,
// never leave half a file.
WriteFailure replace_file(const std::filesystem::path& path,
                          const std::function<void(std::ostream&)>& write);

} // namespace gmt
