// SPDX-License-Identifier: Apache-2.0
// Reads the few ELF headers that decide about preloading; see program_check.h. 32-bit, foreign and
// cut files are distinguished, not refused.

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>

#include "analyzer/base/byte_reader.h"
#include "analyzer/base/mapped_file.h"
#include "analyzer/command/run/program_check.h"
#include "analyzer/device_code/fatbin.h"
#include "analyzer/symbols/elf_image.h"

namespace gmt {

namespace {

// What a damaged file can make us read is bounded.
constexpr std::uint64_t kLongestText = 4096, kLargestTable = 1 << 20;

std::string text_in(const ElfImage& image, std::uint64_t offset) {
  return std::string(text_at(image.part(offset, kLongestText), 0));
}

// Where in the file that lies which is loaded at the address; 0 if it is not in the file.
std::uint64_t offset_of(const ElfImage& image, std::uint64_t address) {
  for (const Elf64_Phdr& s : image.segments())
    if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz)
      return address - s.p_vaddr + s.p_offset;
  return 0;
}

void read_dynamic(const ElfImage& image, const Elf64_Phdr& dynamic, ElfFacts& facts) {
  const std::span<const char> table =
    image.part(dynamic.p_offset, std::min(dynamic.p_filesz, kLargestTable));
  std::vector<Elf64_Dyn> entries;
  std::uint64_t strings = 0;
  Elf64_Dyn entry;
  for (std::size_t at = 0; read_at(table, at, entry) && entry.d_tag != DT_NULL;
       at += sizeof entry) {
    if (entry.d_tag == DT_STRTAB) strings = offset_of(image, entry.d_un.d_ptr);
    entries.push_back(entry);
  }
  if (strings == 0) return;
  for (const Elf64_Dyn& e : entries) {
    if (e.d_tag == DT_NEEDED) facts.needed.push_back(text_in(image, strings + e.d_un.d_val));
    if (e.d_tag == DT_RPATH) facts.rpath = text_in(image, strings + e.d_un.d_val);
    if (e.d_tag == DT_RUNPATH) facts.runpath = text_in(image, strings + e.d_un.d_val);
  }
}

// The simulated device redirects a linked runtime by these names (simulated_cuda/runtime/redirect).
ElfFacts::LinkedRuntime linked_runtime_of(const ElfImage& image) {
  using Linked = ElfFacts::LinkedRuntime;
  Linked found = Linked::kNotSeen;
  for (const ElfImage::Section& section : image.sections()) {
    if (section.type != SHT_SYMTAB) continue;
    Elf64_Sym symbol;
    for (std::size_t at = 0; read_at(section.data, at, symbol); at += sizeof symbol) {
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE) continue;
      const std::string_view name = image.linked_text(section, symbol.st_name);
      if (name == "cudaBindTexture" || name == "cudaGetDeviceProperties_v2" ||
          name == "cudaMemPrefetchAsync_v2" || name == "cudaGraphInstantiate_v2")
        return Linked::kOlderThan13;
      if (name.starts_with("libcudart_static_")) found = Linked::k13;
    }
  }
  return found;
}

} // namespace

ElfFacts read_elf_facts(const std::string& path) {
  ElfFacts facts;
  const MappedFile file(path);
  unsigned char ident[EI_NIDENT];
  if (!read_at(file.bytes(), 0, ident) || std::memcmp(ident, ELFMAG, SELFMAG) != 0) return facts;
  facts.elf = true;
  facts.bits64 = ident[EI_CLASS] == ELFCLASS64;
  facts.little_endian = ident[EI_DATA] == ELFDATA2LSB;
  if (!facts.little_endian) return facts;
  if (!read_at(file.bytes(), offsetof(Elf64_Ehdr, e_machine), facts.machine)) return facts;
  const std::optional<ElfImage> image = ElfImage::open(file.bytes());
  if (!image) return facts;
  for (const Elf64_Phdr& segment : image->segments()) {
    if (segment.p_type == PT_INTERP) facts.interpreter = text_in(*image, segment.p_offset);
    if (segment.p_type == PT_DYNAMIC) read_dynamic(*image, segment, facts);
  }
  facts.device_code = !device_code_of(*image).empty();
  facts.linked_runtime = linked_runtime_of(*image);
  return facts;
}

bool built_for_this_machine(const ElfFacts& facts) {
#if defined(__x86_64__)
  constexpr std::uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
  constexpr std::uint16_t kMachine = EM_AARCH64;
#else
  const std::uint16_t kMachine = facts.machine;
#endif
  return facts.bits64 && facts.little_endian && facts.machine == kMachine;
}

} // namespace gmt
