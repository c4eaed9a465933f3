// SPDX-License-Identifier: Apache-2.0
// Which variable of an executable or library is at an address, and whether it is what the host has
// instead of a variable of the device. A file is read once, at the first question about it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/model/process.h"
#include "analyzer/symbols/elf_file.h"
#include "analyzer/trace_reader/object_files.h"

namespace gmt {

class StaticVariables {
public:
  StaticVariable find(const Module& module, std::uint64_t address);

private:
  struct File {
    std::map<std::uint64_t, DataSymbol> variables;   // by address
    std::map<std::uint64_t, StaticVariable> answers; // likewise, those that were asked for
    // Of the device's variables, by readable name without scopes; bytes 0: not known.
    std::multimap<std::string, DataSymbol, std::less<>> device;
    bool knows_all = false; // of the device's
  };
  static File read(const Module& module);
  static StaticVariable describe(const File& file, const DataSymbol& variable);

  std::map<std::pair<std::string, std::string>, File> files_; // by path and recorded build id
};

} // namespace gmt
