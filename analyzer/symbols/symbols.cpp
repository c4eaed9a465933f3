// SPDX-License-Identifier: Apache-2.0
// Resolves wanted addresses file by file, see symbols.h: DWARF of the file or of its separate debug
// file first, then the symbol tables, then module and offset alone. A file is open only while its
// own addresses are resolved, so that a process of 300 libraries costs no more memory than its
// largest one's tables.
#include "analyzer/symbols/symbols.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "analyzer/symbols/demangle.h"
#include "analyzer/symbols/dwarf_lookup.h"
#include "analyzer/symbols/elf_file.h"
#include "analyzer/symbols/tail_calls.h"

namespace gmt {
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostUnpacked = std::uint64_t{256} << 20; // bytes of debug data

// What the file is asked for: the byte before a return address belongs to the call.
std::uint64_t lookup_address(std::uint64_t offset) { return offset == 0 ? 0 : offset - 1; }

// Names DWARF lacks (no unit, or internal linkage without scope and parameters) come from the
// symbol tables.
void complete_function(std::vector<SourceFrame>& frames, const std::string& symbol) {
  if (symbol.empty()) return;
  if (frames.empty()) frames.emplace_back();
  SourceFrame& function = frames.back();
  const bool plain = function.function.find('(') == std::string::npos;
  if (function.function.empty() || (plain && symbol.starts_with("_Z")))
    function.function = demangle(symbol);
}

bool has_dwarf(const ElfFile& file) {
  return file.has_section(".debug_info") || file.has_section(".zdebug_info");
}

} // namespace

SymbolResolver::SymbolResolver(SymbolOptions options) : options_(std::move(options)) {}

void SymbolResolver::want(const Module& module, std::uint64_t address) {
  files_[{module.path, module.build_id}].wanted.push_back(address - module.bias);
}

void SymbolResolver::resolve() {
  for (auto& [key, file] : files_) {
    std::sort(file.wanted.begin(), file.wanted.end());
    file.wanted.erase(std::unique(file.wanted.begin(), file.wanted.end()), file.wanted.end());
    std::erase_if(file.wanted,
                  [&f = file](std::uint64_t offset) { return f.frames.contains(offset); });
    if (!file.wanted.empty()) resolve_file(key.first, key.second, file);
    file.wanted.clear();
  }
}

void SymbolResolver::cannot_answer(const std::string& path, File& file, std::string why) {
  if (!std::exchange(file.remarked, true))
    not_checked_.push_back({"symbols of " + path, std::move(why)});
}

void SymbolResolver::resolve_file(const std::string& path, const std::string& build_id,
                                  File& file) {
  for (const std::uint64_t offset : file.wanted) file.frames[offset]; // asked, whatever comes of it
  if (!path.starts_with('/')) return;                                 // the kernel's own: [vdso]
  const std::optional<ElfFile> binary = ElfFile::open(path);
  if (!binary) {
    std::error_code ignored;
    cannot_answer(path, file,
                  fs::exists(path, ignored) ? "the file cannot be read as an ELF file"
                                            : "the file is not on this machine");
    return;
  }
  const std::string found = binary->build_id();
  if (!build_id.empty() && found != build_id) {
    cannot_answer(path, file,
                  "the file has changed since the recording (build id " +
                    (found.empty() ? "none" : found) + ", recorded " + build_id + ")");
    return;
  }
  file.answered = true;
  const std::optional<ElfFile> debug =
    has_dwarf(*binary) ? std::nullopt : open_debug_file(*binary, path, options_.debug_roots);

  std::vector<SymbolName> names;
  for (const std::uint64_t offset : file.wanted) names.push_back({lookup_address(offset), {}});
  if (debug) debug->name_addresses(names);
  binary->name_addresses(names);

  const ElfFile& informed = debug ? *debug : *binary;
  const bool is_bounded = informed.unpacked_debug_bytes() <= kMostUnpacked;
  DwarfLookup dwarf(is_bounded ? informed.elf() : nullptr);
  TailCalls tail_calls(dwarf);
  for (const std::uint64_t offset : file.wanted) tail_calls.want(offset);
  tail_calls.resolve(informed);
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<SourceFrame> frames = dwarf.frames(names[i].address);
    complete_function(frames, names[i].name);
    if (!frames.empty()) frames.back().callee = tail_calls.at(file.wanted[i]);
    file.frames[file.wanted[i]] = std::move(frames);
  }
  if (!is_bounded || dwarf.left_out_lines())
    cannot_answer(path, file, "its debug data would take too much memory: lines are missing");
}

const SymbolResolver::File* SymbolResolver::find(const Module& module) const {
  const auto at = files_.find({module.path, module.build_id});
  return at == files_.end() ? nullptr : &at->second;
}

bool SymbolResolver::answered(const Module& module) const {
  const File* file = find(module);
  return file != nullptr && file->answered;
}

std::vector<Frame> SymbolResolver::frames(const Module& module, std::uint64_t address) const {
  Frame plain;
  plain.address = address;
  plain.module = module.path;
  plain.module_offset = address - module.bias;
  std::vector<Frame> frames;
  if (const File* file = find(module); file != nullptr) {
    if (const auto at = file->frames.find(plain.module_offset); at != file->frames.end()) {
      for (const SourceFrame& known : at->second) {
        Frame& frame = frames.emplace_back(plain);
        frame.function = known.function;
        frame.file = known.file;
        frame.line = known.line;
        frame.inlined = known.inlined;
        frame.callee = known.callee;
      }
    }
  }
  if (frames.empty()) frames.push_back(std::move(plain));
  return frames;
}

} // namespace gmt
