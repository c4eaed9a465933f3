// SPDX-License-Identifier: Apache-2.0
// From addresses to functions, files and lines, with elfutils. The report builder first says which
// addresses it wants, of all processes, then resolves them in one go: each object file is opened
// once, asked, and closed again.
//
// Invariants: a file whose build id is not the recorded one gives no symbols, and says so; every
// address is a return address, so the byte before it is looked up, while frames keep the address as
// captured.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/model/finding.h"
#include "analyzer/trace_reader/object_files.h"

namespace gmt {

struct SymbolOptions {
  // Where separate debug files are
  std::vector<std::filesystem::path> debug_roots{"/usr/lib/debug"};
};

// A function, or a function inlined into the next one, at one address.
struct SourceFrame {
  std::string function; // empty if unknown
  std::string file;
  std::uint32_t line = 0;
  bool inlined = false;
  std::shared_ptr<const Callee> callee; // of the outermost frame at an address, see Frame
};

class SymbolResolver {
public:
  explicit SymbolResolver(SymbolOptions options = {});

  void want(const Module& module, std::uint64_t address);
  void resolve(); // what was wanted since the last call

  // Innermost first, never empty: an address that resolved to nothing gives one frame with module
  // and offset.
  std::vector<Frame> frames(const Module& module, std::uint64_t address) const;
  // Whether the module's own file could be asked, so that the answer is worth keeping.
  bool answered(const Module& module) const;
  const std::vector<NotChecked>& not_checked() const { return not_checked_; }

private:
  struct File {
    // By offset in the file's address space
    std::map<std::uint64_t, std::vector<SourceFrame>> frames;
    std::vector<std::uint64_t> wanted;
    bool answered = false, remarked = false;
  };
  void resolve_file(const std::string& path, const std::string& build_id, File& file);
  void cannot_answer(const std::string& path, File& file, std::string why);
  const File* find(const Module& module) const;

  SymbolOptions options_;
  std::map<std::pair<std::string, std::string>, File> files_; // by path and recorded build id
  std::vector<NotChecked> not_checked_;
};

} // namespace gmt
