// SPDX-License-Identifier: Apache-2.0
// One ELF file on disk, mapped, never read whole: its build id, its separate debug file, its symbol
// tables. Address means the file's own address space (before the load bias is added).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <libelf.h>

#include "analyzer/symbols/elf_image.h"

namespace gmt {

// An address to be named by the symbol tables.
struct SymbolName {
  std::uint64_t address = 0;
  std::string name; // as the table has it; empty if no function covers the address
};

// A variable in the symbol tables.
struct DataSymbol {
  std::string name; // as the table has it
  std::uint64_t address = 0, bytes = 0;
};

class ElfFile {
public:
  // Nothing if the file cannot be opened or is no executable or shared object.
  static std::optional<ElfFile> open(const std::filesystem::path& path);

  ElfFile(ElfFile&& other) noexcept;
  ElfFile& operator=(ElfFile&&) = delete;
  ~ElfFile();

  Elf* elf() const { return elf_; } // for libdw
  const ElfImage& image() const { return image_; }
  std::string build_id() const; // hex, empty if there is none
  // Of compressed debug data; libdw unpacks all of them at once.
  std::uint64_t unpacked_debug_bytes() const;
  bool has_section(std::string_view name) const;

  // Names sorted, still unnamed addresses from .symtab, else .dynsym, in one pass over each table.
  void name_addresses(std::span<SymbolName> sorted) const;
  // The other way round: the addresses of functions that other units can call; 0 where none or
  // several have the name.
  void find_functions(std::map<std::string, std::uint64_t>& names) const;

  std::vector<DataSymbol> variables() const; // of .symtab, else of .dynsym

private:
  ElfFile(int descriptor, Elf* elf) : descriptor_(descriptor), elf_(elf) {}
  void name_from_table(const ElfImage::Section& table, std::span<SymbolName> sorted) const;

  int descriptor_;
  Elf* elf_;
  ElfImage image_; // of what libelf has mapped
};

// The file that holds what was stripped from `file` at `path`: by build id under a root, else by
// .gnu_debuglink. Only a file with the same build id is taken.
std::optional<ElfFile> open_debug_file(const ElfFile& file, const std::filesystem::path& path,
                                       std::span<const std::filesystem::path> roots);

} // namespace gmt
