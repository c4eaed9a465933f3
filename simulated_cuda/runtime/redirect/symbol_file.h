// SPDX-License-Identifier: Apache-2.0
// The full symbol table of a loaded object, read from its file: functions that a static link made
// local are only there. The file is mapped for as long as the object lives. Nothing in it is
// trusted: a table or a name that does not lie inside the file ends the reading. Uses no heap,
// because it runs before most libraries are initialised.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

namespace gmt::sim {

class SymbolFile {
public:
  // The file of a loaded object. `readable()` is false if it has no symbol table, or if its
  // segments are not those in memory: then it is another file.
  explicit SymbolFile(const dl_phdr_info& object);
  ~SymbolFile();
  SymbolFile(const SymbolFile&) = delete;
  SymbolFile& operator=(const SymbolFile&) = delete;

  bool readable() const { return symbols_ != nullptr; }
  std::size_t count() const { return count_; }
  const Elf64_Sym& symbol(std::size_t index) const { return symbols_[index]; }
  const char* name(const Elf64_Sym& symbol) const; // "" if it lies outside

  // The bytes of the file that are loaded at the address; null if not all are code.
  const unsigned char* code_at(std::uint64_t address, std::size_t bytes) const;

private:
  template <class T>
  const T* at(std::uint64_t offset, std::size_t count) const;
  bool same_segments(const dl_phdr_info& object) const;
  void find_symbols();

  const unsigned char* bytes_ = nullptr;
  std::size_t size_ = 0;
  const Elf64_Ehdr* header_ = nullptr;
  const Elf64_Sym* symbols_ = nullptr;
  std::size_t count_ = 0;
  const char* names_ = nullptr; // ends with a zero
  std::size_t names_bytes_ = 0;
};

} // namespace gmt::sim
