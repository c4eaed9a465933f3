// SPDX-License-Identifier: Apache-2.0
// Maps an object's file and finds .symtab in it; see symbol_file.h.
#include "simulated_cuda/runtime/redirect/symbol_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace gmt::sim {

SymbolFile::SymbolFile(const dl_phdr_info& object) {
  // The loader knows no name of the program itself.
  const bool program = object.dlpi_name == nullptr || *object.dlpi_name == '\0';
  const int file = open(program ? "/proc/self/exe" : object.dlpi_name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  struct stat status{};
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    void* memory =
      mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    if (memory != MAP_FAILED) {
      bytes_ = static_cast<const unsigned char*>(memory);
      size_ = static_cast<std::size_t>(status.st_size);
    }
  }
  close(file);
  header_ = at<Elf64_Ehdr>(0, 1);
  if (header_ == nullptr || std::memcmp(header_->e_ident, ELFMAG, SELFMAG) != 0 ||
      header_->e_ident[EI_CLASS] != ELFCLASS64 || !same_segments(object))
    return;
  find_symbols();
}

SymbolFile::~SymbolFile() {
  if (bytes_ != nullptr) munmap(const_cast<unsigned char*>(bytes_), size_);
}

template <class T>
const T* SymbolFile::at(std::uint64_t offset, std::size_t count) const {
  if (offset > size_ || offset % alignof(T) != 0) return nullptr;
  if (count > (size_ - offset) / sizeof(T)) return nullptr;
  return reinterpret_cast<const T*>(bytes_ + offset);
}

bool SymbolFile::same_segments(const dl_phdr_info& object) const {
  const auto* segments = at<Elf64_Phdr>(header_->e_phoff, header_->e_phnum);
  return segments != nullptr && header_->e_phnum == object.dlpi_phnum &&
         std::memcmp(segments, object.dlpi_phdr, sizeof(Elf64_Phdr) * header_->e_phnum) == 0;
}

void SymbolFile::find_symbols() {
  const auto* sections = at<Elf64_Shdr>(header_->e_shoff, header_->e_shnum);
  if (sections == nullptr) return;
  for (unsigned i = 0; i < header_->e_shnum; ++i) {
    const Elf64_Shdr& table = sections[i];
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= header_->e_shnum) continue;
    const Elf64_Shdr& texts = sections[table.sh_link];
    const auto* symbols = at<Elf64_Sym>(table.sh_offset, table.sh_size / sizeof(Elf64_Sym));
    const char* names = at<char>(texts.sh_offset, texts.sh_size);
    if (symbols == nullptr || names == nullptr || texts.sh_size == 0) return;
    if (names[texts.sh_size - 1] != '\0') return;
    names_ = names;
    names_bytes_ = texts.sh_size;
    count_ = table.sh_size / sizeof(Elf64_Sym);
    symbols_ = symbols;
    return;
  }
}

const char* SymbolFile::name(const Elf64_Sym& symbol) const {
  return symbol.st_name < names_bytes_ ? names_ + symbol.st_name : "";
}

const unsigned char* SymbolFile::code_at(std::uint64_t address, std::size_t bytes) const {
  const auto* segments = at<Elf64_Phdr>(header_->e_phoff, header_->e_phnum);
  for (unsigned i = 0; segments != nullptr && i < header_->e_phnum; ++i) {
    const Elf64_Phdr& s = segments[i];
    if (s.p_type != PT_LOAD || (s.p_flags & PF_X) == 0 || address < s.p_vaddr) continue;
    const std::uint64_t inside = address - s.p_vaddr;
    if (inside >= s.p_filesz || bytes > s.p_filesz - inside) continue;
    return at<unsigned char>(s.p_offset + inside, bytes);
  }
  return nullptr;
}

} // namespace gmt::sim
